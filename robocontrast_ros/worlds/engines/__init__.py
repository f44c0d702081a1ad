"""Worlds of other physics engines than MuJoCo: read from exported SDF, and served by the node `second_simulator`."""
