"""Controllers: from actions of an action space to commands that a robot may execute."""
