"""What the watchdog says, as the rollout and the session hear it: whether the robot may be moved."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from rclpy.node import Node

from robocontrast_ros.messages.decoding import stamp_from_msg
from robocontrast_ros.msg import Stopped
from robocontrast_ros.nodes.runtime.qos import LATCHED

CONFIRMATION = 0.5
"""How long the watchdog is waited for after a doubt [s]."""

HOW_TO_RELEASE = "release it with: robocontrast stop RUN --release --by NAME"


class StopMonitor:
    """Listens to ``stopped``. A watchdog that is not heard is a reason not to move, too.

    Attributes:
        limit: its silence [s] after which it counts as gone.
    """

    def __init__(self, node: Node, watchdog: str, limit: float, changed: Callable[[], None] = lambda: None) -> None:
        """Subscribe.

        Args:
            node: that the subscription is made of.
            watchdog: the watchdog's name, for words.
            limit: its silence [s] after which it counts as gone, at first.
            changed: called when the stop comes or goes.
        """
        self._watchdog, self.limit, self._changed = watchdog, limit, changed
        self._condition = threading.Condition()
        self._last: Stopped | None = None
        self._heard, self._valid_from = 0.0, 0
        node.create_subscription(Stopped, "stopped", self._take, LATCHED)

    @property
    def silent(self) -> bool:
        """Whether the watchdog is not heard."""
        with self._condition:
            return self._last is None or time.monotonic() - self._heard > self.limit

    @property
    def reason(self) -> str:
        """Why the robot must not be moved; empty where it may."""
        with self._condition:
            last, silence = self._last, time.monotonic() - self._heard
        if last is None:
            return f"'{self._watchdog}' was not heard yet"
        if last.stopped:
            return f"stopped by {last.by}: {last.reason}; {HOW_TO_RELEASE}"
        return f"'{self._watchdog}' is silent for {silence:.2f} s" if silence > self.limit else ""

    @property
    def released_by(self) -> str:
        """Who released the last stop; empty while one is on, and where there was none."""
        with self._condition:
            return "" if self._last is None or self._last.stopped else self._last.by

    def doubt(self) -> None:
        """Trust only what the watchdog says from now on: it may have stopped the robot, and its message may be late.

        Its silence begins anew: while this process stood still, nothing could be heard.
        """
        with self._condition:
            self._valid_from, self._heard = time.time_ns(), time.monotonic()

    def confirmed(self) -> str:
        """Return ``reason``, once the watchdog was heard after the last doubt."""
        with self._condition:
            self._condition.wait_for(lambda: self._last is not None and self._said() >= self._valid_from, CONFIRMATION)
            doubtful = self._last is None or self._said() < self._valid_from
        return self.reason or (f"'{self._watchdog}' is silent" if doubtful else "")

    def wait_proven(self, timeout: float) -> bool:
        """Return whether the watchdog shows within a time [s] that it can tell the robot to stop."""
        with self._condition:
            return self._condition.wait_for(lambda: self._last is not None and self._last.proven, timeout)

    def wait(self, timeout: float) -> bool:
        """Return whether the watchdog is heard within a time [s]."""
        with self._condition:
            return self._condition.wait_for(lambda: self._last is not None, timeout)

    def _said(self) -> int:
        return stamp_from_msg(self._last.stamp)

    def _take(self, message: Stopped) -> None:
        with self._condition:
            before, self._last = self._last, message
            self._heard = time.monotonic()
            self._condition.notify_all()
        if before is None or before.stopped != message.stopped:
            self._changed()
