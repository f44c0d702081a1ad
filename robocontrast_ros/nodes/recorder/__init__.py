"""The parts of the recorder node."""
