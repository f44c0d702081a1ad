"""The rollout's inputs: the latest message of each topic, and a wait for one that is new enough."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from rclpy.node import Node

from robocontrast_ros.domain import Fault
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.nodes.conversions.time import seconds
from robocontrast_ros.nodes.runtime.intra_process import subscribe
from robocontrast_ros.nodes.runtime.qos import LOCKSTEP


class Inbox:
    """Holds the latest message of each topic; messages come from another thread than the one that waits.

    Attributes:
        topics: the topics that it subscribes to.
        refusal: says why no wait may go on; empty while it may.
    """

    def __init__(self, node: Node, heard: Callable[[str], None] = lambda topic: None) -> None:
        """Start without subscriptions; they will be those of this node. ``heard`` is told each message's topic."""
        self._node, self._heard = node, heard
        self.refusal: Callable[[], str] = lambda: ""
        self._changed = threading.Condition()
        self._latest: dict[str, tuple[float, Any]] = {}
        self._received: Counter[str] = Counter()
        self._backwards: dict[str, float] = {}
        self._behind: dict[str, float] = {}
        self.topics: frozenset[str] = frozenset()

    def subscribe(self, kind: type, topic: str) -> None:
        """Subscribe to a topic whose messages have a header, unless that was done before."""
        if topic not in self.topics:
            self.topics |= {topic}
            subscribe(self._node, kind, topic, lambda message: self._put(topic, message), LOCKSTEP)

    def wait(self, topics: tuple[str, ...], stamp: float, timeout: float) -> dict[str, Any]:
        """Return the latest message of each topic, all of them of that time [s] or later.

        Raises:
            BenchFault: one did not come within the time [s], or ``refusal`` says why not to wait.
        """
        with self._changed:
            came = self._changed.wait_for(lambda: self.refusal() or not self._missing(topics, stamp), timeout)
            if reason := self.refusal():
                raise BenchFault(Fault.ROBOT_STOPPED, reason)
            if not came:
                raise BenchFault(
                    Fault.SENSOR_LOST,
                    f"nothing on {', '.join(self._missing(topics, stamp))} of {stamp:.3f} s within {timeout:g} s",
                )
            return {topic: self._latest[topic][1] for topic in topics}

    def received(self, topic: str) -> int:
        """Return how many messages of a topic there were."""
        with self._changed:
            return self._received[topic]

    def wake(self) -> None:
        """Have waits ask again whether they are refused."""
        with self._changed:
            self._changed.notify_all()

    def newest(self, topic: str) -> Any | None:
        """Return the latest message of a topic; None before the first."""
        with self._changed:
            return self._latest.get(topic, (0.0, None))[1]

    def behind(self, topic: str) -> float:
        """Return by how much the stamp of a topic's newest message was behind this machine's clock on arrival [s]."""
        with self._changed:
            return self._behind.get(topic, 0.0)

    def stepped_back(self, topic: str) -> float:
        """Return by how much the stamps of a topic went back at most since this was asked last [s]; 0 if not."""
        with self._changed:
            return self._backwards.pop(topic, 0.0)

    def wait_for_new(self, topics: tuple[str, ...], timeout: float, cause: Callable[[], None]) -> bool:
        """Call what causes a message on each topic, and return whether all of them came within the time [s]."""
        with self._changed:
            before = self._received.copy()
        cause()
        with self._changed:
            return self._changed.wait_for(
                lambda: all(self._received[topic] > before[topic] for topic in topics), timeout
            )

    def _put(self, topic: str, message: Any) -> None:
        with self._changed:
            stamp = seconds(message.header.stamp)
            back = self._latest.get(topic, (stamp, None))[0] - stamp
            if back > self._backwards.get(topic, 0.0):
                self._backwards[topic] = back
            self._latest[topic], self._behind[topic] = (stamp, message), time.time() - stamp
            self._received[topic] += 1
            self._changed.notify_all()
        self._heard(topic)

    def _missing(self, topics: tuple[str, ...], stamp: float) -> list[str]:
        return [topic for topic in topics if topic not in self._latest or self._latest[topic][0] < stamp]
