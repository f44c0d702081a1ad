"""Error and number of trials against cumulative cost (seed 000, figures 3 and 6, section B.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from robocontrast_ros.statistics.curves import ErrorCurve, error_curve
from robocontrast_ros.studies.orders import Estimator
from robocontrast_ros.studies.seed_run import ROUNDING, SeedRun

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Curve:
    """Error of one estimator of one strategy against cost, over seeds.

    Attributes:
        strategy: label of the strategy.
        estimator: ``plain`` (mean of all trials), ``base`` (of the base trials) or ``adjusted``.
        errors: absolute error in each bin of cost.
        trials: mean number of trials at the end of each bin, over the seeds whose costs reach the bin, shape (bins,);
            NaN if no seed's costs reach it.
    """

    strategy: str
    estimator: Estimator
    errors: ErrorCurve
    trials: Array


def draw_curves(seed_runs: Sequence[SeedRun], contrast: str, bins: int) -> tuple[Curve, ...]:
    """Return the curves of one policy: the plain mean of all strategies, and further estimators of one.

    Bins are of equal width from 0 to the greatest cost of all strategies and seeds.

    Args:
        seed_runs: one per seed.
        contrast: label of the strategy whose estimators are compared.
        bins: number of bins.
    """
    labels = list(seed_runs[0].sessions)
    end = max(float(s.sessions[label].cost.sum()) for s in seed_runs for label in labels)
    curves = [
        Curve(label, "plain", _errors(seed_runs, label, bins, end), _trials(seed_runs, label, bins, end))
        for label in labels
    ]
    trials = _trials(seed_runs, contrast, bins, end)
    curves.append(Curve(contrast, "base", _errors(seed_runs, contrast, bins, end, base=True), trials))
    curves.append(Curve(contrast, "adjusted", _adjusted_errors(seed_runs, contrast, bins, end), trials))
    return tuple(curves)


def curves_table(curves: Mapping[str, Sequence[Curve]], metric: str, unit: str) -> pl.DataFrame:
    """Return the curves of all policies as one table, a row for each bin.

    Args:
        curves: name of the policy -> its curves.
        metric: the score.
        unit: of costs.
    """
    rows = [
        {
            "policy": policy,
            "strategy": curve.strategy,
            "estimator": curve.estimator,
            "metric": metric,
            "cost_from": curve.errors.edges[i],
            "cost_to": curve.errors.edges[i + 1],
            "cost_unit": unit,
            "error": curve.errors.error[i],
            "deviation": curve.errors.deviation[i],
            "runs": int(curve.errors.runs[i]),
            "trials": curve.trials[i],
        }
        for policy, own in curves.items()
        for curve in own
        for i in range(len(curve.trials))
    ]
    return pl.DataFrame(rows).with_columns(pl.col(pl.Float64).fill_nan(None))


def _errors(seed_runs: Sequence[SeedRun], label: str, bins: int, end: float, base: bool = False) -> ErrorCurve:
    runs = []
    for seed_run in seed_runs:
        trials = seed_run.sessions[label]
        scores = np.where(trials.is_base, trials.score, np.nan) if base else trials.score
        runs.append((trials.cumulative_cost, scores, seed_run.target))
    return error_curve(runs, bins, end)


def _adjusted_errors(seed_runs: Sequence[SeedRun], label: str, bins: int, end: float) -> ErrorCurve:
    """Return the errors at the end of each bin.

    There is no estimate at every trial, because that would take long and look the same.
    """
    edges = np.linspace(0.0, end, bins + 1)
    errors = np.full((len(seed_runs), bins), np.nan)
    for row, seed_run in zip(errors, seed_runs, strict=True):
        cost = seed_run.sessions[label].cumulative_cost
        for i, number in enumerate(_reached(cost, edges)):
            if number and edges[i] < cost[-1]:
                mean = seed_run.adjusted(label, number).mean
                row[i] = np.nan if mean is None else abs(mean - seed_run.target)
    known = ~np.isnan(errors)
    # A bin without an estimate has neither mean nor deviation.
    error = np.array([row[k].mean() if k.any() else np.nan for row, k in zip(errors.T, known.T, strict=True)])
    deviation = np.array(
        [row[k].std(ddof=1) if k.sum() > 1 else np.nan for row, k in zip(errors.T, known.T, strict=True)]
    )
    return ErrorCurve(edges, error, deviation, known.sum(axis=0))


def _trials(seed_runs: Sequence[SeedRun], label: str, bins: int, end: float) -> Array:
    edges = np.linspace(0.0, end, bins + 1)
    numbers = np.full((len(seed_runs), bins), np.nan)
    for row, seed_run in zip(numbers, seed_runs, strict=True):
        cost = seed_run.sessions[label].cumulative_cost
        there = edges[:-1] < (cost[-1] if len(cost) else 0.0)
        row[there] = _reached(cost, edges)[there]
    known = ~np.isnan(numbers)
    return np.array([row[k].mean() if k.any() else np.nan for row, k in zip(numbers.T, known.T, strict=True)])


def _reached(cost: Array, edges: Array) -> NDArray[np.int64]:
    """Return the number of trials that are done at the end of each bin, shape (bins,)."""
    return np.searchsorted(cost, edges[1:] + ROUNDING, side="right")
