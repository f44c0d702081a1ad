"""Training of the tabletop's policies."""
