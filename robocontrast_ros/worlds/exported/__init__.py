"""Models for simulators of others: SDF, URDF and USD of what MuJoCo compiles, with the friction that engines need."""

MODEL_FORMATS = ("sdf", "urdf", "usd")
"""Formats of models."""
