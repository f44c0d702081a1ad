"""Domain values to messages and back, as pure functions."""
