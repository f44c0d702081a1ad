"""The watchdog's reports to the rollout and the session: whether the robot may be moved."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from rclpy.node import Node

from robocontrast_ros.messages.decoding import stamp_from_msg
from robocontrast_ros.msg import Stopped
from robocontrast_ros.nodes.runtime.qos import LATCHED

CONFIRMATION = 0.5
"""Time limit of the wait for the watchdog after a doubt [s]."""

HOW_TO_RELEASE = "release it with: robocontrast stop RUN --release --by NAME"


class StopMonitor:
    """Listens to ``stopped``. A silent watchdog is also a reason not to move.

    Attributes:
        limit: silence of the watchdog after which it counts as lost [s].
    """

    def __init__(
        self, node: Node, watchdog: str, limit: float, changed: Callable[[str], None] = lambda _: None
    ) -> None:
        """Subscribe.

        Args:
            node: the node of the subscription.
            watchdog: the watchdog's name, for messages.
            limit: first value of ``limit`` [s].
            changed: called with ``reason`` when a stop begins or ends, perhaps before this object is returned.
        """
        self._watchdog, self.limit, self._changed = watchdog, limit, changed
        self._condition = threading.Condition()
        self._last: Stopped | None = None
        self._heard, self._valid_from = 0.0, 0
        node.create_subscription(Stopped, "stopped", self._take, LATCHED)

    @property
    def silent(self) -> bool:
        """Whether no message of the watchdog has come within the limit."""
        with self._condition:
            return self._last is None or time.monotonic() - self._heard > self.limit

    @property
    def reason(self) -> str:
        """The reason why the robot must not be moved; empty if it may."""
        with self._condition:
            last, silence = self._last, time.monotonic() - self._heard
        if last is None:
            return f"'{self._watchdog}' was not heard yet"
        if last.stopped:
            return f"stopped by {last.by}: {last.reason}; {HOW_TO_RELEASE}"
        return f"'{self._watchdog}' is silent for {silence:.2f} s" if silence > self.limit else ""

    @property
    def released_by(self) -> str:
        """Name of who released the last stop; empty during a stop, and if there was none."""
        with self._condition:
            return "" if self._last is None or self._last.stopped else self._last.by

    def doubt(self) -> None:
        """Trust only later messages of the watchdog: it may have stopped the robot, and its message may be late.

        The silence is counted anew, because nothing could be received while this process was suspended.
        """
        with self._condition:
            self._valid_from, self._heard = time.time_ns(), time.monotonic()

    def confirmed(self) -> str:
        """Return ``reason`` after the first message of the watchdog since the last doubt."""
        with self._condition:
            self._condition.wait_for(lambda: self._last is not None and self._said() >= self._valid_from, CONFIRMATION)
            doubtful = self._last is None or self._said() < self._valid_from
        return self.reason or (f"'{self._watchdog}' is silent" if doubtful else "")

    def wait_proven(self, timeout: float) -> bool:
        """Return whether the watchdog proves within a time [s] that it can stop the robot."""
        with self._condition:
            return self._condition.wait_for(lambda: self._last is not None and self._last.proven, timeout)

    def wait(self, timeout: float) -> bool:
        """Return whether a message of the watchdog comes within a time [s]."""
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
            self._changed(self.reason)
