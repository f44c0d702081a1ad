"""The parts of the simulator node."""
