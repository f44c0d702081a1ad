"""A test that allows a look after every trial: an early stop costs none of its error rate."""

from __future__ import annotations

import numpy as np

NODES = 64
"""Bets in the mixture."""


class BettingTest:
    """Anytime-valid test and confidence sequence for the mean of bounded values that are seen one at a time.

    Capital is bet against each candidate mean m (Waudby-Smith and Ramdas 2024, section 4): half of it on
    values above m, half on values below, each half spread evenly over all bets from nothing to everything.
    By Ville's inequality the capital against the true mean ever reaches 1 / error_rate with a probability of no
    more than error_rate, whenever one stops looking. For values of 0 and 1 the halves are mixtures of binomial
    likelihood ratios over a uniform prior, which have a closed form.

    The values have to have the same mean given those before: one value a base instance, in shuffled order.
    """

    def __init__(self, error_rate: float, low: float = 0.0, high: float = 1.0) -> None:
        """Begin with no value.

        Args:
            error_rate: probability of ever excluding the true mean, in (0, 1).
            low: least possible value.
            high: greatest possible value.

        Raises:
            ValueError: the error rate or the bounds are impossible.
        """
        if not 0.0 < error_rate < 1.0:
            raise ValueError(f"error_rate: got {error_rate}, expected a number between 0 and 1")
        if not low < high:
            raise ValueError(f"bounds: got [{low}, {high}], expected low below high")
        self.error_rate = error_rate
        self._bounds = low, high
        self._values: list[float] = []
        nodes, weights = np.polynomial.legendre.leggauss(NODES)
        self._bets, self._log_weights = 0.5 * (nodes + 1.0), np.log(0.5 * weights)
        self._low, self._high = 0.0, 1.0

    def update(self, value: float) -> None:
        """Take the next value.

        Raises:
            ValueError: it is out of bounds.
        """
        low, high = self._bounds
        if not low <= value <= high:
            raise ValueError(f"value: got {value}, expected one in [{low}, {high}]")
        self._values.append((value - low) / (high - low))
        x = np.array(self._values)
        self._low = self._above(x, self._low)
        self._high = 1.0 - self._above(1.0 - x, 1.0 - self._high)

    @property
    def number(self) -> int:
        """Number of values so far."""
        return len(self._values)

    @property
    def interval(self) -> tuple[float, float]:
        """The confidence sequence: it holds the mean at all times together with probability 1 - error_rate."""
        low, high = self._bounds
        return low + (high - low) * self._low, low + (high - low) * self._high

    def rejects(self, mean: float) -> bool:
        """Return whether this mean is excluded."""
        low, high = self.interval
        return not low <= mean <= high

    def _above(self, x: np.ndarray, known: float) -> float:
        """Return the mean up to which the capital on higher values has ever reached 2 / error_rate."""
        wanted = np.log(2.0 / self.error_rate)

        def excess(m: float) -> float:
            return self._log_capital(x, m) - wanted

        # The capital on values above m falls with m.
        start = max(known, 1e-12)
        if excess(start) < 0.0:
            return known
        end = 1.0 - 1e-12
        if excess(end) >= 0.0:
            return end
        # Every command imports this module, and scipy.optimize takes longer to import than the rest of most commands.
        from scipy.optimize import brentq

        return float(brentq(excess, start, end, xtol=1e-10))

    def _log_capital(self, x: np.ndarray, m: float) -> float:
        gains = np.log1p(self._bets[:, None] * (x / m - 1.0)).sum(axis=1) + self._log_weights
        return float(np.logaddexp.reduce(gains))
