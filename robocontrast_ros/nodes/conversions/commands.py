"""Robot commands to the messages of the drivers and back."""

from __future__ import annotations

from typing import Any

from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Twist, Vector3
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robocontrast_ros.messages.decoding import NANOSECONDS
from robocontrast_ros.nodes.conversions.time import time_to_msg
from robocontrast_ros.robots.commands import JointTrajectoryCommand, RobotCommand, TwistCommand


def command_to_msg(command: RobotCommand, stamp: float) -> Any:
    """Return the command as the driver takes it.

    Args:
        command: for the robot.
        stamp: time of the observation that it answers [s]; a twist has no stamp.
    """
    if isinstance(command, TwistCommand):
        return Twist(linear=Vector3(x=command.linear), angular=Vector3(z=command.angular))
    duration = round(command.duration * NANOSECONDS)
    point = JointTrajectoryPoint(
        positions=list(command.positions),
        time_from_start=Duration(sec=duration // NANOSECONDS, nanosec=duration % NANOSECONDS),
    )
    message = JointTrajectory(joint_names=list(command.names), points=[point])
    message.header.stamp = time_to_msg(stamp)
    return message


def command_from_msg(message: Any) -> RobotCommand:
    """Return the command that a driver's message holds.

    Raises:
        ValueError: a trajectory has not exactly one point, or a twist moves in directions that wheels cannot.
    """
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
