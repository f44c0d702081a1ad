"""Embodiments: robot profiles, kinematics with limits, and controllers found by action space.

Nothing is imported here: every part of the house reads profiles, and only some need the kinematics.
"""
