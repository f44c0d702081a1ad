"""How much more it takes until an interval is as narrow as wanted, if what comes is like what came."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from robocontrast_ros.statistics.clusters import UNIT, cluster_mean
from robocontrast_ros.statistics.estimate import CONFIDENCE, Estimate
from robocontrast_ros.statistics.proportions import wilson


def trials_for_half_width(
    values: ArrayLike,
    clusters: ArrayLike,
    half_width: float,
    confidence: float = CONFIDENCE,
    *,
    bounds: tuple[float, float] | None = UNIT,
) -> int | None:
    """Return how many further base instances it takes until ``cluster_mean`` is no wider than ± half_width.

    Further instances are taken to have as many trials, and to differ as much, as those that were run. The more of them
    were run, the better is that known.

    Returns:
        0 where it is as narrow already; None where fewer than two instances were run.

    Raises:
        ValueError: the half-width is not positive.
    """
    number = len(np.unique(np.asarray(clusters)))
    if number < 2:
        return None
    return _further(
        number,
        half_width,
        lambda n: cluster_mean(values, clusters, confidence, bounds=bounds, times=n / number),
    )


def trials_for_wilson(successes: int, trials: int, half_width: float, confidence: float = CONFIDENCE) -> int:
    """Return how many further trials it takes until Wilson's interval is no wider than ± half_width.

    The share of successes is taken to stay; without a trial it is taken to be a half, which takes the most.

    Raises:
        ValueError: the half-width is not positive.
    """
    share = successes / trials if trials else 0.5
    return _further(trials, half_width, lambda n: wilson(round(share * n), n, confidence))


def _further(now: int, half_width: float, interval: Callable[[int], Estimate]) -> int:
    """Return how many more than now it takes until the interval is narrow enough: doubling, then halving."""
    if not half_width > 0.0:
        raise ValueError(f"half_width: got {half_width}, expected a positive number")

    def narrow(n: int) -> bool:
        width = interval(n).half_width
        return width is not None and width <= half_width

    if narrow(now):
        return 0
    few, enough = now, max(1, now)
    while not narrow(enough):
        few, enough = enough, 2 * enough
    while enough - few > 1:
        middle = (few + enough) // 2
        few, enough = (few, middle) if narrow(middle) else (middle, enough)
    return enough - now
