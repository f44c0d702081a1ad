"""The states of a node's parts on `diagnostics`, for rqt_robot_monitor and diagnostic_aggregator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import QoSProfile

from robocontrast_ros.messages.topics import DIAGNOSTICS

PERIOD = 1.0
"""Time between two messages of a node, on the wall clock [s]."""

ENOUGH = 0.9
"""Share of the expected rate from which a stream is not slow; it is counted over one period alone."""


class Level(IntEnum):
    """The severity of a report. The values are those of ``DiagnosticStatus.msg``."""

    OK = 0
    WARN = 1
    ERROR = 2
    STALE = 3


@dataclass(frozen=True)
class Report:
    """The state of one part.

    Attributes:
        level: the severity.
        message: the state in words.
        values: name, with its unit -> value.
    """

    level: Level = Level.OK
    message: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)


class Diagnostics:
    """Publishes the reports of a node's parts once a second. Without a subscriber, no reports are made."""

    def __init__(self, node: Node, hardware: str) -> None:
        """Make the publisher and the timer of a node; ``hardware`` is the name of its subject, such as the robot."""
        self._node, self._hardware = node, hardware
        self._parts: list[Callable[[], Mapping[str, Report]]] = []
        self._publisher = node.create_publisher(DiagnosticArray, DIAGNOSTICS.name, QoSProfile(depth=10))
        node.create_timer(PERIOD, self._publish, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def add(self, reports: Callable[[], Mapping[str, Report]]) -> None:
        """Add a function that returns reports by names of parts; the executor calls it, so it must not block."""
        self._parts.append(reports)

    def _publish(self) -> None:
        if not self._publisher.get_subscription_count():
            return
        message = DiagnosticArray(
            status=[self._status(name, report) for part in self._parts for name, report in part().items()]
        )
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)

    def _status(self, name: str, report: Report) -> DiagnosticStatus:
        return DiagnosticStatus(
            level=bytes((report.level,)),
            name=f"{self._node.get_fully_qualified_name().lstrip('/')}: {name}",
            message=report.message,
            hardware_id=self._hardware,
            values=[KeyValue(key=key, value=str(value)) for key, value in report.values.items()],
        )


class StreamReport:
    """The rate of a topic's messages, from their number at each look."""

    def __init__(self, topic: str, expected: float | None) -> None:
        """Take the topic, and its least rate [Hz]; None if time does not follow the wall clock."""
        self._topic, self._expected = topic, expected
        self._last: tuple[int, float] | None = None

    def look(self, count: int, now: float) -> Report:
        """Return the report for a number of messages up to now [s], on a clock that never goes back."""
        last, self._last = self._last, (count, now)
        values: dict[str, Any] = {"topic": self._topic, "messages": count}
        if self._expected is not None:
            values["expected rate [Hz]"] = f"{self._expected:g}"
        if last is None or now <= last[1]:
            return Report(Level.OK, "counting", values)
        rate = (count - last[0]) / (now - last[1])
        values["rate [Hz]"] = f"{rate:.1f}"
        if self._expected is None:
            return Report(Level.OK, "in lockstep: as often as the simulator is stepped", values)
        if not rate:
            return Report(Level.ERROR, "nothing is received", values)
        if rate < ENOUGH * self._expected:
            return Report(Level.WARN, "slower than the control rate", values)
        return Report(Level.OK, "received", values)
