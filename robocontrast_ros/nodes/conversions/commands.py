"""Robot commands to the messages of the drivers and back."""

from __future__ import annotations

from typing import Any

from geometry_msgs.msg import Twist
from std_msgs.msg import Float64MultiArray

from robocontrast_ros.domain import NANOSECONDS
from robocontrast_ros.nodes.conversions.types import DRIVER
from robocontrast_ros.robots.commands import GripperCommand, JointTrajectoryCommand, RobotCommand, TwistCommand

command_to_msgs = DRIVER.command


def command_from_msg(message: Any) -> RobotCommand:
    """Return the command that a driver's message holds.

    Raises:
        ValueError: a trajectory has not exactly one point, a twist moves in directions that wheels cannot, or a hand is
            not given exactly one position.
    """
    if isinstance(message, Float64MultiArray):
        if len(message.data) != 1:
            raise ValueError(f"gripper: got {len(message.data)} numbers, expected 1, the position of its driven joint")
        return GripperCommand(message.data[0])
    if isinstance(message, Twist):
        impossible = (message.linear.y, message.linear.z, message.angular.x, message.angular.y)
        if any(impossible):
            raise ValueError(f"twist: got {message}, expected linear.x and angular.z alone")
        return TwistCommand(message.linear.x, message.angular.z)
    if len(message.points) != 1:
        raise ValueError(f"joint trajectory: got {len(message.points)} points, expected 1")
    point = message.points[0]
    duration = point.time_from_start.sec + point.time_from_start.nanosec / NANOSECONDS
    return JointTrajectoryCommand(tuple(message.joint_names), tuple(point.positions), duration)
