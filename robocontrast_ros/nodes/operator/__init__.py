"""The parts of the operator node."""
