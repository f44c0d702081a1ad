"""What is done at most once a period of simulated time."""

from __future__ import annotations

import math


class Periodic:
    """Tells when something is due, from the time at which it was done last."""

    def __init__(self, period: float) -> None:
        """Take the period [s]; with 0 it is never due."""
        self._period, self._last = period, -math.inf

    def due(self, now: float) -> bool:
        """Tell whether a period is over at a time [s], or time stands still or was set back."""
        # A nanosecond more or less must not cost one.
        return bool(self._period) and not 0.0 < now - self._last < 0.999 * self._period

    def done(self, now: float) -> None:
        """Begin a period at a time [s]; at -inf, it is due at any time."""
        self._last = now
