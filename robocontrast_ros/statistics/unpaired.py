"""The difference of two means over independent groups, from the interval of each.

Zou and Donner (2008) call it MOVER; for two shares with Wilson's intervals it is Newcombe's method 10 (1998).
"""

from __future__ import annotations

import math

from robocontrast_ros.statistics.estimate import NO_ESTIMATE, Estimate


def unpaired_difference(a: Estimate, b: Estimate) -> Estimate:
    """Return the first mean minus the second, with an interval at the confidence of theirs.

    Args:
        a: mean over one group, with its interval.
        b: mean over another group that shares no instance with it.

    Returns:
        The difference; without interval if one of the two has none; empty if one has no mean.
    """
    if a.mean is None or b.mean is None:
        return NO_ESTIMATE
    mean = a.mean - b.mean
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return Estimate(mean)
    below, above = math.hypot(a.mean - a.low, b.high - b.mean), math.hypot(a.high - a.mean, b.mean - b.low)
    return Estimate(mean, mean - below, mean + above)
