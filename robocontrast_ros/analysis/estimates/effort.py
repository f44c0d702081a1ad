"""The effort of a run, beside that of a standard evaluation (seed 000, section 6.2).

The standard evaluation is computed from the base trials of the run: each in its own scene, set up from the
scene that the base trial before it left. The strategy ``standard`` does the same, so the costs are exact for the same
test set and behaviour if the run's base trials were fully reset; else (limited intervention) they are not given.

The first scene of a session in simulation is brought in from outside at no cost. This set-up is left out of means,
which would be too low with it, and counted in sums.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from robocontrast_ros.analysis.data.effort_model import Effort, EffortModel
from robocontrast_ros.analysis.data.run_record import RunRecord
from robocontrast_ros.analysis.estimates.handling import MeasuredHandling, handling_of
from robocontrast_ros.analysis.estimates.placing import Placing, placing_of
from robocontrast_ros.domain import BASE, Scene, Start, TrialResult
from robocontrast_ros.runs.events import SessionStarted
from robocontrast_ros.strategies.effort import setup_moves

Key = TypeVar("Key")

ROUNDING = 1e-9
"""Tolerance of a sum of costs that equals the limit: it is within the limit."""


@dataclass(frozen=True)
class MeanEffort:
    """A mean effort.

    Attributes:
        mean: the mean; None if ``number`` is 0.
        number: number of instances or trials in the mean.
    """

    mean: Effort | None = None
    number: int = 0

    @classmethod
    def over(cls, efforts: Sequence[Effort]) -> MeanEffort:
        """Return the mean of these."""
        return cls(sum(efforts, Effort()) / len(efforts), len(efforts)) if efforts else cls()


@dataclass(frozen=True)
class RunEffort:
    """The effort of a run.

    Attributes:
        total: effort of all set-ups.
        set_ups: their number.
        measured: number of them with a measured time; the seconds of the others are the model's.
        standard_instance: to set up a test instance in a standard evaluation, its repeats included; an instance
            whose scene was brought in from outside is left out.
        perturbed_instance: to set up a perturbed instance, its repeats included.
        perturbations: to set up all perturbations of a test instance.
        perturbed_trial: to set up a perturbed trial, which is one execution.
        gone_back: all set-ups of perturbed instances in the test instance's own scene, because the perturbation
            did not apply to the scene that the trial before left; they are part of the three above.
        went_back: number of those perturbed instances.
        within: the cost up to which trials are counted, in the session's unit; None if there is no limit.
        within_is: the origin of that cost, in words.
        trials: number of the run's trials that count.
        trials_within: number of them before the cost is exceeded for the first time; None without a limit.
        standard_trials: number of trials of the standard evaluation.
        standard_within: the same of those.
        handling: the person's times beside the model; None if nobody was timed.
        placing: errors of the person's set-ups; None if no person set scenes up, or nothing saw them.
    """

    total: Effort
    set_ups: int
    measured: int
    standard_instance: MeanEffort
    perturbed_instance: MeanEffort
    perturbations: MeanEffort
    perturbed_trial: MeanEffort
    gone_back: Effort
    went_back: int
    within: float | None
    within_is: str
    trials: int
    trials_within: int | None
    standard_trials: int
    standard_within: int | None
    handling: MeasuredHandling | None = None
    placing: Placing | None = None


@dataclass(frozen=True)
class StandardTrial:
    """One trial of the standard evaluation that the base trials of a run make up.

    Attributes:
        base_id: its test instance.
        result: its scores.
        effort: the effort of its set-up.
        brought_in: whether its scene was brought in from outside.
    """

    base_id: str
    result: TrialResult
    effort: Effort
    brought_in: bool


def standard_evaluation(run: RunRecord, model: EffortModel) -> tuple[StandardTrial, ...]:
    """Return the standard evaluation of the run's test set; empty if not all its base trials were fully reset."""
    base = [each for each in run.trials if each.counts and each.trial.is_base]
    if any(each.trial.start is not Start.FULL_RESET for each in base):
        return ()
    trials: list[StandardTrial] = []
    before: Scene | None = None
    for each in base:
        wanted, first = each.trial.instance.scene, each.set_ups[-1].moves if each.set_ups else ()
        moves = first if before is None else setup_moves(before, wanted, model.tolerance)
        brought_in = bool(moves) and all(move.start is None for move in moves)
        trials.append(StandardTrial(each.trial.base_id, each.ended.result, model.of(moves), brought_in))
        before = each.ended.scene_left
    return tuple(trials)


