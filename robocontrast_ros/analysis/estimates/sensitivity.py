"""Which conditions a policy's successes have: posterior over prior of each condition that a run recorded (seed 002).

A condition is a measure in the proofs of a perturbation's trials that differs among them, such as
``camera_distance_m`` of ``camera_pose``, or a name that was drawn (``domain.choice``), such as the light of ``looks``.
Each perturbation is on its own, because it has its own draws; base trials have none. What was measured, not drawn, is
described in the same way: then its prior is how often it was there.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from robocontrast_ros.analysis.estimates.results import Results
from robocontrast_ros.domain import BASE, choices
from robocontrast_ros.statistics.estimate import NO_ESTIMATE, Estimate
from robocontrast_ros.statistics.sensitivity import Curve, bin_of, binned, neural, quantile_bins, splines

BINS = 6
"""Default number of bins, with about equally many trials each."""

VALUES = 5
"""Least number of different values of a condition that is a number."""

PLACES = 101
"""Places at which a curve is computed."""


@dataclass(frozen=True)
class Group:
    """The trials of one bin, or with one name.

    Attributes:
        name: the name, or the bin's range in words.
        place: median of the condition in the bin; None for a name.
        trials: their number.
        success: share of successes.
        ratio: posterior over prior: how much more frequent the group is among successes than among all trials.
        spline: the same at the bin's median by logistic regression; empty for a name.
        neural: the same of the bin by the neural estimator, without interval; None if it was not asked for.
    """

    name: str
    place: float | None
    trials: int
    success: Estimate
    ratio: Estimate
    spline: Estimate = NO_ESTIMATE
    neural: float | None = None


@dataclass(frozen=True)
class Condition:
    """One condition of one perturbation, and one policy's successes in it.

    Attributes:
        policy: whose trials.
        perturbation: the perturbation's name.
        symbol: its symbol.
        name: of the condition, as in the proof.
        trials: their number.
        instances: number of test instances among them.
        groups: bins in their order, or names.
        curve: of a number, over its range; None for names.
    """

    policy: str
    perturbation: str
    symbol: str
    name: str
    trials: int
    instances: int
    groups: tuple[Group, ...]
    curve: Curve | None = None


def sensitivity_of(
    results: Sequence[Results], bins: int = BINS, only: Collection[str] = (), with_neural: bool = False
) -> tuple[Condition, ...]:
    """Return all conditions of runs, by policy and perturbation, in the order of the proofs.

    Args:
        results: of the runs.
        bins: most bins of a number.
        only: names of conditions; all if empty.
        with_neural: whether numbers have the neural estimate, too.

    Raises:
        ImportError: the neural estimator is not installed.
    """
    return tuple(
        found
        for result in results
        for (policy, perturbation), trials in result.trials.filter(
            pl.col("counts") & (pl.col("perturbation") != BASE) & (pl.col("proof") != "")
        ).group_by("policy", "perturbation", maintain_order=True)
        for found in _conditions(result, policy, perturbation, trials, bins, only, with_neural)
    )


def _conditions(
    result: Results,
    policy: str,
    perturbation: str,
    trials: pl.DataFrame,
    bins: int,
    only: Collection[str],
    with_neural: bool,
) -> Iterator[Condition]:
    proofs = [json.loads(proof) for proof in trials["proof"]]
    columns: dict[str, list[str | float | None]] = {}
    for name in dict.fromkeys(kind for proof in proofs for kind in (*choices(proof), *_numbers(proof))):
        columns[name] = [choices(proof).get(name, proof.get(name)) for proof in proofs]
    success = (trials["outcome"] == "SUCCESS").to_numpy().astype(float)
    clusters, symbol = trials["cluster"].to_numpy(), result.summary.row(perturbation, policy).symbol
    for name, values in columns.items():
        different = len(set(values))
        if None in values or different < 2 or (only and name not in only):
            continue
        about = policy, perturbation, symbol, name, len(trials), trials["cluster"].n_unique()
        if isinstance(values[0], str):
            labels = np.array(values)
            groups = tuple(
                Group(str(label), None, int((labels == label).sum()), *estimates)
                for label, estimates in binned(labels, success, clusters).items()
            )
            yield Condition(*about, groups)
        elif different >= VALUES:
            yield _number(about, np.array(values), success, clusters, bins, with_neural, result.summary.seed)


def _numbers(proof: dict[str, float]) -> Iterator[str]:
    return (name for name in proof if "=" not in name)


def _number(
    about: tuple[str, str, str, str, int, int],
    values: np.ndarray,
    success: np.ndarray,
    clusters: np.ndarray,
    bins: int,
    with_neural: bool,
    seed: int,
) -> Condition:
    edges = quantile_bins(values, bins)
    inside = bin_of(values, edges)
    estimates = binned(inside, success, clusters)
    places = {number: float(np.median(values[inside == number])) for number in estimates}
    at_places = splines(values, success, clusters, list(places.values()))
    further = neural(values, success, edges, seed) if with_neural and success.any() else None
    groups = tuple(
        Group(
            f"{edges[number]:.3g} to {edges[number + 1]:.3g}",
            places[number],
            int((inside == number).sum()),
            *estimates[number],
            spline,
            None if further is None else float(further[number]),
        )
        for number, spline in zip(estimates, at_places.ratio, strict=True)
    )
    curve = splines(values, success, clusters, np.linspace(values.min(), values.max(), PLACES))
    return Condition(*about, groups, curve)
