"""Means of scores whose trials share base instances: whole instances are the independent units.

The interval is Student's, with the cluster-robust variance CR2 and the degrees of freedom of Bell and McCaffrey (2002),
after one imaginary cluster has been added at either bound of the scores. That is for clusters what Agresti and
Coull (1998) and, for paired differences, Agresti and Min (2005) do for single trials. It keeps intervals honest
where few instances were run or no trial failed: without it, twelve successes out of twelve would have an interval of
width 0. docs/statistics.md has the coverage that was measured, and that of the usual bootstraps beside it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from robocontrast_ros.statistics.estimate import CONFIDENCE, NO_ESTIMATE, Estimate

UNIT = (0.0, 1.0)
"""Bounds of every score: success, SPL, progress, nDTW."""

DIFFERENCES = (-1.0, 1.0)
"""Bounds of the difference of two scores."""

DESIGN_EFFECT_RISK = 0.05
"""Probability with which the trials of a cluster may resemble one another more than is reckoned with."""


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
        confidence: of the interval.
        bounds: what no value can be below or above; None where there are no such bounds, and then no imaginary
            cluster is added.
        times: gives the interval as it would be if so many times as many such clusters had been seen.

    Returns:
        The mean; without interval where there are fewer than two clusters.

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
    sums, sizes = np.bincount(group, y), np.bincount(group).astype(float)
    # Rounding must not put the mean of equal values beyond them.
    mean = float(np.clip(np.mean(y), y.min(), y.max()))
    if len(sums) < 2:
        return Estimate(mean)
    often = np.full(len(sums), times)
    if bounds is not None:
        size = _pseudo_weight(y, sums, sizes, bounds, times) * sizes.mean()
        sums, sizes = np.append(sums, (low * size, high * size)), np.append(sizes, (size, size))
        often = np.append(often, (1.0, 1.0))
    centre, error = cr2(sums, sizes, often)
    reach = stats.t.ppf(0.5 + confidence / 2, bell_mccaffrey(sizes, often)) * error
    return Estimate(
        mean, float(min(mean, max(low, centre - reach))), float(max(mean, min(high, centre + reach)))
    )


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
        clusters: the base instance of each pair, shape (n,); every pair its own when left out.
        confidence: of the interval.
        bounds: what no difference can be below or above; None where there are no such bounds.

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


def cr2(
    sums: NDArray[np.float64], sizes: NDArray[np.float64], often: NDArray[np.float64]
) -> tuple[float, float]:
    """Return mean and standard error by the cluster-robust variance CR2 (Bell and McCaffrey 2002).

    With clusters of one value each it is the sample's standard deviation over the root of n.

    Args:
        sums: of the values of each cluster, shape (g,).
        sizes: number of values of each, shape (g,).
        often: how often there is such a cluster, shape (g,).
    """
    total = often @ sizes
    mean = often @ sums / total
    residuals = (sums - sizes * mean) / np.sqrt(1.0 - sizes / total)
    return float(mean), float(np.sqrt(often @ residuals**2) / total)


def bell_mccaffrey(sizes: NDArray[np.float64], often: NDArray[np.float64]) -> float:
    """Return the degrees of freedom of CR2's variance (Satterthwaite), as if a cluster's values were all the same.

    They are the number of clusters less 1 where all are of one size, and fewer where some outweigh the others.

    Args:
        sizes: number of values of each cluster, shape (g,).
        often: how often there is such a cluster, shape (g,).
    """
    w = sizes / (often @ sizes)
    # The variance is a quadratic form; its matrix is diag(a) - u v' - v u' + s u u'.
    a, u, v, s = w**2 / (1.0 - w), w / np.sqrt(1.0 - w), w**2 / np.sqrt(1.0 - w), often @ w**2
    uu, uv, vv = often @ u**2, often @ (u * v), often @ v**2
    trace = often @ a - 2.0 * uv + s * uu
    square = (
        often @ a**2
        + 2.0 * often @ (a * (s * u**2 - 2.0 * u * v))
        + 2.0 * (uu * vv + uv**2)
        + (s * uu) ** 2
        - 4.0 * s * uu * uv
    )
    return float(trace**2 / square)


def _pseudo_weight(
    y: NDArray[np.float64],
    sums: NDArray[np.float64],
    sizes: NDArray[np.float64],
    bounds: tuple[float, float],
    times: float,
) -> float:
    """Return what an imaginary cluster weighs, from 1 / (values per cluster) to 1, in clusters of mean size.

    It is the weight of one value where a cluster's values are independent, and that of a whole cluster where they
    repeat one another. The design effect decides; its upper confidence bound, as few clusters say little about it.
    Scores that hardly differ, compared with bounds so far away, say nothing on whether failures would come together.
    Differences of scores need no such caution: it was measured to widen their intervals for no better coverage.
    """
    number, mean, variance = len(sums), np.mean(y), np.var(y)
    largest = (mean - bounds[0]) * (bounds[1] - mean)
    if len(y) == number or variance <= 1e-12 * (bounds[1] - bounds[0]) ** 2:
        return 1.0
    _, error = cr2(sums, sizes, np.full(number, times))
    design_effect = error**2 * (times * len(y) - 1.0) / variance
    degrees = times * number - 1.0
    design_effect *= degrees / stats.chi2.ppf(DESIGN_EFFECT_RISK, degrees)
    seen_little = 0.0 if bounds == DIFFERENCES else 1.0 - variance / largest
    return float(np.clip(max(design_effect * number / len(y), seen_little), number / len(y), 1.0))
