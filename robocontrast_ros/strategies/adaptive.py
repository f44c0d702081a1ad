"""A contrast set without the perturbed trials that give the least information for their cost."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from robocontrast_ros.domain import BASE, ScoreSpec
from robocontrast_ros.perturbations.protocol import Perturbation
from robocontrast_ros.strategies.contrast_set import run_contrasts
from robocontrast_ros.strategies.protocol import (
    PerturbationUse,
    Skipped,
    Strategy,
    StrategyContext,
    StrategyRun,
    solved_at_start,
)
from robocontrast_ros.strategies.repeats import Repeats

PILOTS = 8
"""Number of test instances with all perturbations, before any is left out."""
PRIOR_VALUES = 4
"""Number of further scores that smooth every variance, half of them 0 and half of them 1, because a few equal results
do not mean that all are equal."""
LEAST_COST = 0.1
"""Least cost of a trial, as a share of a base trial's: a trial with a free set-up also takes time."""


class Adaptive(Strategy):
    """Test instances in shuffled order, each with the perturbations that are worth their cost.

    Base trials come first and are never left out, so that they are an i.i.d. sample of the test set. The perturbations
    of an instance are chosen before its base trial, from the results of earlier instances alone. One more trial of a
    row (base, or a perturbation) reduces the variance of the row's mean by s² / (n (n + 1)), with n instances of it run
    so far and s² the variance of their scores (the session's metric; the mean of the repeats). A perturbation is run if
    that gain, per unit of the cost of such trials so far, is at least the gain of the next base trial; so uncertain and
    cheap rows get more trials, n in proportion to s divided by the square root of the cost. If the budget is expected
    to suffice for all remaining trials, nothing is left out; without a budget this is ``contrast_set``. A trial left
    out is a skip, with the reason.

    No result of an instance decides which of its perturbations are run, so no instances are selected: running
    perturbations only if the base trial failed would bias every mean. One bias remains, that of every mean whose number
    of values depends on them (Nie et al. 2018, Why adaptively collected data have negative bias and how to correct for
    it): a perturbation whose first results happen to be all equal is run less often afterwards.
    docs/strategies.md gives its size. The base trials' mean has no such bias.
    """

    name = "adaptive"
    description = "a contrast set without the perturbed trials that give the least information for their cost"
    uses_perturbations = PerturbationUse.REQUIRED
    base_trials_iid = True
    needs_bounds = True
    blocks_independent = False

    def run(self, context: StrategyContext) -> StrategyRun:
        """Return the trials."""
        rows = {name: _Row() for name in (BASE, *(p.name for p in context.perturbations))}
        left = sum(not solved_at_start(context.task, base) for base in context.test_set)
        spent = 0.0
        for base in context.test_set:
            chosen = context.perturbations
            if not _suffices(context.budget - spent, left, rows.values()):
                chosen = tuple(p for p in context.perturbations if _worthwhile(p, rows))
            for perturbation in context.perturbations:
                if perturbation not in chosen:
                    reason = "left out: less information for its cost than the next test instance"
                    yield Skipped(base.instance_id, perturbation.name, reason)
            done = yield from run_contrasts(context, base, chosen)
            for name, repeats in done.items():
                rows[name].add(repeats, context.metric)
                spent += rows[name].costs[-1]
            left -= not solved_at_start(context.task, base)


@dataclass
class _Row:
    """The results of base trials, or of a perturbation, so far.

    Attributes:
        scores: mean of the repeats of each instance that has the score, on a scale from 0 to 1.
        costs: cost of each instance, all its repeats together.
    """

    scores: list[float] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)

    def add(self, repeats: Repeats, metric: ScoreSpec) -> None:
        """Add an instance."""
        mean = math.fsum(r.result.scores[metric.name] for r in repeats) / len(repeats)
        if not math.isnan(mean):
            self.scores.append((mean - metric.low) / (metric.high - metric.low))
        self.costs.append(math.fsum(r.cost for r in repeats))

    @property
    def cost(self) -> float:
        """Mean cost of an instance; 0 before the first."""
        return math.fsum(self.costs) / max(len(self.costs), 1)

    @property
    def worth(self) -> float:
        """Reduction of the mean's variance by one more instance, if there is one already."""
        number = len(self.scores)
        mean = math.fsum(self.scores) / number
        squares = math.fsum((score - mean) ** 2 for score in self.scores)
        variance = (squares + PRIOR_VALUES / 4) / (number - 1 + PRIOR_VALUES)
        return variance / (number * (number + 1))


def _suffices(budget: float, instances: int, rows: Iterable[_Row]) -> bool:
    """Return whether the budget is expected to suffice for every trial of this number of instances."""
    return instances * math.fsum(row.cost for row in rows) <= budget


def _worthwhile(perturbation: Perturbation, rows: dict[str, _Row]) -> bool:
    """Return whether the perturbation is at least as good value for its cost as a base trial."""
    base, row = rows[BASE], rows[perturbation.name]
    if len(base.scores) < PILOTS or not row.scores:
        return True
    cost = max(row.cost, LEAST_COST * base.cost)
    return row.worth * base.cost >= base.worth * cost
