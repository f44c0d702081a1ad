"""Estimate of a clock's errors from the stamps of a topic's messages."""

from __future__ import annotations

from collections import deque

from robocontrast_ros.domain import NANOSECONDS, nanoseconds

JUMP = nanoseconds(0.1)
"""Difference beyond which a clock was set; below it a message was late, or two overtook each other [ns]."""

WINDOW, ENOUGH = NANOSECONDS, 5
"""Least time [ns] and least number of messages of a window; the least delay of each window is kept."""

KEPT = 30 * NANOSECONDS
"""Time for which a window's least delay is kept [ns]: clocks drift."""

KNOWN = 2
"""Number of windows after which the least delay is known well enough to detect a message that came too early."""


class StampClock:
    """Compares the stamps of one topic with the steady clock of this machine.

    A message may come late, and never comes early. So the least time from stamp to arrival is the offset of the two
    clocks plus the least delay. A message that comes earlier than that has the stamp of a clock that was set ahead.
    """

    def __init__(self) -> None:
        """Begin without messages."""
        self._last: int | None = None
        self._windows: deque[tuple[int, int]] = deque()
        self._ahead = self._back = 0
        self._begin()

    def take(self, stamp: int, arrival: int) -> None:
        """Take a message of a time [ns] that arrived at a time of the steady clock [ns]."""
        apart = arrival - stamp
        while self._windows and arrival - self._windows[0][1] > KEPT:
            self._windows.popleft()
        early = min(self._windows)[0] - apart if self.known else 0
        if self._last is not None and self._last - stamp > JUMP:
            self._back = max(self._back, self._last - stamp)
            self._forget()
        elif early > JUMP:
            self._ahead = max(self._ahead, early)
            self._forget()
        self._last = stamp
        self._began = arrival if self._began is None else self._began
        self._count += 1
        self._least = apart if self._least is None else min(self._least, apart)
        if self._count >= ENOUGH and arrival - self._began >= WINDOW:
            self._windows.append((self._least, arrival))
            self._begin()

    @property
    def known(self) -> bool:
        """Whether the least time is that of enough messages, so that not all of them can have been late."""
        return len(self._windows) >= KNOWN

    @property
    def least(self) -> int:
        """The least time from a stamp to its arrival by the steady clock [ns], after a first message."""
        present = () if self._least is None else (self._least,)
        return min((*present, *(least for least, _ in self._windows)))

    def set_by(self) -> int:
        """Return the time by which the clock was set since the last call [ns]: above 0 ahead, below 0 back, else 0."""
        ahead, back = self._ahead, self._back
        self._ahead = self._back = 0
        return -back if back else ahead

    def _forget(self) -> None:
        self._windows.clear()
        self._begin()

    def _begin(self) -> None:
        self._least: int | None = None
        self._began: int | None = None
        self._count = 0
