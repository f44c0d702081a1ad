"""Slope of a score with a property of the scenes, with an interval from a bootstrap of whole clusters.

The interval is Student's, with the standard deviation of the bootstrap's slopes and one degree of freedom less than
clusters: with few clusters the bootstrap's percentiles cover the true slope less often than stated.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocontrast_ros.statistics.clusters import student_quantile
from robocontrast_ros.statistics.estimate import CONFIDENCE, NO_ESTIMATE, Estimate

RESAMPLES = 1999

VARIES = 1e-12
"""Share of the sum of squares of x that has to be within strata for x to vary there."""

UNDEFINED = 0.05
"""Share of the draws without variation of x above which there is no interval."""


def cluster_slope(
    x: ArrayLike,
    y: ArrayLike,
    clusters: ArrayLike,
    rng: np.random.Generator,
    strata: ArrayLike | None = None,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Return the slope of the least-squares line of y over x, with the interval of a cluster bootstrap.

    Args:
        x: property of each trial's scene, shape (n,).
        y: score of each trial, shape (n,).
        clusters: the base instance of each trial, shape (n,); whole instances are drawn with replacement.
        rng: generator of the draws.
        strata: label of each trial, shape (n,); x and y are centred within each stratum of each draw, so that
            differences between strata have no part in the slope. One stratum if left out.
        confidence: confidence level of the interval.

    Returns:
        The slope, in units of y over units of x; without interval if there are fewer than two clusters or too few for x
        to vary in the draws, and empty if x does not vary within any stratum.

    Raises:
        ValueError: the arrays are not of one length.
    """
    a, b, labels = np.asarray(x, dtype=float), np.asarray(y, dtype=float), np.asarray(clusters)
    parts = np.zeros(len(a), dtype=int) if strata is None else np.unique(np.asarray(strata), return_inverse=True)[1]
    if not a.shape == b.shape == labels.shape == parts.shape:
        raise ValueError(
            f"got {len(a)} x, {len(b)} y, {len(labels)} clusters and {len(parts)} strata, expected as many"
        )
    if not len(a):
        return NO_ESTIMATE
    _, group = np.unique(labels, return_inverse=True)
    number, kinds = int(group.max()) + 1, int(parts.max()) + 1
    # Around the mean, rounding is smallest; the slope does not depend on it.
    a, b = a - a.mean(), b - b.mean()
    sums = np.stack(
        [
            np.bincount(group * kinds + parts, weights, number * kinds).reshape(number, kinds)
            for weights in (np.ones_like(a), a, b, a * a, a * b)
        ]
    )
    least = VARIES * max(float(np.sum(a * a)), 1e-300)
    slope = float(slopes_of(sums.sum(axis=1), least))
    if np.isnan(slope):
        return NO_ESTIMATE
    if number < 2:
        return Estimate(slope)
    drawn = rng.multinomial(number, np.full(number, 1.0 / number), RESAMPLES).astype(float)
    slopes = slopes_of(np.stack([drawn @ part for part in sums]), least)
    known = slopes[~np.isnan(slopes)]
    if len(known) < (1.0 - UNDEFINED) * RESAMPLES:
        return Estimate(slope)
    reach = float(student_quantile(0.5 + confidence / 2, number - 1) * np.std(known))
    return Estimate(slope, slope - reach, slope + reach)


def slopes_of(sums: NDArray[np.float64], least: float) -> NDArray[np.float64]:
    """Return slopes from the sums of 1, x, y, x^2 and xy over trials.

    Args:
        sums: shape (5, ..., strata).
        least: sum of squares of x from which x counts as varying.

    Returns:
        Shape (...); NaN if x does not vary.
    """
    n, x, y, xx, xy = sums
    many = np.maximum(n, 1.0)
    across, along = np.sum(xy - x * y / many, axis=-1), np.sum(xx - x * x / many, axis=-1)
    return np.where(along > least, across / np.where(along > least, along, 1.0), np.nan)
