"""The parameters of each node of a session: their declarations, and their values in a session."""
