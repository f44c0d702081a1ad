"""Models for simulators of others: SDF and URDF of what MuJoCo compiles, with the friction that their engines need."""

MODEL_FORMATS = ("sdf", "urdf")
"""Formats of models."""
