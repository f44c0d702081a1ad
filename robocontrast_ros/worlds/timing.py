"""What is done at most once a period of simulated time."""

from __future__ import annotations

from robocontrast_ros.domain import nanoseconds


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
