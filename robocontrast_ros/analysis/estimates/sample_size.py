"""How much more of the same it takes until an estimate is as precise as wanted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl
from rich.console import Group
from rich.table import Table
from rich.text import Text

from robocontrast_ros.analysis.estimates.effort import Effort
from robocontrast_ros.analysis.results import Results
from robocontrast_ros.analysis.tables.console import ALL_TRIALS, BASE_TRIALS, NONE
from robocontrast_ros.domain import BASE
from robocontrast_ros.statistics.clusters import cluster_mean
from robocontrast_ros.statistics.estimate import Estimate
from robocontrast_ros.statistics.sample_size import further_instances

PROMISE = (
    "Until the 95 % interval is no wider than ±, if further instances, with all their trials, cost and differ as "
    "those that were run. base trials: until that of the mean over base trials alone is."
)
"""What the numbers rest on, in words."""

HALF_WIDTHS = (0.10, 0.05, 0.03)
ESTIMATORS = {"base": BASE_TRIALS, "plain": ALL_TRIALS}


@dataclass(frozen=True)
class Needed:
    """What it takes until an interval is no wider than ± half_width.

    Attributes:
        half_width: what is wanted.
        instances: further base instances, with all their trials; 0 where it is reached. None where the run says
            too little to tell.
        trials: their trials.
        metres: objects would be carried for their set-ups [m].
        seconds: of a person for them [s].
    """

    half_width: float
    instances: int | None
    trials: int | None
    metres: float | None
    seconds: float | None


@dataclass(frozen=True)
class Precision:
    """How precise an estimate of a policy is, and what more precision takes.

    Attributes:
        policy: its name.
        estimator: ``base`` (base trials alone) or ``plain`` (all trials).
        estimate: as it is now.
        instances: base instances that it is over.
        needed: for each half-width.
    """

    policy: str
    estimator: str
    estimate: Estimate
    instances: int
    needed: tuple[Needed, ...]


def precision(results: Results, half_widths: Sequence[float] = HALF_WIDTHS) -> tuple[Precision, ...]:
    """Return it for each policy of a run, for its base trials and for all its trials.

    Further instances are taken to cost, to have as many trials and to differ as much as those that were run, set-ups
    of void attempts included.
    """
    metric = results.summary.metric
    rows = []
    for policy in results.summary.policies:
        attempts = results.trials.filter(pl.col("policy") == policy)
        counting = attempts.filter(pl.col("counts") & pl.col(metric).is_not_null())
        number = counting["base_id"].n_unique()
        spent = Effort(float(attempts["setup_metres"].sum()), float(attempts["setup_seconds"].sum()))
        for estimator in ESTIMATORS:
            trials = counting.filter(pl.col("perturbation") == BASE) if estimator == "base" else counting
            scores, groups = trials[metric].to_numpy(), trials["base_id"].to_numpy()
            needed = tuple(
                _needed(width, further_instances(scores, groups, width), number, len(counting), spent)
                for width in half_widths
            )
            instances = trials["base_id"].n_unique()
            rows.append(Precision(policy, estimator, cluster_mean(scores, groups), instances, needed))
    return tuple(rows)


def _needed(half_width: float, more: int | None, instances: int, trials: int, spent: Effort) -> Needed:
    if more is None:
        return Needed(half_width, None, None, None, None)
    each = spent / instances
    return Needed(
        half_width,
        more,
        math.ceil(more * trials / instances),
        more * each.metres,
        more * each.seconds,
    )


def precision_report(precisions: Sequence[Precision]) -> Group:
    """Return what more precision takes, as a table."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("for an interval of", no_wrap=True)
    for heading in ("± now", "± wanted", "more instances", "more trials", "[m]", "[s]"):
        table.add_column(Text(heading), justify="right", no_wrap=True)
    several = len({found.policy for found in precisions}) > 1
    for found in precisions:
        name = ESTIMATORS[found.estimator] + (f" ({found.policy})" if several else "")
        now = found.estimate.half_width
        for needed in found.needed:
            cells = [NONE if now is None else f"{now:.3f}", f"{needed.half_width:g}"]
            if needed.instances is None:
                cells += [NONE] * 4
            else:
                cells += [
                    f"{needed.instances}",
                    f"{needed.trials}",
                    f"{needed.metres:.1f}",
                    f"{needed.seconds:.0f}",
                ]
            table.add_row(name, *cells)
    return Group(table, Text(PROMISE, style="dim italic"))
