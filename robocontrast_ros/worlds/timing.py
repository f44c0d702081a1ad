"""What is done at most once a period of simulated time, and the time of day of a world that plays."""

from __future__ import annotations

import time

from robocontrast_ros.domain import nanoseconds

READINGS = 10
"""Pairs of readings of two clocks, of which the closest counts."""

AHEAD = nanoseconds(0.5)
"""Beyond what the system clock was set ahead, rather than that all those pairs were read too slowly [ns]."""


class Periodic:
    """Tells when something is due, from the time at which it was done last."""

    def __init__(self, period: float) -> None:
        """Take the period [s]; with 0 it is never due."""
        self._period, self._last = nanoseconds(period), None

    def due(self, now: int) -> bool:
        """Tell whether a period is over at a time [ns], or time stands still or was set back."""
        # A nanosecond more or less must not cost one.
        if self._last is None:
            return bool(self._period)
        return bool(self._period) and not 0 < now - self._last < 0.999 * self._period

    def done(self, now: int | None) -> None:
        """Begin a period at a time [ns]; at None, it is due at any time."""
        self._last = now


class TimeOfDay:
    """Tells the time of day by the steady clock, so that it never goes back, whatever happens to this process.

    How far apart the two clocks are is kept: they are read at two times, and this process may stand still between them.
    A system clock that is set ahead is followed, as that of a laptop that slept; one that is set back is not.
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
    # The system clock is read last: what passes between the two makes the difference greater, never less.
    return min(-time.monotonic_ns() + time.time_ns() for _ in range(READINGS))
