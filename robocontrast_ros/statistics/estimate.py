"""An estimate and its interval."""

from __future__ import annotations

from dataclasses import dataclass

CONFIDENCE = 0.95
"""Default confidence level of every interval."""


@dataclass(frozen=True)
class Estimate:
    """A mean and its interval.

    Attributes:
        mean: the mean; None if there are no values.
        low: lower end of the interval; None if there is none.
        high: upper end.
    """

    mean: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def half_width(self) -> float | None:
        """Half of the interval's width; None without an interval."""
        return None if self.low is None or self.high is None else 0.5 * (self.high - self.low)


NO_ESTIMATE = Estimate()
