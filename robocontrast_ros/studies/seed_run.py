"""The trials of one policy and one seed, strategy by strategy."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from robocontrast_ros.domain import BASE
from robocontrast_ros.statistics.estimate import NO_ESTIMATE, Estimate
from robocontrast_ros.statistics.prediction import adjusted_mean

Array = NDArray[np.float64]

Cost = Literal["budget", "metres", "seconds"]

ROUNDING = 1e-9
"""A sum of costs may exceed a limit by this much, because of rounding."""

DIFFICULTY = "difficulty"
"""Measure of every trial, also of a base trial: the difficulty of its problem (``tasks.protocol.Profile.score``)."""

SAME = ("base_id", "perturbation", "repeat", "instruction", "proof")
"""Columns of the table; trials of two policies in which these are equal are the same trial.

Scenes are drawn from the seed, the instance and the perturbation, so trials in the same scene also have equal proofs.
"""

COLUMN_OF_COST: dict[Cost, str] = {"metres": "setup_metres", "seconds": "setup_seconds"}
"""Cost -> column of the table; the budget's cost has a cumulative column already."""


@dataclass(frozen=True, eq=False)
class Trials:
    """The trials of one session that count, in order.

    Attributes:
        instance: index of the base instance in the test set, shape (n,).
        score: the metric, shape (n,).
        cost: cost of the set-up, shape (n,).
        perturbation: ``base`` or the perturbation's name, shape (n,).
        covariates: known before the trial: family (one-hot), length of the planner's path, perturbation
            (one-hot); shape (n, p).
        key: identity of the trial, the same for every policy (``SAME``), shape (n,).
        measures: numbers of the proofs: name -> value of each trial, NaN if its proof has none, shape (n,). Those of
            base trials too is ``DIFFICULTY``, where the task's problems have profiles.
    """

    instance: NDArray[np.int64]
    score: Array
    cost: Array
    perturbation: NDArray[np.str_]
    covariates: Array
    key: NDArray[np.str_]
    measures: Mapping[str, Array] = field(default_factory=dict)

    @property
    def cumulative_cost(self) -> Array:
        """Cost of all set-ups up to and including each trial's, shape (n,)."""
        return np.cumsum(self.cost)

    @property
    def is_base(self) -> NDArray[np.bool_]:
        """Whether each trial is unperturbed, shape (n,)."""
        return self.perturbation == BASE

    @property
    def is_priced(self) -> NDArray[np.bool_]:
        """Whether the cost of each trial's set-up is known, shape (n,).

        The first scene of a session in simulation is brought in from outside and costs nothing (docs/session_costs.md).
        """
        return (np.arange(len(self.cost)) > 0) | (self.cost > 0.0)

    @property
    def unpriced(self) -> NDArray[np.int64]:
        """Base instances, at most one, whose set-up has no known cost, shape (k,)."""
        return self.instance[~self.is_priced]

    def taken(self, chosen: slice | NDArray[np.int64]) -> Trials:
        """Return the chosen trials, in the order chosen."""
        arrays = {f.name: getattr(self, f.name)[chosen] for f in fields(self) if f.name != "measures"}
        return Trials(**arrays, measures={name: values[chosen] for name, values in self.measures.items()})

    def by_instance(self, chosen: NDArray[np.bool_], size: int) -> Array:
        """Return the mean score of the chosen trials of each base instance, shape (size,); NaN if it has none."""
        where = self.instance[chosen]
        with np.errstate(invalid="ignore"):
            return np.bincount(where, self.score[chosen], size) / np.bincount(where, minlength=size)

    def adjusted(self, every: Array) -> Estimate:
        """Return the adjusted mean over the instances with covariates ``every``; it is empty without a base trial."""
        if not self.is_base.any():
            return NO_ESTIMATE
        return adjusted_mean(self.score, self.covariates, self.instance, self.is_base, every, finite=True)

    def same(self, other: Trials) -> bool:
        """Return whether both are the same trials, with the same scores and costs, in the same order."""
        keys = ("instance", "perturbation", "score", "cost")
        return all(np.array_equal(getattr(self, key), getattr(other, key)) for key in keys)


