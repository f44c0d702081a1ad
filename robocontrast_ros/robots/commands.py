"""What a controller may tell a robot: one small frozen record a kind of interface."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class JointTrajectoryCommand:
    """Go to a joint position, as one point of a trajectory_msgs/JointTrajectory.

    Attributes:
        names: joint names.
        positions: where to be at the end, in the order of the names [rad].
        duration: time from the start to the end [s].
    """

    names: tuple[str, ...]
    positions: tuple[float, ...]
    duration: float


RobotCommand = JointTrajectoryCommand
"""Any command; a mobile base adds its twist to this union."""
