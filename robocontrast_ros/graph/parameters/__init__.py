"""The parameters of each node of a session: declared here, and what they are in a session."""
