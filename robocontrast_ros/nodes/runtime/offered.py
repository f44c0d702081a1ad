"""Subscriptions with the quality that a topic's publishers offer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription

from robocontrast_ros.nodes.runtime.stream import Stream

try:
    from rclpy.event_handler import SubscriptionEventCallbacks
except ImportError:  # Humble
    from rclpy.qos_event import SubscriptionEventCallbacks


def subscribe_as_offered(
    node: Node, kind: type, topic: str, callback: Callable[..., None], quality: QoSProfile
) -> None:
    """Subscribe reliably, and best effort once a publisher offers no more, because else its messages do not arrive.

    No other quality of a publisher keeps its messages from a volatile subscriber without a deadline. The callback may
    be that of a ``Stream``.
    """
    made = threading.Lock()
    stream = Stream.of(callback)

    def subscribe(quality: QoSProfile, **events: Any) -> Subscription:
        if stream is None:
            return node.create_subscription(kind, topic, callback, quality, **events)
        stream.subscription = node.create_subscription(kind, topic, callback, quality, raw=True, **events)
        return stream.subscription

    def take_what_is_offered(_: Any) -> None:
        node.get_logger().warning(f"{topic} is published and so received best effort: messages may be lost")
        with made:
            node.destroy_subscription(reliable)
        offered = QoSProfile(
            reliability=ReliabilityPolicy.BEST_EFFORT, history=HistoryPolicy.KEEP_LAST, depth=quality.depth
        )
        subscribe(offered)

    events = SubscriptionEventCallbacks(incompatible_qos=take_what_is_offered)
    # A publisher that is already known is reported at once, in the thread that spins, which may be another one.
    with made:
        reliable = subscribe(quality, event_callbacks=events)
