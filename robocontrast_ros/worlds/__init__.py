"""The scene side of a bench: bring a scene about through a simulator's standard services."""
