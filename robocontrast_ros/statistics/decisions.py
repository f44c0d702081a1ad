"""Is one policy better than another? Exact tests of success, and a bootstrap of any score."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, product

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from robocontrast_ros.statistics.clusters import differences, paired_difference
from robocontrast_ros.statistics.estimate import NO_ESTIMATE, Estimate
from robocontrast_ros.statistics.proportions import wilson
from robocontrast_ros.statistics.unpaired import unpaired_difference

MCNEMAR, BOSCHLOO, PAIRED_BOOTSTRAP = "McNemar", "Boschloo", "paired bootstrap"
"""Names of the tests."""

RESAMPLES = 9999
MOST_DRAWN = 20_000_000
"""Signs that are drawn at once, 160 MB."""
ENUMERATED = 12
"""Clusters up to which every assignment of signs is enumerated (4096 of them)."""


@dataclass(frozen=True)
class Decision:
    """The result of a test of two policies.

    Attributes:
        name: name of the test.
        p_value: two-sided; None if there is nothing to test.
        difference: the first policy's mean minus the second's.
        n: number of pairs, or of trials of both policies together if they are not paired.
    """

    name: str
    p_value: float | None
    difference: Estimate
    n: int


def mcnemar(a: ArrayLike, b: ArrayLike) -> Decision:
    """Return McNemar's test (1947) of paired successes in its exact form; pairs have to be independent of each other.

    Args:
        a: whether the first policy succeeded, 0 or 1, shape (n,).
        b: the same for the second, in the same order.
    """
    d = differences(a, b)
    if not len(d):
        return Decision(MCNEMAR, None, NO_ESTIMATE, 0)
    only_first, only_second = int(np.sum(d > 0.0)), int(np.sum(d < 0.0))
    p = stats.binomtest(only_first, only_first + only_second).pvalue if only_first + only_second else 1.0
    return Decision(MCNEMAR, float(p), paired_difference(a, b), len(d))


def boschloo(s1: int, n1: int, s2: int, n2: int) -> Decision:
    """Return Boschloo's exact test (1970): s1 successes of n1 trials against s2 of n2, all independent."""
    if not (n1 and n2):
        return Decision(BOSCHLOO, None, NO_ESTIMATE, n1 + n2)
    p = stats.boschloo_exact(np.array([[s1, s2], [n1 - s1, n2 - s2]])).pvalue
    # Newcombe's hybrid of the two Wilson intervals (1998), his method 10.
    difference = unpaired_difference(wilson(s1, n1), wilson(s2, n2))
    # If all trials, or none, succeeded, there is no evidence of a difference; scipy gives NaN then.
    return Decision(BOSCHLOO, 1.0 if np.isnan(p) else float(p), difference, n1 + n2)


def paired_bootstrap(a: ArrayLike, b: ArrayLike, clusters: ArrayLike, rng: np.random.Generator) -> Decision:
    """Return the wild cluster bootstrap-t of mean a - b against 0 (Cameron, Gelbach and Miller 2008).

    The differences of whole clusters change sign together. Up to 12 clusters, every assignment of signs is
    enumerated; with more of them, 9999 are drawn.

    Args:
        a: scores of the first policy, shape (n,).
        b: scores of the second on the same trials, in the same order.
        clusters: the base instance of each pair, shape (n,).
        rng: generator of the draws.
    """
    difference = paired_difference(a, b, clusters)
    d = differences(a, b)
    _, group = np.unique(np.asarray(clusters), return_inverse=True)
    if not len(d):
        return Decision(PAIRED_BOOTSTRAP, None, difference, 0)
    sums, sizes = np.bincount(group, d), np.bincount(group).astype(float)
    number = len(sums)
    if number <= ENUMERATED:
        parts = [np.array(list(product((1.0, -1.0), repeat=number)))]
    else:
        parts = chain([np.ones((1, number))], _drawn_signs(number, rng))
    statistic = np.concatenate([_studentised(signs * sums, sizes) for signs in parts])
    p = float(np.mean(statistic >= statistic[0] * (1.0 - 1e-9)))
    return Decision(PAIRED_BOOTSTRAP, p, difference, len(d))


def _drawn_signs(number: int, rng: np.random.Generator) -> Iterator[NDArray[np.float64]]:
    """Yield 9999 rows of signs, shape (k, number), in as many parts as memory needs."""
    rows = max(1, MOST_DRAWN // number)
    for begin in range(0, RESAMPLES, rows):
        yield rng.choice((1.0, -1.0), (min(rows, RESAMPLES - begin), number))


def _studentised(sums: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return |mean| / its standard error for each row of cluster sums, shape (k, clusters)."""
    mean = sums.sum(axis=1) / sizes.sum()
    residual = sums - mean[:, None] * sizes
    # A row without spread has an infinite statistic, or 0 at a mean of 0.
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(np.abs(mean) / np.sqrt(np.sum(residual**2, axis=1)), nan=0.0, posinf=np.inf)
