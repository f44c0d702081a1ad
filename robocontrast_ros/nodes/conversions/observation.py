"""Camera images and joint states to the policy's observation and back."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import Image, JointState

from robocontrast_ros.domain import Scene
from robocontrast_ros.messages.decoding import pose_from_msg, scene_from_msg
from robocontrast_ros.msg import Observation as ObservationMsg
from robocontrast_ros.nodes.conversions.domain import pose_to_msg, scene_to_msg
from robocontrast_ros.nodes.conversions.encoders import DRIVER
from robocontrast_ros.nodes.conversions.time import seconds, time_to_msg
from robocontrast_ros.policies.protocol import Observation

array_to_image = DRIVER.image

_CHANNELS = {"rgb8": (3, slice(None)), "bgr8": (3, slice(None, None, -1)), "rgba8": (4, slice(0, 3))}


def image_to_array(message: Image) -> NDArray[np.uint8]:
    """Return the image as uint8 of shape (height, width, 3), RGB.

    Raises:
        ValueError: the encoding is none of rgb8, bgr8 and rgba8.
    """
    if message.encoding not in _CHANNELS:
        raise ValueError(f"image encoding: got '{message.encoding}', expected one of {', '.join(_CHANNELS)}")
    channels, order = _CHANNELS[message.encoding]
    rows = np.frombuffer(message.data, dtype=np.uint8).reshape(message.height, message.step)
    pixels = rows[:, : message.width * channels].reshape(message.height, message.width, channels)
    return pixels[:, :, order]


def observation_from_msg(message: ObservationMsg) -> Observation:
    """Return the observation that the policy receives."""
    scene = scene_from_msg(message.scene)
    return Observation(
        stamp=seconds(message.header.stamp),
        images={name: image_to_array(image) for name, image in zip(message.cameras, message.images, strict=True)},
        joint_names=tuple(message.joints.name),
        joint_positions=tuple(message.joints.position),
        tool_pose=pose_from_msg(message.tool_pose),
        scene=scene if scene.objects or scene.robot else None,
        gripper_width=None if math.isnan(message.gripper_width) else message.gripper_width,
        gripper_closed=None if math.isnan(message.gripper_closed) else message.gripper_closed,
    )


def observation_to_msg(observation: Observation, frame_id: str, images: dict[str, Image]) -> ObservationMsg:
    """Return the observation's message; images are passed on as they were received."""
    message = ObservationMsg(cameras=list(images), images=list(images.values()))
    message.joints = JointState(name=list(observation.joint_names), position=list(observation.joint_positions))
    message.joints.header.stamp = time_to_msg(observation.stamp)
    message.header.frame_id = frame_id
    message.header.stamp = time_to_msg(observation.stamp)
    message.tool_pose = pose_to_msg(observation.tool_pose)
    width, closed = observation.gripper_width, observation.gripper_closed
    message.gripper_width = math.nan if width is None else width
    message.gripper_closed = math.nan if closed is None else closed
    message.scene = scene_to_msg(observation.scene or Scene(frame_id=frame_id), observation.stamp)
    return message
