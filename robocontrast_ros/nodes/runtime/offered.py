"""Subscribe with the quality that a topic's publishers offer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy

try:
    from rclpy.event_handler import SubscriptionEventCallbacks
except ImportError:  # Humble
    from rclpy.qos_event import SubscriptionEventCallbacks


def subscribe_as_offered(
    node: Node, kind: type, topic: str, callback: Callable[[Any], None], quality: QoSProfile
) -> None:
    """Subscribe reliably, and best effort once a publisher offers no more: else nothing of it arrives.

    No other quality of a publisher keeps its messages from a volatile subscriber without a deadline.
    """
    made = threading.Lock()

    def take_what_is_offered(_: Any) -> None:
        node.get_logger().warning(f"{topic} is published best effort: it is received so, and messages may be lost")
        with made:
            node.destroy_subscription(reliable)
        offered = QoSProfile(
            reliability=ReliabilityPolicy.BEST_EFFORT, history=HistoryPolicy.KEEP_LAST, depth=quality.depth
        )
        node.create_subscription(kind, topic, callback, offered)

    events = SubscriptionEventCallbacks(incompatible_qos=take_what_is_offered)
    # A publisher that is known is told at once, in the thread that spins, which may not be this one.
    with made:
        reliable = node.create_subscription(kind, topic, callback, quality, event_callbacks=events)
