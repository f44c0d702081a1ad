"""Commands of a controller to a robot: one record for each kind of interface."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class JointTrajectoryCommand:
    """Go to joint positions, as one point of a trajectory_msgs/JointTrajectory.

    Attributes:
        names: joint names.
        positions: joint positions at the end, in the order of the names [rad].
        duration: time from the start to the end [s].
        gripper: target of the hand's driven joint meanwhile [rad or m], by the hand's own topic; None if it keeps its
            last command.
    """

    names: tuple[str, ...]
    positions: tuple[float, ...]
    duration: float
    gripper: float | None = None


@dataclass(frozen=True)
class TwistCommand:
    """Drive with a velocity until the next command, as a geometry_msgs/Twist in the base frame.

    Attributes:
        linear: forward speed [m/s].
        angular: turning speed, positive to the left [rad/s].
    """

    linear: float = 0.0
    angular: float = 0.0


@dataclass(frozen=True)
class GripperCommand:
    """Move the hand alone, as a std_msgs/Float64MultiArray of one number.

    Attributes:
        position: target of the driven joint [rad or m].
    """

    position: float


RobotCommand = JointTrajectoryCommand | TwistCommand | GripperCommand
"""Any command."""
