"""Shares of successes among independent trials, with intervals.

Independent means that no two trials share a base instance: for a contrast set, or with repeats, take
``clusters.cluster_mean``.
"""

from __future__ import annotations

from scipy import stats

from robocontrast_ros.statistics.estimate import CONFIDENCE, NO_ESTIMATE, Estimate


def wilson(successes: int, trials: int, confidence: float = CONFIDENCE) -> Estimate:
    """Return the share and the score interval (Wilson 1927, without continuity correction).

    Its coverage is the stated one on average over shares. Without a trial there is no estimate.

    Raises:
        ValueError: there are not 0 to ``trials`` successes.
    """
    return _share(successes, trials, confidence, "wilson")


def clopper_pearson(successes: int, trials: int, confidence: float = CONFIDENCE) -> Estimate:
    """Return the share and the exact interval (Clopper and Pearson 1934).

    Its coverage is at least the stated one for every share, so it is wider than Wilson's.

    Raises:
        ValueError: there are not 0 to ``trials`` successes.
    """
    return _share(successes, trials, confidence, "exact")


def _share(successes: int, trials: int, confidence: float, method: str) -> Estimate:
    if not trials:
        return NO_ESTIMATE
    interval = stats.binomtest(successes, trials).proportion_ci(confidence, method=method)
    return Estimate(successes / trials, float(interval.low), float(interval.high))
