"""Quality of service by purpose, in one place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

try:
    from rclpy.event_handler import SubscriptionEventCallbacks
except ImportError:  # Humble
    from rclpy.qos_event import SubscriptionEventCallbacks

from robocontrast_ros.bags.recorder_lag import history_depth


def _reliable(depth: int, durability: DurabilityPolicy = DurabilityPolicy.VOLATILE) -> QoSProfile:
    return QoSProfile(
        reliability=ReliabilityPolicy.RELIABLE,
        durability=durability,
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
    )


def recorded(size: int) -> QoSProfile:
    """Return what a publisher offers on a topic that is recorded, for messages of a size [byte].

    A publisher that keeps the last messages never waits for a subscriber. A subscriber that is behind by more than the
    depth loses messages, so the depth is large, and rollout waits for a recorder that is too far behind. Any other
    subscriber, for instance in a second terminal, loses only its own messages.
    """
    return _reliable(history_depth(size))


RECORDED = recorded(1000)
"""Publishers of sensors, scenes and scores, whose messages are smaller than images."""

LOCKSTEP = _reliable(10)
"""Subscriptions to sensors, scenes and scores: the next message is published after the last one was taken."""

LATCHED = _reliable(1, DurabilityPolicy.TRANSIENT_LOCAL)
"""State that a late subscriber must still receive: the present trial, the session's status.

The last message is enough for the recorder, too: the next trial is published after the recording of this one.
"""

STATE = _reliable(1)
"""A heartbeat, of which only the newest counts."""


def subscribe_as_offered(
    node: Node, kind: type, topic: str, callback: Callable[[Any], None], quality: QoSProfile
) -> None:
    """Subscribe reliably, and best effort once a publisher offers no more: else nothing of it arrives.

    No other quality of a publisher keeps its messages from a volatile subscriber without a deadline.
    """

    def take_what_is_offered(_: Any) -> None:
        node.get_logger().warning(f"{topic} is published best effort: it is received so, and messages may be lost")
        node.destroy_subscription(reliable)
        offered = QoSProfile(
            reliability=ReliabilityPolicy.BEST_EFFORT, history=HistoryPolicy.KEEP_LAST, depth=quality.depth
        )
        node.create_subscription(kind, topic, callback, offered)

    events = SubscriptionEventCallbacks(incompatible_qos=take_what_is_offered)
    reliable = node.create_subscription(kind, topic, callback, quality, event_callbacks=events)
