"""Two runs on the same test set: which policy is better, trial by trial."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from robocontrast_ros.analysis.results import Results
from robocontrast_ros.analysis.summary import ALL
from robocontrast_ros.domain import BASE
from robocontrast_ros.statistics.clusters import cluster_mean, paired_difference
from robocontrast_ros.statistics.decisions import (
    BOSCHLOO,
    MCNEMAR,
    Decision,
    boschloo,
    mcnemar,
    paired_bootstrap,
)
from robocontrast_ros.statistics.estimate import NO_ESTIMATE, Estimate

KEY = ("base_id", "perturbation", "repeat")
SAME_PATH = 1e-6
"""Planned paths that differ by less than this are of the same start [m]."""

DRAWS_SEED = 0
"""Of the draws of the bootstrap, so that the same runs give the same numbers."""


class ComparisonError(ValueError):
    """Two runs that cannot be compared; the message names both, what differs, and the cure."""


@dataclass(frozen=True)
class ComparedRow:
    """What the common trials of one perturbation say.

    Attributes:
        perturbation: ``base``, a perturbation's name, or ``all``.
        symbol: the paper's symbol of it; else the name.
        pairs: trials that both runs have.
        instances: base instances among them.
        same_start: pairs whose instruction and planned path are the same; the others are of the same base instance
            and perturbation, in the scene that each policy's own trial before had left.
        first: the first run's mean of the metric over the pairs.
        second: the second run's.
        difference: mean, over the pairs, of the first less the second.
        first_success: the first run's share of successes.
        second_success: the second's.
        success_difference: mean difference of the two.
        bootstrap: paired bootstrap of the metric; base instances are drawn whole.
        success_bootstrap: the same of success.
        mcnemar: exact test of paired success; without a p-value where pairs share base instances (``all``,
            repeats), as it takes pairs as independent.
        boschloo: exact test of success that ignores the pairing; without a p-value in the same case.
    """

    perturbation: str
    symbol: str
    pairs: int
    instances: int
    same_start: int
    first: Estimate
    second: Estimate
    difference: Estimate
    first_success: Estimate
    second_success: Estimate
    success_difference: Estimate
    bootstrap: Decision
    success_bootstrap: Decision
    mcnemar: Decision
    boschloo: Decision


@dataclass(frozen=True)
class Comparison:
    """What two runs say about two policies.

    Attributes:
        first: the first run's policy.
        second: the second run's.
        first_run: name of the first run's folder.
        second_run: name of the second's.
        metric: the score that is compared: ``spl`` or ``progress``.
        seed: of both sessions.
        rows: ``base``, each common perturbation in the order of the first session, ``all``.
        only_first: trials of the first run that count and have no partner.
        only_second: the same of the second.
    """

    first: str
    second: str
    first_run: str
    second_run: str
    metric: str
    seed: int
    rows: tuple[ComparedRow, ...]
    only_first: int
    only_second: int

    def row(self, perturbation: str) -> ComparedRow:
        """Return the row of a perturbation.

        Raises:
            KeyError: there is none.
        """
        for row in self.rows:
            if row.perturbation == perturbation:
                return row
        raise KeyError(f"no row '{perturbation}'; there are: {', '.join(r.perturbation for r in self.rows)}")


def compare_runs(a: Results, b: Results) -> Comparison:
    """Return what the trials say that both runs have.

    Trials are partners where base instance, perturbation and repeat are the same, and both count.

    Raises:
        ComparisonError: the runs are of another task or test set, have no trial in common, or one had several policies.
    """
    _check(a, b)
    metric, names = a.summary.metric, (_name(a), _name(b))
    first, second = (_counting(r, metric) for r in (a, b))
    pairs = first.join(second, on=KEY, suffix="_of_second", maintain_order="left")
    if pairs.is_empty():
        raise _mismatch(
            names,
            "have no trial in common",
            "Run both far enough that the same test instance counts in both; "
            "`robocontrast results` lists what was run.",
        )
    base = pairs.filter(pl.col("perturbation") == BASE)
    other = base.filter(pl.col("instruction") != pl.col("instruction_of_second"))
    if len(other):
        x, one, two = other.select("base_id", "instruction", "instruction_of_second").row(0)
        raise _mismatch(
            names,
            f"have different test sets: {x} is '{one}' in the first and '{two}' in the second",
            "Run both with the same version of the task.",
        )
    symbols = {row.perturbation: row.symbol for row in (*b.summary.rows, *a.summary.rows)}
    order = (row.perturbation for row in a.summary.rows if row.perturbation not in (BASE, ALL))
    rows = [
        _row(name, symbols[name], found, metric)
        for name in (BASE, *order)
        if len(found := pairs.filter(pl.col("perturbation") == name))
    ]
    return Comparison(
        first=a.summary.policies[0],
        second=b.summary.policies[0],
        first_run=names[0],
        second_run=names[1],
        metric=metric,
        seed=a.summary.seed,
        rows=(*rows, _row(ALL, ALL, pairs, metric)),
        only_first=len(first) - len(pairs),
        only_second=len(second) - len(pairs),
    )


def _check(a: Results, b: Results) -> None:
    """Refuse runs whose test sets cannot be the same.

    Raises:
        ComparisonError: they differ.
    """
    names = _name(a), _name(b)
    for results, name in zip((a, b), names, strict=True):
        if len(results.summary.policies) > 1:
            raise _mismatch(
                names,
                f"cannot be compared: {name} was run by {', '.join(results.summary.policies)} in turn, each on other "
                "test instances",
                "Run a session of its own for each policy.",
            )
    for what, key in (("tasks", "task"), ("seeds", "seed"), ("families of instructions", "families")):
        one, two = (_asked(results)[key] for results in (a, b))
        if one != two:
            raise _mismatch(
                names,
                f"have different {what}: {one} and {two}",
                f"Run both sessions with the same {key}; policy, strategy and the number of instances may differ.",
            )
    if a.summary.metric != b.summary.metric:
        raise _mismatch(
            names,
            f"have different metrics: {a.summary.metric} and {b.summary.metric}",
            "Run both with the same version of the task.",
        )


def _mismatch(names: tuple[str, str], what: str, cure: str) -> ComparisonError:
    return ComparisonError(f"The runs {names[0]} and {names[1]} {what}. {cure}")


def _name(results: Results) -> str:
    return results.run.name or results.summary.session


def _asked(results: Results) -> dict[str, str]:
    session = results.parameters.get("session", {})
    task = results.parameters.get("task") or {}
    return {
        # A task's file may be named by its path, which differs between machines; its name does not.
        "task": str(task.get("name", session.get("task", ""))),
        "seed": str(results.summary.seed),
        "families": ", ".join(session.get("test_set", {}).get("families") or ()) or "all",
    }


def _counting(results: Results, metric: str) -> pl.DataFrame:
    return results.trials.filter(pl.col("counts") & pl.col(metric).is_not_null())


def _row(name: str, symbol: str, pairs: pl.DataFrame, metric: str) -> ComparedRow:
    clusters = pairs["base_id"].to_numpy()
    first, second = pairs[metric].to_numpy(), pairs[f"{metric}_of_second"].to_numpy()
    succeeded, succeeded_second = pairs["success"].to_numpy(), pairs["success_of_second"].to_numpy()
    instances = pairs["base_id"].n_unique()
    same = (pl.col("instruction") == pl.col("instruction_of_second")) & (
        (pl.col("optimal_path_length_m") - pl.col("optimal_path_length_m_of_second")).abs() < SAME_PATH
    )
    success = paired_bootstrap(succeeded, succeeded_second, clusters, np.random.default_rng(DRAWS_SEED))
    independent = instances == len(pairs)
    if independent:
        exact = mcnemar(succeeded, succeeded_second)
        unpaired = boschloo(int(succeeded.sum()), len(pairs), int(succeeded_second.sum()), len(pairs))
    else:
        exact = Decision(MCNEMAR, None, success.difference, len(pairs))
        unpaired = Decision(BOSCHLOO, None, NO_ESTIMATE, 2 * len(pairs))
    return ComparedRow(
        perturbation=name,
        symbol=symbol,
        pairs=len(pairs),
        instances=instances,
        same_start=len(pairs.filter(same)),
        first=cluster_mean(first, clusters),
        second=cluster_mean(second, clusters),
        difference=paired_difference(first, second, clusters),
        first_success=cluster_mean(succeeded, clusters),
        second_success=cluster_mean(succeeded_second, clusters),
        success_difference=success.difference,
        bootstrap=paired_bootstrap(first, second, clusters, np.random.default_rng(DRAWS_SEED)),
        success_bootstrap=success,
        mcnemar=exact,
        boschloo=unpaired,
    )
