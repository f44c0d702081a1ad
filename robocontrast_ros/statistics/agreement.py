"""Agreement of two judges about the same trials: Cohen's kappa (1960), with whole base instances as independent units.

Kappa is the share of agreement beyond chance, which two judges with these shares of successes would reach without
looking: kappa = (agreement - chance) / (1 - chance) = 1 - disagreement / expected disagreement.

The interval is that of ``clusters.cluster_mean`` for the share of disagreement, with the effective number of trials of
kappa in place of the share's: each trial counts by its influence on kappa, also through the expected disagreement. So
the uncertainty of the judges' shares is in the interval. With one trial an instance, the influences have the variance
of Fleiss, Cohen and Everitt (1969). Two judges who agree about every trial have an interval, as all successes have one,
and it is wide if one of the categories is rare.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocontrast_ros.statistics.clusters import cluster_mean, effective_size, wilson_ends
from robocontrast_ros.statistics.estimate import CONFIDENCE, NO_ESTIMATE, Estimate


@dataclass(frozen=True)
class JudgeAgreement:
    """The agreement of two judges about the same trials.

    Attributes:
        table: number of trials by verdict of the first judge (row) and of the second (column); index 0 is no, 1 is yes.
        observed: the share of trials about which they agree, with its interval.
        expected: the share of agreement by chance of two judges with these shares of yes; None without a trial.
        kappa: Cohen's. Empty if it is undefined: without a trial, and if ``expected`` is 1, because both judges give
            every trial the same verdict. Without interval if there are fewer than two clusters.
    """

    table: tuple[tuple[int, int], tuple[int, int]]
    observed: Estimate
    expected: float | None
    kappa: Estimate


def agreement(
    first: ArrayLike, second: ArrayLike, clusters: ArrayLike, confidence: float = CONFIDENCE
) -> JudgeAgreement:
    """Return the agreement of two judges about the success of trials.

    Args:
        first: verdicts of the first judge, shape (n,); False and True, or 0 and 1.
        second: verdicts of the second judge on the same trials, in the same order, shape (n,).
        clusters: the base instance of each trial, shape (n,); any labels.
        confidence: confidence level of the intervals.

    Raises:
        ValueError: a verdict is neither 0 nor 1 (leave out trials that one of them did not judge), or the arrays are
            not of one length.
    """
    a, b, labels = _verdicts("first", first), _verdicts("second", second), np.asarray(clusters)
    if a.ndim != 1 or not a.shape == b.shape == labels.shape:
        raise ValueError(f"got {a.shape} first, {b.shape} second and {labels.shape} clusters, expected one shape (n,)")
    (no_no, no_yes), (yes_no, yes_yes) = np.bincount(2 * a + b, minlength=4).reshape(2, 2).tolist()
    table = (no_no, no_yes), (yes_no, yes_yes)
    if not len(a):
        return JudgeAgreement(table, NO_ESTIMATE, None, NO_ESTIMATE)
    n, first_yes, second_yes = len(a), yes_no + yes_yes, no_yes + yes_yes
    # Pairs of a trial of each judge, as whole numbers, so that rounding loses neither 0 nor the exchange of judges.
    unequal = first_yes * (n - second_yes) + (n - first_yes) * second_yes
    observed = cluster_mean(a == b, labels, confidence)
    kappa = _kappa(a, b, labels, unequal, confidence) if unequal else NO_ESTIMATE
    return JudgeAgreement(table, observed, 1.0 - unequal / n**2, kappa)


def _kappa(a: NDArray[np.int64], b: NDArray[np.int64], labels: NDArray, unequal: int, confidence: float) -> Estimate:
    n = len(a)
    expected, disagreement = unequal / n**2, float(np.mean(a != b))
    ratio = n * int(np.sum(a != b)) / unequal
    kappa = 1.0 - ratio
    _, group = np.unique(labels, return_inverse=True)
    if group.max() < 1:
        return Estimate(kappa)
    p, q = float(np.mean(a)), float(np.mean(b))
    # Disagreement in units of the expected one, less the trial's own addition to that.
    influence = (a != b) - ratio * ((1.0 - 2.0 * q) * (a - p) + (1.0 - 2.0 * p) * (b - q))
    sums, squares = np.bincount(group, influence), np.bincount(group, influence**2)
    size = effective_size(sums, squares, np.bincount(group), caution=1.0)
    least, greatest = (float(end) for end in wilson_ends(disagreement, size, confidence))
    low, high = 1.0 - greatest / expected, 1.0 - least / expected
    # Rounding must not put the ends beyond kappa.
    return Estimate(kappa, max(-1.0, min(kappa, low)), min(1.0, max(kappa, high)))


def _verdicts(name: str, values: ArrayLike) -> NDArray[np.int64]:
    """Return verdicts as 0 and 1, shape (n,).

    Raises:
        ValueError: one is neither.
    """
    given = np.asarray(values)
    wrong = [value for value in given.ravel().tolist() if value not in (0, 1)]
    if wrong:
        raise ValueError(f"{name}: got {wrong[0]!r}, expected verdicts of 0 or 1; leave out what was not judged")
    return given.astype(np.int64)
