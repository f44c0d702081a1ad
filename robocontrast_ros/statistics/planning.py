"""How much more it takes until an interval is as narrow as wanted, if what comes is like what came."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robocontrast_ros.statistics.clusters import cluster_mean
from robocontrast_ros.statistics.estimate import CONFIDENCE
from robocontrast_ros.statistics.proportions import wilson

MOST = 10_000_000


def trials_for_half_width(
    values: ArrayLike, clusters: ArrayLike, half_width: float, confidence: float = CONFIDENCE
) -> int | None:
    """Return how many further base instances it takes until ``cluster_mean`` is no wider than ± half_width.

    Further instances are taken to have as many trials, and to differ as much, as those that were run.

    Returns:
        0 where it is as narrow already; None where fewer than two instances were run.
    """
    group = np.unique(np.asarray(clusters), return_inverse=True)[1]
    number = int(group.max()) + 1 if len(group) else 0
    now = cluster_mean(values, clusters, confidence).half_width
    if number < 2 or now is None:
        return None
    return max(0, int(np.ceil(number * (now / half_width) ** 2)) - number)


def trials_for_wilson(successes: int, trials: int, half_width: float, confidence: float = CONFIDENCE) -> int:
    """Return how many further trials it takes until Wilson's interval is no wider than ± half_width.

    The share of successes is taken to stay; without a trial it is taken to be a half, which takes the most.
    """
    share = successes / trials if trials else 0.5

    def wide(n: int) -> bool:
        width = wilson(round(share * n), n, confidence).half_width if n else None
        return width is None or width > half_width

    low, high = trials, max(1, trials)
    if not wide(low):
        return 0
    while wide(high):
        high *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if wide(middle) else (low, middle)
    return high - trials
