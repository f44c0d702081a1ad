"""Means of scores whose trials share base instances: whole instances are the independent units."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from robocontrast_ros.statistics.estimate import CONFIDENCE, NO_ESTIMATE, Estimate

UNIT = (0.0, 1.0)
"""Bounds of every score: success, SPL, progress, nDTW."""


def cluster_mean(
    values: ArrayLike,
    clusters: ArrayLike,
    confidence: float = CONFIDENCE,
    *,
    bounds: tuple[float, float] | None = UNIT,
) -> Estimate:
    """Return the mean over all values, with an interval that takes clusters, not values, as independent.

    Args:
        values: shape (n,).
        clusters: the base instance of each value, shape (n,); any labels.
        confidence: of the interval.
        bounds: what no value can be below or above; None where there are no such bounds.

    Returns:
        The mean; without interval where there are fewer than two clusters.
    """
    y = np.asarray(values, dtype=float)
    if not len(y):
        return NO_ESTIMATE
    _, group = np.unique(np.asarray(clusters), return_inverse=True)
    sums, sizes = np.bincount(group, y), np.bincount(group).astype(float)
    mean = float(np.mean(y))
    if len(sums) < 2:
        return Estimate(mean)
    shares = sizes / sizes.sum()
    residuals = (sums - sizes * mean) / np.sqrt(1.0 - shares)
    error = np.sqrt(np.sum(residuals**2)) / sizes.sum()
    reach = stats.t.ppf(0.5 + confidence / 2, len(sums) - 1) * error
    low, high = mean - reach, mean + reach
    if bounds is not None:
        low, high = max(low, bounds[0]), min(high, bounds[1])
    return Estimate(mean, float(low), float(high))


def paired_difference(
    a: ArrayLike,
    b: ArrayLike,
    clusters: ArrayLike | None = None,
    confidence: float = CONFIDENCE,
    *,
    bounds: tuple[float, float] | None = (-1.0, 1.0),
) -> Estimate:
    """Return the mean of a - b, pair by pair, with its interval.

    Args:
        a: scores, shape (n,).
        b: scores of the same trials, in the same order, shape (n,).
        clusters: the base instance of each pair, shape (n,); every pair its own when left out.
        confidence: of the interval.
        bounds: what no difference can be below or above; None where there are no such bounds.
    """
    difference = _paired(a, b)
    return cluster_mean(
        difference, np.arange(len(difference)) if clusters is None else clusters, confidence, bounds=bounds
    )


def _paired(a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    first, second = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if first.shape != second.shape:
        raise ValueError(f"a and b have to be pairs: got {len(first)} and {len(second)} values")
    return first - second
