"""Shares of successes among independent trials, with intervals.

Independent means that no two trials share a base instance: for a contrast set, or with repeats, use
``clusters.cluster_mean``.
"""

from __future__ import annotations

import math

from scipy import special

from robocontrast_ros.statistics.estimate import CONFIDENCE, NO_ESTIMATE, Estimate


def wilson(successes: int, trials: int, confidence: float = CONFIDENCE) -> Estimate:
    """Return the share and the score interval (Wilson 1927, without continuity correction).

    Its coverage is the stated one on average over shares. Without a trial there is no estimate.

    Raises:
        ValueError: there are not 0 to ``trials`` successes.
    """
    if not _is_any(successes, trials):
        return NO_ESTIMATE
    z, n, share = special.ndtri(0.5 + 0.5 * confidence), trials, successes / trials
    scale = 2 * (n + z**2)
    centre, reach = (2 * n * share + z**2) / scale, z / scale * math.sqrt(4 * n * share * (1 - share) + z**2)
    low = float(centre - reach) if successes else 0.0
    return Estimate(share, low, float(centre + reach) if successes < trials else 1.0)


def clopper_pearson(successes: int, trials: int, confidence: float = CONFIDENCE) -> Estimate:
    """Return the share and the exact interval (Clopper and Pearson 1934).

    Its coverage is at least the stated one for every share, so it is wider than Wilson's.

    Raises:
        ValueError: there are not 0 to ``trials`` successes.
    """
    if not _is_any(successes, trials):
        return NO_ESTIMATE
    tail, failures = (1 - confidence) / 2, trials - successes
    low = float(special.betaincinv(successes, failures + 1, tail)) if successes else 0.0
    high = float(special.betaincinv(successes + 1, failures, 1 - tail)) if failures else 1.0
    return Estimate(successes / trials, low, high)


def _is_any(successes: int, trials: int) -> bool:
    """Return whether there is a trial."""
    if not 0 <= successes <= trials:
        raise ValueError(f"successes: got {successes}, expected 0 to {trials}")
    return trials > 0
