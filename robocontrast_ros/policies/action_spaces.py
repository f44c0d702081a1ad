"""Descriptions of the action spaces of the built-in policies, without their names."""

from robocontrast_ros.policies.protocol import PolicyDescription

PLANAR_DELTA = PolicyDescription(name="", action_space="planar_delta", action_size=2)
"""Displacement of the tool in world x and y in one control step [m]."""

TOOL_DELTA = PolicyDescription(name="", action_space="tool_delta", action_size=7)
"""Displacement of the tool [m], its rotation vector [rad], both in the world, and the gripper (0 opens, 1 closes)."""

DISCRETE_NAVIGATION = PolicyDescription(name="", action_space="discrete_navigation", action_size=1)
"""One of four moves of a mobile base."""
