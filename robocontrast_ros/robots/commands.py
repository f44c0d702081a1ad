"""Commands of a controller to a robot: one record for each kind of interface."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class JointTrajectoryCommand:
    """Go to joint positions, as one point of a trajectory_msgs/JointTrajectory.

    Attributes:
        names: joint names.
        positions: at the end, in the order of the names [rad].
        duration: time from the start to the end [s].
    """

    names: tuple[str, ...]
    positions: tuple[float, ...]
    duration: float


@dataclass(frozen=True)
class TwistCommand:
    """Drive with a velocity until the next command, as a geometry_msgs/Twist in the base frame.

    Attributes:
        linear: forward speed [m/s].
        angular: turning speed, positive to the left [rad/s].
    """

    linear: float = 0.0
    angular: float = 0.0


RobotCommand = JointTrajectoryCommand | TwistCommand
"""Any command."""
