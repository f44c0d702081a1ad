"""The scene side of a bench: set scenes up, in a simulator or by a person, and read them."""
