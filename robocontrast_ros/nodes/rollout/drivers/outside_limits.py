"""Limits that slow or hold a robot from outside of the session, as its driver publishes them."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from functools import reduce
from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message

from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.nodes.rollout.drivers.faults import POLL, Kind, absence, interface, robot_fault
from robocontrast_ros.nodes.rollout.drivers.universal_robots import constant
from robocontrast_ros.nodes.runtime.qos import LATCHED
from robocontrast_ros.robots.drivers import OutsideLimit
from robocontrast_ros.robots.speed_scaling import is_slowed, percent, share_of

_OF_ANY_PUBLISHER = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)


class OutsideLimits:
    """The newest message of each topic of ``driver.limits``.

    Attributes:
        lowest: lowest share of full speed in all checks since ``begin``, 0 to 1; NaN if it is not known.
        lowest_words: ``words`` at that moment.
    """

    def __init__(self, node: Node, limits: Sequence[OutsideLimit]) -> None:
        """Take the limits; ``hear`` subscribes, because the watchdog also has a port and does not need them."""
        self._log, self._changed = node.get_logger(), threading.Condition()
        self._sources = tuple(_Source(node, limit, self._changed) for limit in limits)
        self._heard, self.lowest, self.lowest_words = False, math.nan, ""

    def hear(self, timeout: float) -> None:
        """Wait for all topics, the first time, and log what is known; a topic that stays silent is no fault.

        Args:
            timeout: limit of the wait [s].

        Raises:
            BenchFault: ROBOT_FAULT; a topic is not as the robot's file describes it.
        """
        if self._heard:
            return
        for source in self._sources:
            source.subscribe()
        deadline = time.monotonic() + timeout
        while silent := [source for source in self._sources if source.newest is None and not source.absent]:
            if time.monotonic() > deadline:
                break
            for source in silent:
                source.hear_latched()
            with self._changed:
                self._changed.wait(POLL)
        if problem := next(filter(None, (source.misread() for source in self._sources)), ""):
            raise robot_fault(problem)
        self._heard = True
        if words := self.words():
            self._log.warning(words)

    def require_free(self, timeout: float) -> None:
        """Wait until nothing holds the robot: a driver may need a moment after a recovery.

        Args:
            timeout: limit of the wait [s].

        Raises:
            BenchFault: ROBOT_FAULT; something holds the robot.
        """
        with self._changed:
            self._changed.wait_for(lambda: not self.problem(), timeout)
        if problem := self.problem():
            raise robot_fault(problem)

    def begin(self) -> None:
        """Forget the lowest share so far."""
        self.lowest = math.nan
        self.problem()

    @property
    def share(self) -> float:
        """The present share of full speed, 0 to 1; NaN if it is not known."""
        return min((share for source in self._sources if not math.isnan(share := source.share)), default=math.nan)

    def problem(self) -> str:
        """Check all topics, and return the limit that holds the robot, and the cure; empty for none."""
        share = self.share
        if share < self.lowest or (math.isnan(self.lowest) and not math.isnan(share)):
            self.lowest, self.lowest_words = share, self.words()
        return next(filter(None, (source.misread() or source.holds() for source in self._sources)), "")

    def words(self) -> str:
        """Return what slows the robot, and the cure, or that it is unknown; empty at full speed."""
        unknown = [] if self._sources else ["the robot's file names no topic for it (`driver.limits`)"]
        slowed = []
        for source in self._sources:
            if source.newest is None or (source.limit.full is not None and math.isnan(source.share)):
                unknown.append(source.silence())
            elif source.limit.full is not None and is_slowed(source.share):
                slowed.append(f"{percent(source.share)} of full speed ({source.words()}): {source.limit.cure}")
        unknown = [f"not known: {words}" for words in unknown]
        return f"speed scaling: {'; '.join((*slowed, *unknown))}" if slowed or unknown else ""


class _Source:
    """One topic of a limit.

    Only the newest message is kept, and decoded when it is needed, because a driver may publish 1000 a second.

    Attributes:
        limit: description of the topic in the robot's file.
        newest: the newest message, serialised; None before the first.
        absent: the reason why no message will come: the type is not installed; empty otherwise.
    """

    def __init__(self, node: Node, limit: OutsideLimit, changed: threading.Condition) -> None:
        self._node, self._changed, self.limit = node, changed, limit
        self.newest: bytes | None = None
        self._read: tuple[bytes | None, float] = None, math.nan
        self.absent, self._subscribed, self._latched = "", False, False

    def subscribe(self) -> None:
        """Subscribe, unless that was done before."""
        if self._subscribed:
            return
        self._subscribed = True
        try:
            self._kind = interface(self.limit.type)
        except BenchFault as fault:
            self.absent = fault.detail
            return
        self._node.create_subscription(self._kind, self.limit.topic, self._put, _OF_ANY_PUBLISHER, raw=True)

    def hear_latched(self) -> None:
        """Subscribe to a message that was published once, if a publisher keeps it."""
        name = self._node.resolve_topic_name(self.limit.topic)
        kept = (p.qos_profile.durability for p in self._node.get_publishers_info_by_topic(name))
        if not self._latched and DurabilityPolicy.TRANSIENT_LOCAL in kept:
            self._latched = True
            self._node.create_subscription(self._kind, self.limit.topic, self._put, LATCHED, raw=True)

    @property
    def share(self) -> float:
        """Share of full speed; NaN if it is not known, and for a mode in which the robot is free."""
        try:
            value = self._value()
            share = math.nan if value is None else share_of(self.limit, value)
        except (AttributeError, TypeError, ValueError):
            return math.nan
        return math.nan if self.limit.full is None and share else share

    def misread(self) -> str:
        """Return why the number does not fit the robot's file; empty if it does, or no message came."""
        try:
            value = self._value()
            if value is not None:
                share_of(self.limit, value)
        except (AttributeError, TypeError):
            known = ", ".join(self._kind.get_fields_and_field_types())
            return (
                f"{self.limit.type} of {self.limit.topic} has no number `{self.limit.field}`; it has: {known}. Correct "
                "`driver.limits` in the robot's file"
            )
        except ValueError as error:
            return str(error)
        return ""

    def holds(self) -> str:
        """Return a message, with the cure, if this limit holds the robot; empty if it does not, or is not known."""
        return "" if self.share else f"something outside holds the robot ({self.words()}): {self.limit.cure}"

    def words(self) -> str:
        """Return the newest value and its source, in words."""
        value = self._value()
        if self.limit.full is not None:
            return f"{value:g} of {self.limit.full:g} on {self.limit.topic}"
        return f"{self.limit.field} is {constant(self._kind, value)} ({value:g}) on {self.limit.topic}"

    def silence(self) -> str:
        """Return the reason why the share is not known."""
        if self.absent:
            return self.absent
        if self.newest is not None:
            return self.misread() or f"{self.limit.topic} says {self._value():g}"
        if not self._node.count_publishers(self.limit.topic):
            return absence(self._node, self.limit.topic, Kind.TOPIC)
        return f"nothing came on {self.limit.topic}"

    def _value(self) -> float | None:
        """Return the newest value; None before the first.

        Raises:
            AttributeError: there is no such field.
            TypeError: the field is no number.
        """
        raw = self.newest
        if raw is None:
            return None
        if raw is self._read[0]:
            return self._read[1]
        value: Any = reduce(getattr, self.limit.field.split("."), deserialize_message(raw, self._kind))
        if not isinstance(value, (bool, int, float)):
            raise TypeError(self.limit.field)
        self._read = raw, value
        return value

    def _put(self, raw: bytes) -> None:
        with self._changed:
            self.newest = raw
            self._changed.notify_all()
