"""Messages of a simulator's clock and of a robot's driver, besides images, and readings of its state."""

from __future__ import annotations

from typing import Any

from nav_msgs.msg import Odometry

from robocontrast_ros.messages.decoding import pose_from_msg, stamp_from_msg
from robocontrast_ros.nodes.conversions.types import DRIVER
from robocontrast_ros.robots.state_estimation import JointReading, OdometryReading, Reading

clock_to_msg = DRIVER.clock
sensor_to_msg = DRIVER.sensor


def reading_from_msg(message: Any) -> Reading:
    """Return the reading of a message of the state interface.

    Raises:
        ValueError: an odometry's pose is not valid, or joints have no position each.
    """
    stamp = stamp_from_msg(message.header.stamp)
    if isinstance(message, Odometry):
        return OdometryReading(stamp, pose_from_msg(message.pose.pose))
    if len(message.name) != len(message.position):
        given = f"{len(message.name)} names and {len(message.position)} positions"
        raise ValueError(f"joint states: {given}; have the robot's driver publish a position of each joint")
    return JointReading(stamp, tuple(message.name), tuple(message.position))
