"""Embodiments: robot profiles, kinematics with limits, and controllers found by action space.

Nothing is imported here: every other package reads profiles, and few need the kinematics.
"""
