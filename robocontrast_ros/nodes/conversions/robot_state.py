"""What a robot's driver says about the robot, to and from messages."""

from __future__ import annotations

from typing import Any

from sensor_msgs.msg import JointState

from robocontrast_ros.nodes.conversions.time import seconds
from robocontrast_ros.robots.state_estimation import JointReading, Reading

_TYPES = {"sensor_msgs/msg/JointState": JointState}


def state_message_type(name: str) -> type:
    """Return the message type of a profile's state interface."""
    return _TYPES[name]


def reading_from_msg(message: Any) -> Reading:
    """Return what a message of the state interface says."""
    return JointReading(seconds(message.header.stamp), tuple(message.name), tuple(message.position))
