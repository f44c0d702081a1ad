"""Means of scores and their differences, with intervals that fit a score's range.

A score with a finite range has Wilson's interval with an effective sample size (``statistics.clusters``); a score with
an open range has Student's over the means of test instances, which needs no bounds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from robocontrast_ros.domain import ScoreSpec
from robocontrast_ros.statistics.changes import difference_in_differences
from robocontrast_ros.statistics.clusters import cluster_mean, paired_difference
from robocontrast_ros.statistics.estimate import Estimate

if TYPE_CHECKING:
    from robocontrast_ros.statistics.decisions import Decision


def draws() -> np.random.Generator:
    """Return the generator of a bootstrap's draws, always with the same seed: the same runs give the same numbers."""
    return np.random.default_rng(0)


@dataclass(frozen=True)
class Scale:
    """The range of a score, brought to 0 to 1 for the statistics.

    Attributes:
        low: the score that becomes 0.
        width: the width that becomes 1.
    """

    low: float = 0.0
    width: float = 1.0

    @classmethod
    def of(cls, spec: ScoreSpec) -> Scale:
        """Return the scale of a score; a score with an open range has the one that changes nothing."""
        return cls(spec.low, spec.high - spec.low) if spec.bounded else cls()

    def scaled(self, values: ArrayLike) -> NDArray[np.float64]:
        """Return scores between 0 and 1."""
        return (np.asarray(values, dtype=float) - self.low) / self.width

    def mean(self, estimate: Estimate) -> Estimate:
        """Return the estimate of a mean in the score's own range."""
        return _moved(estimate, self.low, self.width)

    def difference(self, estimate: Estimate) -> Estimate:
        """Return the estimate of a difference in the score's own range."""
        return _moved(estimate, 0.0, self.width)


def _moved(estimate: Estimate, by: float, times: float) -> Estimate:
    values = (estimate.mean, estimate.low, estimate.high)
    return Estimate(*(None if value is None else by + times * value for value in values))


def score_mean(values: ArrayLike, clusters: ArrayLike, spec: ScoreSpec) -> Estimate:
    """Return the mean of a score; test instances are independent, not trials.

    Args:
        values: values of the score, shape (n,).
        clusters: the independent unit of each, shape (n,): column ``cluster`` of the table of trials.
        spec: the score.

    Raises:
        ValueError: as ``statistics.clusters.cluster_mean``.
    """
    if not spec.bounded:
        found = cluster_mean(values, clusters, bounds=None)
        if found.low is None or found.high is None:
            return found
        # No mean of a count or a distance is below 0.
        return Estimate(found.mean, max(found.low, spec.low), min(found.high, spec.high))
    scale = Scale.of(spec)
    return scale.mean(cluster_mean(scale.scaled(values), clusters))


def score_difference(a: ArrayLike, b: ArrayLike, spec: ScoreSpec, clusters: ArrayLike | None = None) -> Estimate:
    """Return the mean of a - b, pair by pair.

    Args:
        a: values of the score, shape (n,).
        b: values of the same score in the same order, shape (n,).
        spec: the score.
        clusters: the base instance of each pair, shape (n,); every pair has its own if left out.

    Raises:
        ValueError: as ``statistics.clusters.paired_difference``.
    """
    if not spec.bounded:
        return paired_difference(a, b, clusters, bounds=None)
    scale = Scale.of(spec)
    return scale.difference(paired_difference(scale.scaled(a), scale.scaled(b), clusters))


def mean_score(trials: pl.DataFrame, spec: ScoreSpec) -> Estimate:
    """Return the mean of a score over the trials of a table that have it."""
    known = trials.filter(pl.col(spec.column).is_not_null())
    return score_mean(known[spec.column].to_numpy(), known["cluster"].to_numpy(), spec)


def pairs_with_base(trials: pl.DataFrame, base: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """Return the means of columns of each test instance with trials and base trials, and its cluster, in order.

    Args:
        trials: those of a perturbation.
        base: base trials, whose means have the suffix ``_of_base``.
        columns: names of columns of numbers; instances without a known value in one of them are left out.
    """
    known, cluster = pl.col(*columns).cast(pl.Float64).mean(), pl.col("cluster").first()
    means = [part.group_by("base_id").agg(known, *more) for part, more in ((trials, [cluster]), (base, []))]
    return means[0].join(means[1], on="base_id", suffix="_of_base").drop_nulls().sort("base_id")


def difference_to_base(trials: pl.DataFrame, base: pl.DataFrame, spec: ScoreSpec) -> tuple[Estimate, int]:
    """Return the mean paired difference to the instances' own base trials, and the number of pairs."""
    pairs = pairs_with_base(trials, base, spec.column)
    values, of_base, clusters = (pairs[name].to_numpy() for name in (spec.column, f"{spec.column}_of_base", "cluster"))
    return score_difference(values, of_base, spec, clusters), len(pairs)


def score_bootstrap(
    a: ArrayLike, b: ArrayLike, clusters: ArrayLike, spec: ScoreSpec, rng: np.random.Generator
) -> Decision:
    """Return the test of ``statistics.decisions.paired_bootstrap``, whose p-value does not depend on the scale.

    Args:
        a: values of the score with the first policy, shape (n,).
        b: values with the second policy on the same trials, in the same order.
        clusters: the base instance of each pair, shape (n,).
        spec: the score.
        rng: generator of the draws.
    """
    if spec.bounded:
        scale = Scale.of(spec)
    else:
        both = np.concatenate([np.asarray(a, dtype=float), np.asarray(b, dtype=float)])
        scale = Scale(float(both.min()), float(np.ptp(both)) or 1.0) if len(both) else Scale()
    # It imports scipy.stats, which takes long, and which most commands do not need.
    from robocontrast_ros.statistics.decisions import paired_bootstrap

    decision = paired_bootstrap(scale.scaled(a), scale.scaled(b), clusters, rng)
    return replace(decision, difference=score_difference(a, b, spec, clusters))


def score_change_difference(
    first: NDArray[np.float64], second: NDArray[np.float64], spec: ScoreSpec, clusters: ArrayLike | None = None
) -> Estimate:
    """Return the mean of a policy's changes of a score minus that of another's, instance by instance.

    Args:
        first: changes of the first policy, shape (n,).
        second: changes of the second policy, in the same order.
        spec: the score.
        clusters: the independent unit of each instance, shape (n,); every instance is its own if left out.
    """
    if not spec.bounded:
        return paired_difference(first, second, clusters, bounds=None)
    scale = Scale.of(spec)
    return scale.difference(difference_in_differences(first / scale.width, second / scale.width, clusters))
