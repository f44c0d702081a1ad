"""Error of an estimate against its cost (seed 000, figures 3 and 5 to 8, section B.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

BINS = 50


@dataclass(frozen=True, eq=False)
class ErrorCurve:
    """Absolute error of the running mean against cumulative cost, over runs.

    Attributes:
        edges: edges of the bins, in the unit of the costs, shape (bins + 1,).
        error: mean over runs of |running mean - target|, shape (bins,); NaN if no run reaches.
        deviation: standard deviation of the error between runs, shape (bins,); NaN with fewer than two runs.
        runs: number of runs that reach the bin, shape (bins,).
    """

    edges: NDArray[np.float64]
    error: NDArray[np.float64]
    deviation: NDArray[np.float64]
    runs: NDArray[np.int64]

    @property
    def cost(self) -> NDArray[np.float64]:
        """Centres of the bins, shape (bins,)."""
        return 0.5 * (self.edges[:-1] + self.edges[1:])


def running_means(scores: Sequence[float | None] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of all known scores up to each, shape (n,); NaN before the first."""
    values = np.array([math.nan if score is None else score for score in scores], dtype=float)
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.cumsum(np.where(known, values, 0.0)) / np.cumsum(known)


def error_curve(
    runs: Sequence[tuple[ArrayLike, ArrayLike, float]], bins: int = BINS, end: float | None = None
) -> ErrorCurve:
    """Return the curve of several runs, such as a strategy's with several seeds.

    Bins are of equal width from 0 to the greatest overall cost of all runs. In a bin, a run has the mean of the
    errors at its trials there; without a trial there, the error before the bin. After its last trial it is not
    counted.

    Args:
        runs: for each, the cumulative cost of its trials, shape (n,), their scores (NaN or None if void), shape (n,),
            and the mean to estimate.
        bins: number of bins.
        end: cost at which the last bin ends; the greatest overall cost if None.
    """
    costs = [np.asarray(cost, dtype=float) for cost, _, _ in runs]
    most = max((float(cost[-1]) for cost in costs if len(cost)), default=0.0) if end is None else end
    edges = np.linspace(0.0, most, bins + 1)
    errors = np.array(
        [
            _binned(cost, np.abs(running_means(scores) - target), edges)
            for cost, (_, scores, target) in zip(costs, runs, strict=True)
        ]
    ).reshape(len(runs), bins)
    known = ~np.isnan(errors)
    number = known.sum(axis=0)
    total = np.where(known, errors, 0.0).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total / number
        deviation = np.sqrt(np.where(known, (errors - mean) ** 2, 0.0).sum(axis=0) / (number - 1))
    return ErrorCurve(edges, mean, np.where(number > 1, deviation, np.nan), number)


def _binned(cost: NDArray[np.float64], errors: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a run's error in each bin; NaN before its first known score and after its last trial."""
    known = ~np.isnan(errors)
    cost, errors = cost[known], errors[known]
    binned = np.full(len(edges) - 1, np.nan)
    if not len(cost):
        return binned
    # A trial at an edge belongs to the bin that ends there, so that the most costly run ends in the last bin.
    where = np.maximum(np.searchsorted(edges, cost, side="left") - 1, 0)
    last = -1.0
    for i in range(len(binned)):
        inside = errors[where == i]
        if len(inside):
            binned[i], last = inside.mean(), errors[where == i][-1]
        elif where[0] < i <= where[-1]:
            binned[i] = last
    return binned
