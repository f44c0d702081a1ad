"""Camera images and joint states to the policy's observation and back."""

from __future__ import annotations

import math

from sensor_msgs.msg import CompressedImage, Image

from robocontrast_ros.messages.decoding import pose_from_msg, scene_from_msg, stamp_from_msg
from robocontrast_ros.messages.images import image_to_array
from robocontrast_ros.msg import Observation as ObservationMsg
from robocontrast_ros.nodes.conversions.types import DRIVER
from robocontrast_ros.policies.protocol import Observation

array_to_image = DRIVER.image
observation_to_msg = DRIVER.observation


def decompressed(message: Image | CompressedImage) -> Image:
    """Return an image as it is, or decoded where it is compressed, with the same header.

    Raises:
        ValueError: it cannot be decoded.
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