def compute_effort(
    run: RunRecord, table: pl.DataFrame, standard: Sequence[StandardTrial], model: EffortModel
) -> RunEffort:
    """Return the effort of a run.

    Args:
        run: the content of its journal.
        table: its trials (``data.trials.trials_table``).
        standard: its standard evaluation.
        model: the effort model of its session.
    """
    set_ups = run.set_ups
    efforts = [(e.trial, model.of(e.moves, e.measured)) for e in set_ups]
    first = {trial.base_id for trial in standard if trial.brought_in}
    of_base = _sums((trial.base_id, trial.effort) for trial in standard if trial.base_id not in first)
    instances = _sums(((t.base_id, t.perturbation), spent) for t, spent in efforts if not t.is_base)
    by_base = _sums((base_id, spent) for (base_id, _), spent in instances.items())
    counting = table.filter("counts")
    perturbed_trials = len(counting.filter(pl.col("perturbation") != BASE))
    all_perturbed = sum(instances.values(), Effort())
    within, within_is = _within(run.started, standard)
    unit = run.started.cost_unit if run.started else "m"
    return RunEffort(
        total=sum((spent for _, spent in efforts), Effort()),
        set_ups=len(set_ups),
        measured=sum(e.measured is not None for e in set_ups),
        standard_instance=MeanEffort.over(list(of_base.values())),
        perturbed_instance=MeanEffort.over(list(instances.values())),
        perturbations=MeanEffort.over(list(by_base.values())),
        perturbed_trial=MeanEffort(all_perturbed / perturbed_trials, perturbed_trials)
        if perturbed_trials
        else MeanEffort(),
        gone_back=sum((spent for t, spent in efforts if t.start is Start.GONE_BACK), Effort()),
        went_back=len({(t.base_id, t.perturbation) for t, _ in efforts if t.start is Start.GONE_BACK}),
        within=within,
        within_is=within_is,
        trials=len(counting),
        trials_within=None if within is None else _count(counting["cumulative_cost"].to_numpy(), within),
        standard_trials=len(standard),
        standard_within=None if within is None else _count(cumulative(standard, unit), within),
        handling=handling_of(set_ups, model.times, model.store),
        placing=placing_of(set_ups),
    )


def _sums(efforts: Iterable[tuple[Key, Effort]]) -> Mapping[Key, Effort]:
    """Return the sum of the efforts under each key."""
    found: defaultdict[Key, Effort] = defaultdict(Effort)
    for key, effort in efforts:
        found[key] += effort
    return found


def _within(started: SessionStarted | None, standard: Sequence[StandardTrial]) -> tuple[float | None, str]:
    """Return the cost up to which trials are counted, and its origin in words; None and empty without a limit."""
    if started is None:
        return None, ""
    if (named := started.recorded.compare_within) is not None:
        return named, "compare_within"
    if math.isfinite(started.budget):
        return started.budget, "the budget"
    paid = math.fsum(t.effort.of(started.cost_unit) for t in standard)
    # A single scene that was brought in from outside costs nothing.
    return (paid, "what the standard evaluation costs") if paid > 0.0 else (None, "")


def cumulative(standard: Sequence[StandardTrial], unit: str) -> NDArray[np.float64]:
    """Return the cost of all set-ups up to each trial, shape (n,), in the unit ``m`` or ``s``."""
    return np.cumsum([trial.effort.of(unit) for trial in standard], dtype=float)


def _count(cumulative_costs: NDArray[np.float64], within: float) -> int:
    return int(np.count_nonzero(cumulative_costs <= within + ROUNDING))
