"""One episode: the closed loop and its scores."""
