"""The camera that the console shows, and its last picture."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data

from robocontrast_ros.messages.decoding import image_to_array
from robocontrast_ros.nodes.conversions.time import seconds
from robocontrast_ros.nodes.conversions.types import message_class
from robocontrast_ros.robots.profile_base import CameraInterface

SILENCE = 3.0
"""Age of the last picture after which the camera counts as silent [s]."""


class CameraView:
    """Keeps the newest picture of a camera."""

    def __init__(self, node: Node, camera: CameraInterface) -> None:
        """Subscribe to it."""
        topic, kind = camera.images
        self.name, self._topic = camera.name, topic
        self._changed = threading.Condition()
        self._message: Any = None
        self._heard = time.monotonic()
        node.create_subscription(message_class(kind), topic, self._take, qos_profile_sensor_data)

    def _take(self, message: Any) -> None:
        with self._changed:
            self._message, self._heard = message, time.monotonic()
            self._changed.notify_all()

    def picture(self) -> NDArray[np.uint8] | None:
        """Return the newest picture, shape (height, width, 3), RGB; None where there is none, or only an old one."""
        with self._changed:
            message = None if self.silence else self._message
        return None if message is None else image_to_array(message)

    def next_picture(self, timeout: float) -> NDArray[np.uint8] | None:
        """Return a picture that comes from now on; None where none comes within a time [s]."""
        with self._changed:
            before = self._message
            came = self._changed.wait_for(lambda: self._message is not before, timeout)
            message = self._message
        return image_to_array(message) if came else None

    @property
    def stamp(self) -> float:
        """When the newest picture was taken, in the clock of its stamps [s]."""
        with self._changed:
            return seconds(self._message.header.stamp) if self._message is not None else 0.0

    @property
    def silence(self) -> str:
        """Why there is no picture, in words; empty where there is one."""
        if time.monotonic() - self._heard <= SILENCE:
            return ""
        return f"No picture comes from camera '{self.name}'. Is it plugged in? Its topic is {self._topic}."
