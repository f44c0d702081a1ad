"""The parts of the episode_manager node."""
