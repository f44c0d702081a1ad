"""The pose of a frame in another, from /tf and /tf_static; a chain of transforms does not need tf2 itself."""

from __future__ import annotations

import threading

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from robocontrast_ros.domain import Pose
from robocontrast_ros.domain.rotations import unit
from robocontrast_ros.messages.decoding import stamp_from_msg
from robocontrast_ros.nodes.conversions.domain import message_class
from robocontrast_ros.objects.frames import compose

DEPTH = 100
"""Depth of the subscriptions, as in tf2's own listener."""


class Transforms:
    """The newest transform of each frame in its parent."""

    def __init__(self, node: Node, topic: str, static_topic: str) -> None:
        """Subscribe."""
        self._lock = threading.Lock()
        self._parents: dict[str, tuple[str, Pose, int | None]] = {}
        kind = message_class("tf2_msgs/msg/TFMessage")
        changing = QoSProfile(depth=DEPTH, reliability=ReliabilityPolicy.RELIABLE)
        latched = QoSProfile(
            depth=DEPTH, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
        )
        node.create_subscription(kind, topic, lambda message: self._put(message, False), changing)
        node.create_subscription(kind, static_topic, lambda message: self._put(message, True), latched)

    def find(self, frame: str, child: str) -> tuple[Pose, int | None] | None:
        """Return the pose of a frame in another one above it, and the oldest stamp of a transform between them [ns].

        The stamp is None if all of them are static. Return None if no chain of transforms connects the frames.
        """
        with self._lock:
            pose, oldest, at, seen = Pose((0.0, 0.0, 0.0)), None, child, {child}
            while at != frame:
                if at not in self._parents:
                    return None
                at, transform, stamp = self._parents[at]
                if at in seen:
                    return None
                seen.add(at)
                pose = compose(transform, pose)
                if stamp is not None:
                    oldest = stamp if oldest is None else min(oldest, stamp)
            return pose, oldest

    def _put(self, message: object, static: bool) -> None:
        with self._lock:
            for each in message.transforms:
                t, r = each.transform.translation, each.transform.rotation
                try:
                    pose = Pose((t.x, t.y, t.z), unit((r.x, r.y, r.z, r.w)))
                except ValueError:
                    continue
                stamp = None if static else stamp_from_msg(each.header.stamp)
                self._parents[each.child_frame_id.strip("/")] = (each.header.frame_id.strip("/"), pose, stamp)
