"""Tests of equivalence, two one-sided ones (TOST; Schuirmann 1987), and a test of harm.

Base instances are independent, not trials. A mean difference is shown to be above ``-margin`` by two tests, of which
the worse p-value counts:

- the *score* test, which inverts Wilson's interval with the effective sample size (``statistics.clusters``). It takes
  the spread from the data, so it is too sure if outcomes hardly ever change;
- the *binomial* test for that case. With a mean of ``-margin``, the share of instances that lose is the share that
  gains plus ``margin``. With the observed share that gains, the number of those that lose is binomial.

If none of n instances changes, the p-value is (1 - margin)^n. No valid test has a smaller one, because n instances show
no change that often although a share ``margin`` of all instances is harmed. The interval is the wider of both at each
end, so that p < 0.05 means that the 90 % interval lies inside the margin, and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from robocontrast_ros.statistics.clusters import differences, effective_size, paired_difference
from robocontrast_ros.statistics.estimate import CONFIDENCE, Estimate

INNER = 0.90
"""Confidence level of the interval that lies inside the margin if two one-sided tests at 5 % reject: 1 - 2 * 5 %."""


CAUTION = 0.5
"""Caution of the effective sample size, as in ``clusters.paired_difference``."""


@dataclass(frozen=True)
class Equivalence:
    """The result of two one-sided tests.

    Attributes:
        margin: the largest mean difference that does not matter, in either direction.
        p_value: p-value of the hypothesis that the mean difference is ``margin`` or more, or ``-margin`` or less; None
            with fewer than two instances.
        p_not_worse: p-value of the hypothesis that it is ``-margin`` or less: this test shows that no loss matters,
            whatever the gain.
        difference: the mean difference with its 95 % interval.
        inner: the same with its 90 % interval, which the tests use.
        instances: number of base instances.
    """

    margin: float
    p_value: float | None
    p_not_worse: float | None
    difference: Estimate
    inner: Estimate
    instances: int


def equivalence(a: ArrayLike, b: ArrayLike, clusters: ArrayLike | None = None, *, margin: float) -> Equivalence:
    """Test whether the mean of a - b is nearer to 0 than a margin.

    Args:
        a: scores between 0 and 1, shape (n,).
        b: scores of the same trials, in the same order, shape (n,).
        clusters: the base instance of each pair, shape (n,); each pair is its own if left out.
        margin: the margin, in (0, 1).

    Raises:
        ValueError: as ``clusters.paired_difference``, or the margin is out of bounds.
    """
    if not 0.0 < margin < 1.0:
        raise ValueError(f"margin: got {margin}, expected a number between 0 and 1")
    d = differences(a, b)
    labels = np.arange(len(d)) if clusters is None else np.asarray(clusters)
    intervals = [_interval(d, labels, confidence) for confidence in (CONFIDENCE, INNER)]
    number = len(np.unique(labels))
    if number < 2:
        return Equivalence(margin, None, None, *intervals, number)
    not_worse, not_better = _p_value(d, labels, margin), _p_value(-d, labels, margin)
    return Equivalence(margin, max(not_worse, not_better), not_worse, *intervals, number)


def harm(a: ArrayLike, b: ArrayLike, clusters: ArrayLike, rng: np.random.Generator) -> float | None:
    """Return the p-value of the hypothesis that the mean of a - b is 0 or more; None without a pair.

    It is the one-sided form of ``decisions.paired_bootstrap``: with one pair an instance, and successes, the exact sign
    test. The least p-value with n instances is 1 / 2^n.

    Args:
        a: scores, shape (n,).
        b: scores of the same trials, in the same order.
        clusters: the base instance of each pair, shape (n,).
        rng: generator of the draws.
    """
    # It imports scipy.stats, which takes long.
    from robocontrast_ros.statistics.decisions import paired_bootstrap

    decision = paired_bootstrap(a, b, clusters, rng)
    if decision.p_value is None or decision.difference.mean is None:
        return None
    half = 0.5 * decision.p_value
    return half if decision.difference.mean < 0.0 else 1.0 - half


def _interval(d: NDArray[np.float64], labels: NDArray[np.generic], confidence: float) -> Estimate:
    """Return the mean difference with the interval of both tests."""
    found = paired_difference(d, np.zeros(len(d)), labels, confidence)
    if found.mean is None or found.low is None or found.high is None:
        return found
    number, alpha = len(np.unique(labels)), 0.5 - confidence / 2
    lost, gained = _shares(d, labels)
    low, high = gained - _most(lost, number, alpha), _most(gained, number, alpha) - lost
    return Estimate(found.mean, min(found.low, low), max(found.high, high))


def _p_value(d: NDArray[np.float64], labels: NDArray[np.generic], margin: float) -> float:
    """Return the p-value of the hypothesis that the mean difference is ``-margin`` or less."""
    _, group = np.unique(labels, return_inverse=True)
    x, bound = 0.5 * (1.0 + d), 0.5 * (1.0 - margin)
    sizes = np.bincount(group)
    size = effective_size(np.bincount(group, x), np.bincount(group, x**2), sizes, caution=CAUTION)
    score = float(special.ndtr((bound - np.mean(x)) * np.sqrt(size / (bound * (1.0 - bound)))))
    lost, gained = _shares(d, labels)
    return max(score, _at_most(lost, len(sizes), margin + gained))


def _shares(d: NDArray[np.float64], labels: NDArray[np.generic]) -> tuple[float, float]:
    """Return the shares of instances that lose and that gain; one counts in part if only some of its trials do."""
    _, group = np.unique(labels, return_inverse=True)
    sums = np.bincount(group, d) / len(d)
    return float(np.sum(np.maximum(-sums, 0.0))), float(np.sum(np.maximum(sums, 0.0)))


def _at_most(seen: float, number: int, share: float) -> float:
    """Return the probability of at most this share among ``number`` instances; the count need not be a whole number."""
    if seen >= 1.0 - 1e-12:
        return 1.0
    return float(special.betainc(number * (1.0 - seen), number * seen + 1.0, max(0.0, 1.0 - share)))


def _most(seen: float, number: int, alpha: float) -> float:
    """Return the share for which ``_at_most`` is alpha: the upper limit of Clopper and Pearson (1934)."""
    if seen >= 1.0 - 1e-12:
        return 1.0
    return float(special.betaincinv(number * seen + 1.0, number * (1.0 - seen), 1.0 - alpha))
