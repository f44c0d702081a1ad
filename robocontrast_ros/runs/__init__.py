"""What a run leaves on disk: its folder, its journal and the events in it."""
