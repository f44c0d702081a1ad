"""Means of scores whose trials share base instances: whole instances are the independent units.

The interval is Wilson's (1927) for a share, with the number of trials replaced by the effective sample size: the number
of independent successes and failures with the same information (Kott and Carr 1997). Franco et al. (2019) compare such
intervals and recommend this one; with few clusters, they find, the plain estimate of the effective sample size is not
good enough. The estimate here is better. It also covers scores between bounds, which vary less than successes and
failures of the same mean. With one trial per instance and scores of 0 and 1, it is exactly Wilson's interval.
docs/statistics_intervals.md has the formula, docs/statistics_coverage.md the measured coverage, beside that of the
usual bootstraps.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from robocontrast_ros.statistics.estimate import CONFIDENCE, NO_ESTIMATE, Estimate

UNIT = (0.0, 1.0)
"""Bounds of every score: success, SPL, progress, nDTW."""

DIFFERENCES = (-1.0, 1.0)
"""Bounds of the difference of two scores."""


def cluster_mean(
    values: ArrayLike,
    clusters: ArrayLike,
    confidence: float = CONFIDENCE,
    *,
    bounds: tuple[float, float] | None = UNIT,
    times: float = 1.0,
) -> Estimate:
    """Return the mean over all values, with an interval that takes clusters, not values, as independent.

    Args:
        values: shape (n,).
        clusters: the base instance of each value, shape (n,); any labels.
        confidence: confidence level of the interval.
        bounds: least and greatest possible value; None if there are none (seconds, metres): then the interval is
            Student's, with the jackknife's variance and one degree of freedom less than clusters.
        times: factor on the number of such clusters for which the interval is computed.

    Returns:
        The mean; without interval if there are fewer than two clusters.

    Raises:
        ValueError: a value is out of bounds, or not finite, or there are not as many clusters as values.
    """
    y, labels = np.asarray(values, dtype=float), np.asarray(clusters)
    if y.shape != labels.shape:
        raise ValueError(f"each value has a cluster: got {len(y)} values and {len(labels)} clusters")
    if not len(y):
        return NO_ESTIMATE
    low, high = bounds or (-np.inf, np.inf)
    if not (np.all(np.isfinite(y)) and low <= y.min() and y.max() <= high):
        raise ValueError(f"values: got {y.min():g} to {y.max():g}, expected {low:g} to {high:g}")
    _, group = np.unique(labels, return_inverse=True)
    # Rounding must not put the mean of equal values beyond these values.
    mean = float(np.clip(np.mean(y), y.min(), y.max()))
    if group.max() < 1:
        return Estimate(mean)
    sizes = np.bincount(group)
    if bounds is None:
        error = jackknife_variance(np.bincount(group, y), sizes, times)
        reach = student_quantile(0.5 + confidence / 2, times * len(sizes) - 1.0) * np.sqrt(error)
        return Estimate(mean, float(mean - reach), float(mean + reach))
    scale = high - low
    x = (y - low) / scale
    # A sum of squares of 1 for each score; a difference has two scores, on a scale of twice the length.
    caution = 0.5 if bounds == DIFFERENCES else 1.0
    size = effective_size(np.bincount(group, x), np.bincount(group, x**2), sizes, caution=caution, times=times)
    ends = wilson_ends((mean - low) / scale, size, confidence)
    below, above = (low + scale * float(end) for end in ends)
    # Rounding must not put the ends beyond the mean, or the bounds.
    return Estimate(mean, max(low, min(mean, below)), min(high, max(mean, above)))


def paired_difference(
    a: ArrayLike,
    b: ArrayLike,
    clusters: ArrayLike | None = None,
    confidence: float = CONFIDENCE,
    *,
    bounds: tuple[float, float] | None = DIFFERENCES,
) -> Estimate:
    """Return the mean of a - b, pair by pair, with its interval.

    Args:
        a: scores, shape (n,).
        b: scores of the same trials, in the same order, shape (n,).
        clusters: the base instance of each pair, shape (n,); each pair is its own if left out.
        confidence: confidence level of the interval.
        bounds: least and greatest possible difference; None if there are none.

    Raises:
        ValueError: as ``cluster_mean``, or a and b are not of one length.
    """
    difference = differences(a, b)
    labels = np.arange(len(difference)) if clusters is None else clusters
    return cluster_mean(difference, labels, confidence, bounds=bounds)


def differences(a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """Return a - b, shape (n,).

    Raises:
        ValueError: they are not of one length.
    """
    first, second = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if first.shape != second.shape:
        raise ValueError(f"a and b have to be pairs: got {len(first)} and {len(second)} values")
    return first - second


def effective_size(
    sums: NDArray[np.float64],
    squares: NDArray[np.float64],
    sizes: NDArray[np.int64],
    *,
    caution: float,
    times: float = 1.0,
) -> NDArray[np.float64]:
    """Return the number of independent 0s and 1s of the same mean that would estimate it with the same variance.

    It is the number of values over the design effect and over the relative spread. Both are ratios of variances, which
    few instances estimate badly. So both are moved a little towards the cautious case: that all values of an instance
    are the same, and that values are 0 or 1.

    Args:
        sums: sum of the values of each cluster, which are in [0, 1], shape (..., g).
        squares: sum of the squared values of each cluster, shape (..., g).
        sizes: number of values of each cluster, shape (..., g).
        caution: the sum of squares that the cautious case weighs; for scores 1, the sum of squares of two 0s and two
            1s.
        times: factor on the number of such clusters.

    Returns:
        Shape (...).
    """
    total, number = np.sum(sizes, axis=-1), sums.shape[-1]
    mean, n = np.sum(sums, axis=-1) / total, times * total
    error = jackknife_variance(sums, sizes, times)
    spread = np.maximum(np.sum(squares, axis=-1) / total - mean**2, 0.0) + error
    alike = np.sum(sizes**2, axis=-1) / total
    design_effect = (n * error + caution / n * alike) / (spread + caution / n)
    return n / (design_effect * relative_spread(mean, spread, error, caution / (times * number)))


def relative_spread(mean: ArrayLike, spread: ArrayLike, error: ArrayLike, caution: float) -> NDArray[np.float64]:
    """Return the variance of values in [0, 1], divided by that of 0s and 1s of the same mean.

    Args:
        mean: mean of the values.
        spread: variance of the values.
        error: variance of their mean, by which mean (1 - mean) is too small in expectation.
        caution: added to both.
    """
    m = np.asarray(mean)
    return (np.asarray(spread) + caution) / (m * (1.0 - m) + error + caution)


def jackknife_variance(sums: NDArray[np.float64], sizes: NDArray[np.int64], times: float = 1.0) -> NDArray[np.float64]:
    """Return the variance of the mean of all values, by leaving out one cluster at a time.

    If all clusters have the same size, it is the variance of their means over their number.

    Args:
        sums: sum of the values of each cluster, shape (..., g).
        sizes: number of values of each, shape (..., g).
        times: factor on the number of such clusters.

    Returns:
        Shape (...).
    """
    total, number = np.sum(sizes, axis=-1, keepdims=True), times * sums.shape[-1]
    mean = np.sum(sums, axis=-1, keepdims=True) / total
    # Change of the mean without each cluster.
    changes = (sums - sizes * mean) / (times * total - sizes)
    return (number - 1.0) / number * times * np.sum(changes**2, axis=-1)


def wilson_ends(mean: ArrayLike, size: ArrayLike, confidence: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lower and upper ends of Wilson's interval for a share; the number of trials need not be whole.

    Args:
        mean: the share, in [0, 1], any shape.
        size: the number of trials, of the same shape.
        confidence: confidence level of the interval.
    """
    m, c = np.asarray(mean), special.ndtri(0.5 + confidence / 2) ** 2 / np.asarray(size)
    centre = (m + c / 2.0) / (1.0 + c)
    reach = np.sqrt(c * m * (1.0 - m) + c**2 / 4.0) / (1.0 + c)
    return np.clip(centre - reach, 0.0, m), np.clip(centre + reach, m, 1.0)


def student_quantile(probability: float, freedom: float) -> float:
    """Return the quantile of Student's distribution, computed as in ``scipy.stats``, which takes long to import.

    Args:
        probability: probability below it, in [0, 1].
        freedom: degrees of freedom, above 0.
    """
    return float(special.stdtrit(freedom, probability))
