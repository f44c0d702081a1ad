"""The rollout's inputs: the latest message of each topic, and a wait for messages that are new enough."""

from __future__ import annotations

import contextlib
import math
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from rclpy.node import Node
from rclpy.serialization import deserialize_message

from robocontrast_ros.domain import NANOSECONDS, Fault, seconds, stamp_text
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.episodes.clocks import StampClock
from robocontrast_ros.messages.decoding import stamp_from_msg
from robocontrast_ros.nodes.runtime.intra_process import subscribe
from robocontrast_ros.nodes.runtime.offered import subscribe_as_offered
from robocontrast_ros.nodes.runtime.qos import LOCKSTEP
from robocontrast_ros.nodes.runtime.simulated_clock import QUIET
from robocontrast_ros.nodes.runtime.stream import WAITING, Stream
from robocontrast_ros.robots.drivers import DriverSettings

TIME_OF_DAY = 1_000_000_000 * NANOSECONDS
"""Stamps before this time, in the year 2001, are of simulated time [ns]."""

LOOK = 0.002
"""Period of the checks in a wait for a driver's message [s]; a wake-up for each message takes more time."""


Stamped = tuple[int, Any]
"""A stamp [ns], and the value with this stamp."""


class Inbox:
    """Holds the latest message of each topic; messages come in another thread than the waiting one.

    Attributes:
        topics: the subscribed topics.
        refusal: returns why no wait may go on; empty while it may.
        needed: returns whether every message of the robot's driver is needed; not while the robot is at rest.
        lockstep: whether the world waits, so that stamps do not follow any clock.
    """

    def __init__(
        self,
        node: Node,
        heard: Callable[[str], None] = lambda topic: None,
        lockstep: bool = False,
        only: str | None = None,
    ) -> None:
        """Start without subscriptions.

        Args:
            node: the node of the subscriptions.
            heard: called with the topic of each message that is kept, or completes a kept value.
            lockstep: whether the world waits.
            only: the only topic to subscribe to, whatever is requested; None for all. A node that only stops the robot
                needs no forces, which come a hundred times a second.
        """
        self._node, self._heard, self.lockstep, self._only = node, heard, lockstep, only
        self.refusal: Callable[[], str] = lambda: ""
        self.needed: Callable[[], bool] = lambda: True
        self._changed = threading.Condition()
        self._latest: dict[str, tuple[int, Any]] = {}
        self._received: Counter[str] = Counter()
        self._clocks: defaultdict[str, StampClock] = defaultdict(StampClock)
        self.topics: frozenset[str] = frozenset()
        self._streams: dict[str, Stream] = {}

    def subscribe(
        self, kind: type, topic: str, read: Callable[[Any], Stamped | None] | None = None, driver: bool = True
    ) -> None:
        """Subscribe to a topic whose messages have a header, unless that was done before.

        Args:
            kind: type of its messages.
            topic: its name.
            read: returns the stamp [ns] and the value to keep of a message; None for nothing yet. It is called in the
                thread in which messages arrive, or, for a driver, which requests them; never in two threads at once.
            driver: whether the robot's driver publishes the topic, at a rate of its own: then it is read as a
                ``Stream``, except in lockstep.
        """
        if topic in self.topics or self._only not in (None, topic):
            return
        self.topics |= {topic}
        read = read or (lambda message: (stamp_from_msg(message.header.stamp), message))

        def take(message: Any, arrival: int | None = None) -> None:
            self._put(topic, read(message), time.monotonic_ns() if arrival is None else arrival)

        if self.lockstep or not driver:
            subscribe(self._node, kind, topic, take, LOCKSTEP)
        else:
            self._streams[topic] = stream = Stream(
                lambda raw, arrival: take(deserialize_message(raw, kind), arrival), lambda: self.needed()
            )
            subscribe_as_offered(self._node, kind, topic, stream.put, WAITING)

    def read(self, *topics: str) -> None:
        """Read the messages of drivers since the last call, on these topics or on all."""
        for topic in topics or tuple(self._streams):
            if topic in self._streams:
                self._streams[topic].read()

    def wait(
        self,
        topics: tuple[str, ...],
        stamp: int,
        timeout: float,
        staleness: float = math.inf,
        problem: Callable[[], str] = lambda: "",
    ) -> dict[str, Any]:
        """Return the latest message of each topic, all of them of ``stamp`` [ns] or later.

        Args:
            topics: their names.
            stamp: the least time of the messages [ns].
            timeout: limit of the wait [s].
            staleness: greatest age of each, beyond the least delay of its topic [s].
            problem: returns the problem of the messages that came, which ends the wait; empty for none.

        Raises:
            BenchFault: a message did not come within the time, or ``refusal`` gave a reason; ROBOT_FAULT for a problem.
        """

        def missing() -> list[str]:
            return [
                topic
                for topic in topics
                if topic not in self._latest or self._latest[topic][0] < stamp or self.delay(topic) > staleness
            ]

        with self._changed_when(topics, timeout, lambda: self.refusal() or problem() or not missing()) as came:
            if reason := self.refusal():
                raise BenchFault(Fault.ROBOT_STOPPED, reason)
            if reason := problem():
                raise BenchFault(Fault.ROBOT_FAULT, reason)
            if not came:
                raise BenchFault(
                    Fault.SENSOR_LOST, f"nothing on {', '.join(missing())} of {stamp_text(stamp)} within {timeout:g} s"
                )
            return {topic: self._latest[topic][1] for topic in topics}

    def received(self, topic: str) -> int:
        """Return the number of messages of a topic so far."""
        if topic in self._streams:
            self._streams[topic].look()
        return self._count(topic)

    def wake(self) -> None:
        """Have waits check again whether they are refused."""
        with self._changed:
            self._changed.notify_all()

    def newest(self, topic: str) -> Any | None:
        """Return the latest message of a topic; None before the first."""
        self.read(topic)
        with self._changed:
            return self._latest.get(topic, (0, None))[1]

    def delay(self, topic: str) -> float:
        """Return the age of the newest message of a topic, beyond the least delay of the last half minute [s]."""
        with self._changed:
            if topic not in self._clocks:
                return 0.0
            return seconds(time.monotonic_ns() - self._latest[topic][0] - self._clocks[topic].least)

    def in_real_time(self, topic: str, driver: DriverSettings | None) -> bool:
        """Return whether a topic's stamps are known to be of a clock that runs as fast as this machine's.

        Args:
            topic: its name.
            driver: the key `driver` of the robot's file, which declares it; without it stamps of simulated time are
                recognised by their values.
        """
        with self._changed:
            if topic not in self._clocks:
                return False
            time_of_day = self._latest[topic][0] > TIME_OF_DAY
        return time_of_day if driver is None else driver.clock_tolerance is not None

    def ahead_of(self, topic: str, other: str, driver: DriverSettings | None) -> float:
        """Return the lead of the clock of a topic's stamps over that of another topic's [s]; 0 if it is not known.

        It is not known before the other topic's messages have come for a while: if the first of them were late, this
        topic's clock would seem to be ahead.
        """
        if not (self.in_real_time(topic, driver) and self.in_real_time(other, driver)):
            return 0.0
        with self._changed:
            if not self._clocks[other].known:
                return 0.0
            return seconds(self._clocks[other].least - self._clocks[topic].least)

    def clock_set(self, topic: str, driver: DriverSettings | None) -> str:
        """Return how the clock of a topic's stamps was set since the last call, and the cure; empty if it was not."""
        if not self.in_real_time(topic, driver):
            return ""
        with self._changed:
            step = seconds(self._clocks[topic].set_by())
        if not step:
            return ""
        how = f"jumped ahead by {step:.3f} s" if step > 0 else f"went back by {-step:.3f} s"
        return (
            f"the stamps of {topic} {how}: the clock of the computer that stamps them was set, or two drivers publish; "
            "let one clock follow the other steadily (chrony)"
        )

    def clock_off(self, topic: str, driver: DriverSettings | None) -> str:
        """Return the error of the clock of a topic's stamps, and the cure; empty if it is tolerated."""
        if not self.in_real_time(topic, driver):
            return ""
        with self._changed:
            behind = seconds(self._clocks[topic].least + time.time_ns() - time.monotonic_ns())
        tolerance = (driver or DriverSettings()).clock_tolerance
        if abs(behind) <= tolerance:
            return ""
        return (
            f"the stamps of {topic} are {abs(behind):.3f} s {'behind' if behind > 0 else 'ahead of'} this machine's "
            f"clock, more than `driver.clock_tolerance` ({tolerance:g} s): synchronise both (chrony); with simulated "
            "time set that to null"
        )

    def wait_until_last(self, topic: str, now: int, apart: int, timeout: float) -> None:
        """Wait until the last message of a topic up to a time is there, in a world that stands still.

        Args:
            topic: its name.
            now: the time [ns].
            apart: greatest age of the last message [ns]; a newer one, of the time itself, is awaited for ``QUIET``.
            timeout: limit of the wait [s].

        Raises:
            BenchFault: SENSOR_LOST; it did not come within the time.
        """

        def age() -> int:
            return now - self._latest[topic][0] if topic in self._latest else sys.maxsize

        with self._changed_when((topic,), QUIET, lambda: age() <= 0):
            pass
        with self._changed_when((topic,), timeout, lambda: age() <= apart) as came:
            if not came:
                newest = stamp_text(self._latest[topic][0]) if topic in self._latest else "none"
                raise BenchFault(
                    Fault.SENSOR_LOST,
                    f"at {stamp_text(now)} of the simulator's clock the newest message on {topic} is of {newest}: does "
                    "its driver stamp by this clock (`use_sim_time: true`)?",
                )

    def wait_for_new(self, topics: tuple[str, ...], timeout: float, cause: Callable[[], None]) -> bool:
        """Call ``cause``, and return whether a message came on each topic within the time [s]."""
        before = {topic: self.received(topic) for topic in topics}
        cause()
        with self._changed_when(topics, timeout, lambda: all(self._count(t) > before[t] for t in topics)) as came:
            return bool(came)

    @contextlib.contextmanager
    def _changed_when(self, topics: tuple[str, ...], timeout: float, came: Callable[[], Any]) -> Iterator[Any]:
        """Wait up to a time [s] until ``came`` returns a value; no message changes it within this context."""
        streamed = any(topic in self._streams for topic in topics)
        deadline = time.monotonic() + timeout
        while True:
            self.read(*topics)
            left = deadline - time.monotonic()
            with self._changed:
                found = self._changed.wait_for(came, min(left, LOOK) if streamed else left)
                if found or left <= 0.0:
                    yield found
                    return

    def _count(self, topic: str) -> int:
        return self._streams[topic].received if topic in self._streams else self._received[topic]

    def _put(self, topic: str, read: Stamped | None, arrival: int) -> None:
        with self._changed:
            if read is not None:
                if not self.lockstep:
                    self._clocks[topic].take(read[0], arrival)
                self._latest[topic] = read
            self._received[topic] += 1
            self._changed.notify_all()
        # A message of the hand alone, or an impossible reading, does not show that the arm's state still comes.
        if read is not None:
            self._heard(topic)
