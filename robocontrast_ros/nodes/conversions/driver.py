"""Conversion of commands, readings, images and observations to the messages of a robot's driver and back."""

from __future__ import annotations

import math
from typing import Any

from geometry_msgs.msg import Twist
from nav_msgs.msg import Odometry
from sensor_msgs.msg import CompressedImage, Image
from std_msgs.msg import Float64MultiArray

from robocontrast_ros.domain import NANOSECONDS
from robocontrast_ros.messages.decoding import pose_from_msg, scene_from_msg, stamp_from_msg
from robocontrast_ros.messages.images import image_to_array
from robocontrast_ros.msg import Observation as ObservationMsg
from robocontrast_ros.nodes.conversions.domain import make_message
from robocontrast_ros.policies.protocol import Observation
from robocontrast_ros.robots.commands import GripperCommand, JointTrajectoryCommand, RobotCommand, TwistCommand
from robocontrast_ros.robots.state_estimation import JointReading, OdometryReading, Reading
from robocontrast_ros.worlds.driver_messages import DriverEncoder

DRIVER = DriverEncoder(make_message)
"""Makes the messages of a robot's driver and of a simulator, of rclpy's classes."""

command_to_msgs = DRIVER.command
clock_to_msg = DRIVER.clock
sensor_to_msg = DRIVER.sensor
array_to_image = DRIVER.image
observation_to_msg = DRIVER.observation


def command_from_msg(message: Any) -> RobotCommand:
    """Return the command in a driver's message.

    Raises:
        ValueError: a trajectory does not have exactly one point, a twist has directions that wheels cannot move in, or
            the command of a hand does not have exactly one position.
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


def reading_from_msg(message: Any) -> Reading:
    """Return the reading of a message of the state interface.

    Raises:
        ValueError: an odometry's pose is not valid, or not every joint has a position.
    """
    stamp = stamp_from_msg(message.header.stamp)
    if isinstance(message, Odometry):
        return OdometryReading(stamp, pose_from_msg(message.pose.pose))
    if len(message.name) != len(message.position):
        given = f"{len(message.name)} names and {len(message.position)} positions"
        raise ValueError(f"joint states: {given}; have the robot's driver publish a position of each joint")
    return JointReading(stamp, tuple(message.name), tuple(message.position))


def decompressed(message: Image | CompressedImage) -> Image:
    """Return an image, decoded if it is compressed, with the same header.

    Raises:
        ValueError: the image cannot be decoded.
    """
    if isinstance(message, Image):
        return message
    image = array_to_image(image_to_array(message), "", 0)
    image.header = message.header
    return image


def observation_from_msg(message: ObservationMsg) -> Observation:
    """Return the observation that the policy receives."""
    scene = scene_from_msg(message.scene)
    return Observation(
        stamp=stamp_from_msg(message.header.stamp),
        images={name: image_to_array(image) for name, image in zip(message.cameras, message.images, strict=True)},
        joint_names=tuple(message.joints.name),
        joint_positions=tuple(message.joints.position),
        tool_pose=pose_from_msg(message.tool_pose),
        scene=scene if scene.objects or scene.robot else None,
        gripper_width=None if math.isnan(message.gripper_width) else message.gripper_width,
        gripper_closed=None if math.isnan(message.gripper_closed) else message.gripper_closed,
    )
