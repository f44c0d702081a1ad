"""The parts of the sim_bridge node."""
