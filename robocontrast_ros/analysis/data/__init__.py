"""The events of a run as tables."""
