"""The camera that the console shows, and its last picture."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.clock import Clock
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data

from robocontrast_ros.domain import nanoseconds, seconds
from robocontrast_ros.messages.decoding import stamp_from_msg
from robocontrast_ros.messages.images import image_to_array
from robocontrast_ros.nodes.conversions.domain import message_class
from robocontrast_ros.robots.profile_base import CameraInterface

SILENCE = 3.0
"""Age of the last picture after which the camera counts as silent [s]."""
AHEAD = nanoseconds(0.1)
"""Greatest lead of a picture's stamp over the time of its arrival [ns], because clocks differ a little."""


class CameraView:
    """Keeps the newest picture of a camera."""

    def __init__(self, node: Node, camera: CameraInterface, clock: Clock) -> None:
        """Subscribe to the camera.

        Args:
            node: receives the pictures, in another thread than those that wait for them.
            camera: the camera.
            clock: clock of its stamps.
        """
        topic, kind = camera.images
        self.name, self._topic, self._clock = camera.name, topic, clock
        self._changed = threading.Condition()
        self._message: Any = None
        self._taken = 0
        self._mistimed = self._unreadable = ""
        self._heard = time.monotonic()
        node.create_subscription(message_class(kind), topic, self._take, qos_profile_sensor_data)

    def _take(self, message: Any) -> None:
        with self._changed:
            self._message, self._heard = message, time.monotonic()
            self._changed.notify_all()

    def picture(self) -> NDArray[np.uint8] | None:
        """Return the newest picture, shape (height, width, 3), RGB; None if there is none: see ``silence``."""
        with self._changed:
            message = None if self._age > SILENCE else self._message
        return None if message is None else self._decoded(message)

    def next_picture(self, timeout: float) -> NDArray[np.uint8] | None:
        """Return a picture taken after this call, shape (height, width, 3), RGB.

        A picture that comes now may have been taken before, while a hand was still in it: its stamp shows the time.

        Args:
            timeout: time limit of the wait [s].

        Returns:
            The picture; None if none comes in time: ``silence`` then has the reason.
        """
        asked = self._now
        with self._changed:
            came = self._changed.wait_for(lambda: asked < self._stamp <= self._now + AHEAD, timeout)
            message, stamp = self._message, self._stamp
            self._mistimed = "" if came or self._age > SILENCE else self._misstamped(seconds(self._now - stamp))
            if not came:
                return None
            self._taken = stamp
        return self._decoded(message)

    def _decoded(self, message: Any) -> NDArray[np.uint8] | None:
        image, why = None, ""
        try:
            image = image_to_array(message)
        except ValueError as error:
            why = f"Pictures of camera '{self.name}' come on {self._topic} and cannot be read: {error}."
        with self._changed:
            self._unreadable = why
        return image

    @property
    def stamp(self) -> int:
        """Time of the last picture of ``next_picture``, in the clock of its stamps [ns]; 0 before the first."""
        with self._changed:
            return self._taken

    @property
    def silence(self) -> str:
        """The reason why there is no picture, in words; empty if there is one."""
        with self._changed:
            age, other = self._age, self._mistimed or self._unreadable
        if age > SILENCE:
            return f"No picture comes from camera '{self.name}'. Is it plugged in? Its topic is {self._topic}."
        return other

    @property
    def _age(self) -> float:
        """Time since the newest picture came [s]."""
        return time.monotonic() - self._heard

    @property
    def _now(self) -> int:
        return self._clock.now().nanoseconds

    @property
    def _stamp(self) -> int:
        return stamp_from_msg(self._message.header.stamp) if self._message is not None else -1

    def _misstamped(self, late: float) -> str:
        """Return the problem of a picture whose stamp is so much earlier than now [s], in words."""
        if self._message is None:
            return ""
        when = f"{late:.1f} s ago" if late >= 0.0 else f"{-late:.1f} s from now"
        return (
            f"Pictures of camera '{self.name}' come, but the newest is stamped {when}. Does the clock of its computer "
            "differ from this one's? Let one follow the other (chrony)."
        )
