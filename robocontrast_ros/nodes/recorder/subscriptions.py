"""The recorder's subscriptions: every message in its serialised form, with the quality that its publishers offer."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription

from robocontrast_ros.bags.writer import BagTopic
from robocontrast_ros.nodes.conversions.domain import message_class

MUTUAL_DISCOVERY = 0.3
"""Longest time from our discovery of a publisher to its discovery of us [s]; measured: 10 ms, more if busy."""


class RawSubscriptions:
    """Subscribes to topics, and passes on name, time of reception [ns] and CDR of each message.

    Attributes:
        topics: topics by name; best effort if a publisher offers no more.
    """

    def __init__(self, node: Node, topics: Mapping[str, BagTopic], take: Callable[[str, int, bytes], None]) -> None:
        """Subscribe to all topics."""
        self.topics = dict(topics)
        self._node, self._take = node, take
        self._discovered = False
        self._subscriptions = {name: self._subscribe(name) for name in self.topics}

    def await_publishers(self, deadline: float) -> None:
        """Wait, before the first bag, until every topic has a publisher that knows this recorder.

        A publisher does not keep its messages for a subscriber that it has not discovered. There is no way to ask
        whether it has, so this waits a moment. After the deadline [s] the recording begins in any case.
        """
        if self._discovered:
            return
        end = time.monotonic() + deadline
        while (unknown := self._without_publisher()) and time.monotonic() < end:
            time.sleep(0.02)
        if unknown:
            self._warn(f"nothing publishes {', '.join(unknown)}: nothing is recorded of it")
        time.sleep(min(MUTUAL_DISCOVERY, deadline))
        self._discovered = True

    def match_publishers(self) -> bool:
        """Subscribe best effort if a publisher offers no more: else nothing arrives; return whether one does."""
        unreliable = [n for n, t in self.topics.items() if not t.best_effort and self._is_best_effort(t)]
        for name in unreliable:
            self._warn(f"{name}: published best effort; messages may be lost before they are counted")
            self.topics[name] = replace(self.topics[name], best_effort=True)
            self._node.destroy_subscription(self._subscriptions[name])
            self._subscriptions[name] = self._subscribe(name)
        return bool(unreliable)

    def take_waiting(self) -> None:
        """Pass on the messages that have arrived on any topic, and had to wait for a slow callback."""
        for name in self.topics:
            self._take_waiting(name)

    def _warn(self, text: str) -> None:
        self._node.get_logger().warning(text)

    def _without_publisher(self) -> list[str]:
        known = self._subscriptions.items()
        return [name for name, subscription in known if subscription.get_publisher_count() == 0]

    def _is_best_effort(self, topic: BagTopic) -> bool:
        publishers = self._node.get_publishers_info_by_topic(topic.name)
        return any(p.qos_profile.reliability == ReliabilityPolicy.BEST_EFFORT for p in publishers)

    def _subscribe(self, name: str) -> Subscription:
        topic = self.topics[name]
        qos = QoSProfile(
            # Messages that have arrived wait here until they are taken. Others are in their publisher's history
            # (nodes/runtime/qos.py); rollout waits before that is too short.
            history=HistoryPolicy.KEEP_ALL,
            reliability=ReliabilityPolicy.BEST_EFFORT if topic.best_effort else ReliabilityPolicy.RELIABLE,
            durability=DurabilityPolicy.TRANSIENT_LOCAL if topic.latched else DurabilityPolicy.VOLATILE,
        )
        kind = message_class(topic.type_name)
        return self._node.create_subscription(kind, name, partial(self._receive, name), qos, raw=True)

    def _receive(self, name: str, cdr: bytes, info: dict[str, Any]) -> None:
        self._take(name, info["received_timestamp"], cdr)
        # A wake-up for each message takes longer than writing it.
        self._take_waiting(name)

    def _take_waiting(self, name: str) -> None:
        subscription = self._subscriptions[name]
        with subscription.handle:
            while (taken := subscription.handle.take_message(subscription.msg_type, True)) is not None:
                cdr, info = taken
                self._take(name, info["received_timestamp"], cdr)
