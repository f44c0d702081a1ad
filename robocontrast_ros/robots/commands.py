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


@dataclass(frozen=True)
class TwistCommand:
    """Drive with a velocity until the next command, as a geometry_msgs/Twist in the base frame.

    Attributes:
        linear: forwards [m/s].
        angular: to the left [rad/s].
    """

    linear: float = 0.0
    angular: float = 0.0


RobotCommand = JointTrajectoryCommand | TwistCommand
"""Any command."""
