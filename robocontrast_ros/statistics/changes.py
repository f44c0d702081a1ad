"""Difference in differences: the loss of a policy by a perturbation beyond the loss of a control."""

from __future__ import annotations

from numpy.typing import ArrayLike

from robocontrast_ros.statistics.clusters import differences, paired_difference
from robocontrast_ros.statistics.estimate import Estimate


def difference_in_differences(first: ArrayLike, second: ArrayLike, clusters: ArrayLike | None = None) -> Estimate:
    """Return the mean of the first change minus the second, instance by instance, with its interval.

    It is twice the interval of half the difference, which lies between -1 and 1 like any paired difference. So its
    caution is that of two scores; with four scores the interval is wider than necessary.

    Args:
        first: change of a score from the base trials, in [-1, 1], of each base instance, shape (n,).
        second: change of the control, of the same instances in the same order, shape (n,).
        clusters: the independent unit of each instance, shape (n,); every instance is its own if left out.

    Returns:
        A mean and ends between -2 and 2; without interval if there are fewer than two instances.

    Raises:
        ValueError: they are not of one length, or a change is out of bounds.
    """
    half = 0.5 * differences(first, second)
    found = paired_difference(half, [0.0] * len(half), clusters)
    return Estimate(*(None if end is None else 2.0 * end for end in (found.mean, found.low, found.high)))
