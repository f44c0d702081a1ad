"""Success against emulated latency: the success of a policy if the world goes on while it thinks.

The base trials, in which the world waits, are the control at 0 s. Intervals are 95 %; test instances are taken as
independent, not their trials.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import polars as pl

from robocontrast_ros.analysis.data.run_record import RunRecord
from robocontrast_ros.analysis.estimates.scores import difference_to_base, draws, mean_score
from robocontrast_ros.configuration import ConfigurationError, load_plugin
from robocontrast_ros.domain import BASE, ScoreSpec
from robocontrast_ros.statistics.estimate import NO_ESTIMATE, Estimate
from robocontrast_ros.statistics.slopes import cluster_slope

LEAST = 2
"""Least number of latencies of one filter, besides 0 s, for a curve."""


@dataclass(frozen=True)
class LatencyPoint:
    """The trials of one latency.

    Attributes:
        seconds: time that each answer took [s], or its median if times are drawn; 0 in the base trials.
        trials: number of trials that count.
        success: share of them that succeeded.
        difference: mean difference in success to the same instances' own base trials; empty at 0 s.
    """

    seconds: float
    trials: int
    success: Estimate
    difference: Estimate


@dataclass(frozen=True)
class LatencyCurve:
    """Success of one policy against latency.

    Attributes:
        policy: name of the policy.
        filter: name of the filter that emulates the latency, such as ``thinking`` or ``thinking_drawn``.
        points: one a latency, the shortest first, from 0 s if base trials count.
        slope: change of the share of successes a second of latency: of the least-squares line over all these trials,
            with the interval of a bootstrap of test instances [1/s].
        trials: number of trials of all points.
        instances: test instances among them.
    """

    policy: str
    filter: str
    points: tuple[LatencyPoint, ...]
    slope: Estimate
    trials: int
    instances: int


def latency_curves(
    table: pl.DataFrame, policy: str, latencies: Mapping[str, Mapping[str, float]], success: ScoreSpec
) -> tuple[LatencyCurve, ...]:
    """Return a policy's curves, one for each filter with at least ``LEAST`` latencies.

    Args:
        table: its trials (``data.trials.trials_table``).
        policy: its name.
        latencies: filter -> perturbation -> time of an answer [s] (``latencies_of``).
        success: the score.
    """
    counting, found = table.filter("counts"), []
    for name, seconds in latencies.items():
        known = counting.filter(pl.col("perturbation").is_in([BASE, *seconds]))
        if known.filter(pl.col("perturbation") != BASE)["perturbation"].n_unique() < LEAST:
            continue
        at = {BASE: 0.0, **seconds}
        trials = known.with_columns(latency=pl.col("perturbation").replace_strict(at, return_dtype=pl.Float64))
        points = tuple(_point(trials, value, success) for value in sorted(trials["latency"].unique()))
        slope = cluster_slope(
            trials["latency"].to_numpy(),
            trials[success.column].cast(pl.Float64).to_numpy(),
            trials["cluster"].to_numpy(),
            draws(),
        )
        found.append(LatencyCurve(policy, name, points, slope, len(trials), trials["base_id"].n_unique()))
    return tuple(found)


def latencies_of(run: RunRecord) -> dict[str, dict[str, float]]:
    """Return filter -> perturbation -> time of an answer [s], of the perturbations that emulate a latency alone."""
    found: dict[str, dict[str, float]] = {}
    for trial in (event.trial for event in run.finished if len(event.trial.instance.observation) == 1):
        (one,) = trial.instance.observation
        seconds = _seconds(one.name)
        drawn = not trial.is_base and trial.perturbation not in run.composed
        if drawn and 1 <= one.severity <= len(seconds):
            found.setdefault(one.name, {})[trial.perturbation] = seconds[one.severity - 1]
    return found


@cache
def _seconds(name: str) -> tuple[float, ...]:
    """Return the time of an answer at each severity of a filter [s]; empty if it has none, or is not installed."""
    try:
        return tuple(getattr(load_plugin("observation_filters", name, "journal", "observation"), "seconds", ()))
    except ConfigurationError:
        return ()


def _point(trials: pl.DataFrame, seconds: float, success: ScoreSpec) -> LatencyPoint:
    own = trials.filter(pl.col("latency") == seconds)
    return LatencyPoint(
        seconds,
        len(own),
        mean_score(own, success),
        difference_to_base(own, trials.filter(pl.col("latency") == 0.0), success)[0] if seconds else NO_ESTIMATE,
    )
