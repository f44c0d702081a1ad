"""Periodic actions in simulated time, and the time of day of a world that runs on the wall clock."""

from __future__ import annotations

import time

from robocontrast_ros.domain import nanoseconds

READINGS = 10
"""Pairs of readings of two clocks; the closest pair counts."""

AHEAD = nanoseconds(0.5)
"""Change beyond which the system clock was set ahead; a smaller one may come from slow readings of all pairs [ns]."""


class Periodic:
    """Reports whether an action is due, from the time of the last one."""

    def __init__(self, period: float) -> None:
        """Take the period [s]; with 0 the action is never due."""
        self._period, self._last = nanoseconds(period), None

    def due(self, now: int) -> bool:
        """Return whether a period is over at a time [ns], or the time has not advanced or was set back."""
        # A difference of a nanosecond must not skip a period.
        if self._last is None:
            return bool(self._period)
        return bool(self._period) and not 0 < now - self._last < 0.999 * self._period

    def done(self, now: int | None) -> None:
        """Begin a period at a time [ns]; after None, the action is due at any time."""
        self._last = now


class TimeOfDay:
    """The time of day by the steady clock, so that it never goes back, whatever happens to this process.

    The difference of the two clocks is kept, because this process may be stopped between the readings of the two.
    A system clock that is set ahead, as after a laptop has slept, is followed; one that is set back is not.
    """

    def __init__(self) -> None:
        """Read both clocks."""
        self._apart = _apart()

    def at(self, steady: int) -> int:
        """Return the time of day at a time of the steady clock, ``time.monotonic_ns`` [ns]."""
        if (apart := _apart()) - self._apart > AHEAD:
            self._apart = apart
        return steady + self._apart


def _apart() -> int:
    # The system clock is read last: time between the two readings makes the difference greater, never less.
    return min(-time.monotonic_ns() + time.time_ns() for _ in range(READINGS))
