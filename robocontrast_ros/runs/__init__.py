"""A run on disk: its folder, its journal and the events in it."""
