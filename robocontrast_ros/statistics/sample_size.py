"""Sample size for a target half-width of an interval, if further instances resemble those that were run."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robocontrast_ros.statistics.clusters import cluster_mean


def further_instances(values: ArrayLike, clusters: ArrayLike, half_width: float) -> int | None:
    """Return the number of further base instances for which ``cluster_mean``'s interval is no wider than ± half_width.

    Further instances are assumed to have as many trials, and to differ as much, as those that were run. With few
    instances this is a rough guess.

    Returns:
        The number; 0 if the interval is narrow enough already, None if fewer than two instances were run.

    Raises:
        ValueError: the half-width is not positive.
    """
    if not half_width > 0.0:
        raise ValueError(f"half_width: got {half_width}, expected a positive number")
    number = len(np.unique(np.asarray(clusters)))
    if number < 2:
        return None

    def narrow(n: int) -> bool:
        width = cluster_mean(values, clusters, times=n / number).half_width
        return width is not None and width <= half_width

    few, enough = number, number
    while not narrow(enough):
        few, enough = enough, 2 * enough
    while enough - few > 1:
        middle = (few + enough) // 2
        few, enough = (few, middle) if narrow(middle) else (middle, enough)
    return enough - number
