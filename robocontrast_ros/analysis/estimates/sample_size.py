"""Sample size for a target half-width: the further instances that a run needs, and the effort of their set-ups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from robocontrast_ros.analysis.data.effort_model import Effort
from robocontrast_ros.analysis.estimates.results import Results
from robocontrast_ros.analysis.estimates.scores import Scale
from robocontrast_ros.analysis.estimates.test_set import ALL_TRIALS, BASE_TRIALS
from robocontrast_ros.domain import BASE
from robocontrast_ros.statistics.clusters import cluster_mean
from robocontrast_ros.statistics.estimate import Estimate
from robocontrast_ros.statistics.sample_size import further_instances

HALF_WIDTHS = (0.10, 0.05, 0.03)


@dataclass(frozen=True)
class Needed:
    """The sample size for an interval no wider than ± half_width.

    Attributes:
        half_width: the target.
        instances: further base instances, with all their trials; 0 if the target is reached. If fewer than two
            instances were run, this and all that follows is None.
        trials: number of their trials.
        metres: way that objects are carried for their set-ups [m].
        seconds: time of a person for their set-ups [s].
    """

    half_width: float
    instances: int | None
    trials: int | None
    metres: float | None
    seconds: float | None


@dataclass(frozen=True)
class SampleSize:
    """The half-width of a policy's estimate, and the sample size for each target.

    Attributes:
        policy: its name.
        estimator: ``base trials`` or ``all trials``.
        estimate: the present estimate.
        instances: number of base instances, or of chains, that it is over.
        needed: the sample size for each target half-width.
    """

    policy: str
    estimator: str
    estimate: Estimate
    instances: int
    needed: tuple[Needed, ...]


def sample_sizes(results: Results, half_widths: Sequence[float] = HALF_WIDTHS) -> tuple[SampleSize, ...]:
    """Return the sample sizes for each policy of a run, for its base trials and for all its trials.

    Further instances are taken to cost as much (set-ups of void attempts included), to have as many trials and to vary
    as much as those that were run. A metric whose range is open has no sample sizes.
    """
    metric = results.summary.metric_spec
    if not metric.bounded:
        return ()
    scale = Scale.of(metric)
    rows = []
    for policy in results.summary.policies:
        attempts = results.trials.filter(pl.col("policy") == policy)
        counting = attempts.filter(pl.col("counts") & pl.col(metric.column).is_not_null())
        number = counting["cluster"].n_unique()
        effort = Effort(float(attempts["setup_metres"].sum()), float(attempts["setup_seconds"].sum()))
        base = counting.filter(pl.col("perturbation") == BASE)
        for estimator, trials in ((BASE_TRIALS, base), (ALL_TRIALS, counting)):
            scores, groups = scale.scaled(trials[metric.column].to_numpy()), trials["cluster"].to_numpy()
            needed = tuple(
                _needed(width, further_instances(scores, groups, width / scale.width), number, len(counting), effort)
                for width in half_widths
            )
            instances = trials["cluster"].n_unique()
            rows.append(SampleSize(policy, estimator, scale.mean(cluster_mean(scores, groups)), instances, needed))
    return tuple(rows)


def _needed(half_width: float, more: int | None, instances: int, trials: int, effort: Effort) -> Needed:
    if more is None:
        return Needed(half_width, None, None, None, None)
    each = effort / instances
    further = math.ceil(more * trials / instances)
    return Needed(half_width, more, further, more * each.metres, more * each.seconds)