class SeedRun:
    """All sessions of one policy and one seed.

    Attributes:
        standard: label of the standard evaluation.
        size: number of base instances.
        family: of the instruction of each, shape (size,).
        skill: name of the problem of each; its family if it is of none, shape (size,).
        sessions: label of a strategy -> its trials.
    """

    def __init__(
        self,
        table: pl.DataFrame,
        labels: Sequence[str],
        standard: str,
        metric: str,
        cost: Cost = "budget",
        instances: Sequence[str] = (),
        difficulty: Mapping[str, float] | None = None,
    ) -> None:
        """Read the trials from a table.

        Args:
            table: table of a job (``JobFiles.read``).
            labels: labels of the strategies.
            standard: label of the standard evaluation, which has at least one trial.
            metric: column of the score.
            cost: the kind of cost: the budget's, metres or seconds.
            instances: names of base instances in the order of their numbers; other instances get the numbers after
                them. Policies that are compared need the same numbers.
            difficulty: problem -> its difficulty; None if problems have none.
        """
        if cost != "budget":
            spent = pl.col(COLUMN_OF_COST[cost]).cum_sum().over("strategy")
            table = table.with_columns(spent.alias("cumulative_cost"))
        counting = table.filter("counts")
        own = counting.filter(pl.col("strategy") == standard)["base_id"].unique(maintain_order=True)
        others = counting["base_id"].unique(maintain_order=True)
        order = {name: i for i, name in enumerate(dict.fromkeys([*instances, *own, *others]))}
        self.standard, self.size = standard, len(order)
        bases = counting.filter(pl.col("perturbation") == BASE)
        families_of = dict(bases.select("base_id", "family").iter_rows())
        self.family = np.array([families_of.get(name, "") for name in order])
        # Kept tables of studies without problems have no such column.
        problems = dict(bases.select("base_id", "problem").iter_rows()) if "problem" in bases.columns else {}
        self.skill = np.array([problems.get(name) or families_of.get(name, "") for name in order])
        families, perturbations = (sorted(counting[key].unique()) for key in ("family", "perturbation"))
        longest = float(counting["optimal_path_length_m"].max() or 1.0)
        self.sessions: dict[str, Trials] = {}
        for label in labels:
            known = counting.filter(pl.col("strategy") == label, pl.col(metric).is_not_null())
            self.sessions[label] = Trials(
                instance=np.array([order[name] for name in known["base_id"]], dtype=np.int64),
                score=known[metric].to_numpy().astype(float),
                cost=known["cumulative_cost"].diff().fill_null(known["cumulative_cost"].first()).to_numpy(),
                perturbation=known["perturbation"].to_numpy().astype(str),
                covariates=np.column_stack(
                    [
                        *(known["family"].to_numpy() == family for family in families),
                        (known["optimal_path_length_m"].fill_null(longest) / longest).to_numpy(),
                        *(known["perturbation"].to_numpy() == name for name in perturbations),
                    ]
                ).astype(float),
                key=_keys(known),
                measures=_measures(known) | _difficulties(known, difficulty),
            )

    @property
    def target(self) -> float:
        """The test-set mean, from the standard evaluation (the sample mean of seed 000, appendix A)."""
        return float(np.mean(self.sessions[self.standard].score))

    @property
    def standard_cost(self) -> float:
        """Cost of the standard evaluation."""
        return float(np.sum(self.sessions[self.standard].cost))

    def complete(self, label: str) -> NDArray[np.int64]:
        """Return the base instances that a strategy completed, shape (k,), in the order in which they were run.

        The last instance is left out, because the budget may have ended the session within it; the standard evaluation
        has no budget and keeps it.
        """
        trials = self.sessions[label]
        run = trials.instance[np.sort(np.unique(trials.instance, return_index=True)[1])]
        return run if label == self.standard else run[:-1]

    def applied(self, label: str, perturbation: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return masks of the base instances to which a perturbation was or could not be applied, shape (size,) each.

        Instances of families to which it was never applied are in neither, because it is not made for these families.
        """
        trials = self.sessions[label]
        has_base, applied, whole = (np.zeros(self.size, bool) for _ in range(3))
        has_base[trials.instance[trials.is_base]] = True
        whole[self.complete(label)] = True
        applied[trials.instance[trials.perturbation == perturbation]] = True
        takes_it = np.isin(self.family, self.family[has_base & applied])
        return has_base & applied, has_base & whole & ~applied & takes_it

    def within(self, label: str) -> int:
        """Return the number of trials of a strategy that the cost of the standard evaluation allows."""
        return int(np.sum(self.sessions[label].cumulative_cost <= self.standard_cost + ROUNDING))

    def adjusted(self, label: str, first: int | None = None) -> Estimate:
        """Return the adjusted mean of a strategy's ``first`` trials, None for all; it estimates ``target``."""
        every, trials = self.sessions[self.standard], self.sessions[label]
        _, one_each = np.unique(every.instance, return_index=True)
        return trials.taken(slice(first)).adjusted(every.covariates[np.sort(one_each)])


def _keys(trials: pl.DataFrame) -> NDArray[np.str_]:
    """Return the identity of each trial, the same for every policy, shape (n,)."""
    columns = [name for name in SAME if name in trials.columns]
    return np.array([json.dumps(row) for row in trials.select(columns).iter_rows()], dtype=np.str_)


def _measures(trials: pl.DataFrame) -> dict[str, Array]:
    """Return the numbers of the trials' proofs: name -> value of each trial, NaN if its proof has none, shape (n,)."""
    if "proof" not in trials.columns:
        return {}
    proofs = [json.loads(proof) if proof else {} for proof in trials["proof"]]
    return {
        name: np.array([proof.get(name, np.nan) for proof in proofs], dtype=float)
        for name in sorted({name for proof in proofs for name in proof})
    }


def _difficulties(trials: pl.DataFrame, difficulty: Mapping[str, float] | None) -> dict[str, Array]:
    """Return the difficulty of each trial's problem, shape (n,); nothing if problems have none."""
    if difficulty is None:
        return {}
    return {DIFFICULTY: np.array([difficulty.get(name, np.nan) for name in trials["problem"]], dtype=float)}
