"""When something of a simulated world is due: once a period of its time, or by the wall clock."""

from __future__ import annotations

import math

LONGEST_CATCH_UP = 0.1
"""How much a world catches up at once, when the machine is too slow for real time [s]."""


class Periodic:
    """What is done at most once a period of simulated time."""

    def __init__(self, period: float) -> None:
        """Take the period [s]; with 0 it is never due."""
        self._period, self._last = period, -math.inf

    def due(self, now: float) -> bool:
        """Tell whether a period is over at a time [s], or time was set back."""
        # A nanosecond more or less must not cost one.
        return bool(self._period) and not 0.0 <= now - self._last < 0.999 * self._period

    def done(self, now: float) -> None:
        """Begin a period at a time [s]."""
        self._last = now

    def reset(self) -> None:
        """Forget when it was done last."""
        self._last = -math.inf


class RealTime:
    """How many physics steps bring a world up to the wall clock."""

    def __init__(self, now: float) -> None:
        """Start at a time of the wall clock [s]."""
        self._until = now

    def steps(self, now: float, duration: float) -> int:
        """Return how many steps of a duration [s] are due at a time of the wall clock [s], and count them as made."""
        behind = min(now - self._until, LONGEST_CATCH_UP)
        steps = int(behind / duration)
        self._until = now - (behind - steps * duration)
        return steps
