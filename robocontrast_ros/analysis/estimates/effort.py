"""What a run cost the experimenter, beside what a standard evaluation would have (seed 000, section 6.2).

The standard evaluation is computed from the base trials of the run: each in its own scene, set up from the
scene that the base trial before it left. That is what the strategy ``standard`` does with the same test set
and the same behaviour, so its costs are exact where the run's base trials were fully reset, and are not
given where they were not (limited intervention).

The first scene of a session in simulation is brought in from outside, which costs nothing in either unit.
A mean over set-ups would then be too low, so that set-up is left out of the mean; it stays in all sums.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from robocontrast_ros.domain import BASE, Scene, SetupMove, Start, TrialResult
from robocontrast_ros.runs.events import Event, SessionStarted, SetUp, TrialFinished
from robocontrast_ros.strategies.effort import (
    HandlingTimes,
    MetresMoved,
    SecondsToMove,
    Tolerance,
    setup_moves,
)

ROUNDING = 1e-9
"""A sum of costs that is the limit itself is within it."""


@dataclass(frozen=True)
class Spent:
    """One effort in both units: metres that objects were carried [m] and the time of a person [s]."""

    metres: float = 0.0
    seconds: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        """Return both together."""
        return Spent(self.metres + other.metres, self.seconds + other.seconds)

    def __truediv__(self, number: float) -> Spent:
        """Return the share of one."""
        return Spent(self.metres / number, self.seconds / number)

    def of(self, unit: str) -> float:
        """Return it in the unit ``m`` or ``s``."""
        return self.metres if unit == "m" else self.seconds


@dataclass(frozen=True)
class MeanSpent:
    """A mean effort.

    Attributes:
        mean: None where there is nothing to take it over.
        number: of what it was taken over.
    """

    mean: Spent | None = None
    number: int = 0

    @classmethod
    def over(cls, efforts: Sequence[Spent]) -> MeanSpent:
        """Return the mean of these."""
        return cls(sum(efforts, Spent()) / len(efforts), len(efforts)) if efforts else cls()


@dataclass(frozen=True)
class Effort:
    """What a run cost.

    Attributes:
        total: all set-ups.
        set_ups: their number.
        measured: how many of them have a measured time; the seconds of the others are the model's.
        standard_instance: to set up a test instance in a standard evaluation, its repeats included; the
            first one is left out where it was brought in from outside.
        perturbed_instance: to set up a perturbed instance, its repeats included.
        perturbations: to set up all perturbations of a test instance.
        perturbed_trial: of a perturbed trial, which is one execution.
        gone_back: all set-ups of perturbed instances in the test instance's own scene, since the perturbation
            did not apply to the scene that the trial before left; they are part of the three above.
        went_back: number of those perturbed instances.
        within: the cost up to which trials are counted, in the session's unit; None where there is none.
        within_is: what that cost is, in words.
        trials: trials of the run that count.
        trials_within: those of them before the cost is exceeded for the first time.
        standard_trials: trials of the standard evaluation.
        standard_within: the same of those.
    """

    total: Spent
    set_ups: int
    measured: int
    standard_instance: MeanSpent
    perturbed_instance: MeanSpent
    perturbations: MeanSpent
    perturbed_trial: MeanSpent
    gone_back: Spent
    went_back: int
    within: float | None
    within_is: str
    trials: int
    trials_within: int | None
    standard_trials: int
    standard_within: int | None


@dataclass(frozen=True)
class StandardTrial:
    """One trial of the standard evaluation that the base trials of a run make up.

    Attributes:
        base_id: its test instance.
        result: its scores.
        spent: on its set-up.
        brought_in: whether its scene was brought in from outside.
    """

    base_id: str
    result: TrialResult
    spent: Spent
    brought_in: bool


class Prices:
    """Gives every set-up of a journal its price in both units."""

    def __init__(self, started: SessionStarted | None) -> None:
        """Take the session's parameters; their defaults where the journal names none."""
        session = started.parameters.get("session", {}) if started else {}
        tolerance = session.get("setup", {})
        self.tolerance = Tolerance(
            tolerance.get("position_tolerance", 0.0), tolerance.get("orientation_tolerance", 0.0)
        )
        times = session.get("handling_times") or session.get("mover", {})  # its name in older journals
        self._metres, self._seconds = MetresMoved(), SecondsToMove(HandlingTimes(**times))

    def of(self, moves: Sequence[SetupMove], measured: float | None = None) -> Spent:
        """Return the price of moves; the seconds are the measured ones where there are."""
        return Spent(self._metres.cost(moves), self._seconds.cost(moves, measured))


def standard_evaluation(events: Iterable[Event], prices: Prices) -> tuple[StandardTrial, ...]:
    """Return the standard evaluation of the run's test set; empty where its base trials were not fully reset."""
    trials: list[StandardTrial] = []
    first_moves: tuple[SetupMove, ...] = ()
    before: Scene | None = None
    for event in events:
        if isinstance(event, SetUp) and before is None and not event.restore:
            first_moves = event.moves
        if not (isinstance(event, TrialFinished) and event.trial.is_base):
            continue
        if event.trial.start is not Start.FULL_RESET:
            return ()
        wanted = event.trial.instance.scene
        moves = first_moves if before is None else setup_moves(before, wanted, prices.tolerance)
        brought_in = bool(moves) and all(move.start is None for move in moves)
        trials.append(StandardTrial(event.trial.base_id, event.result, prices.of(moves), brought_in))
        before = event.result.final_scene
    return tuple(trials)


def compute_effort(
    events: Sequence[Event], table: pl.DataFrame, standard: Sequence[StandardTrial], prices: Prices
) -> Effort:
    """Return what a run cost.

    Args:
        events: the journal's.
        table: its trials (``tables.trials_table``).
        standard: its standard evaluation.
        prices: of the journal's session.
    """
    set_ups = [e for e in events if isinstance(e, SetUp) and not e.restore]
    of_base: defaultdict[str, list[Spent]] = defaultdict(list)
    for trial in standard:
        if not trial.brought_in:
            of_base[trial.base_id].append(trial.spent)
    first = {trial.base_id for trial in standard if trial.brought_in}
    perturbed: defaultdict[tuple[str, str], list[Spent]] = defaultdict(list)
    for event in set_ups:
        if not event.trial.is_base:
            key = event.trial.base_id, event.trial.perturbation
            perturbed[key].append(prices.of(event.moves, event.measured))
    instances = {key: sum(spent, Spent()) for key, spent in perturbed.items()}
    by_base: defaultdict[str, Spent] = defaultdict(Spent)
    for (base_id, _), spent in instances.items():
        by_base[base_id] += spent
    counting = table.filter("counts")
    perturbed_trials = len(counting.filter(pl.col("perturbation") != BASE))
    all_perturbed = sum(instances.values(), Spent())
    started = next((e for e in events if isinstance(e, SessionStarted)), None)
    back = [e for e in set_ups if e.trial.start is Start.GONE_BACK]
    within, within_is = _within(started, standard)
    unit = started.cost_unit if started else "m"
    return Effort(
        total=sum((prices.of(e.moves, e.measured) for e in set_ups), Spent()),
        set_ups=len(set_ups),
        measured=sum(e.measured is not None for e in set_ups),
        standard_instance=MeanSpent.over([sum(s, Spent()) for b, s in of_base.items() if b not in first]),
        perturbed_instance=MeanSpent.over(list(instances.values())),
        perturbations=MeanSpent.over(list(by_base.values())),
        perturbed_trial=MeanSpent(all_perturbed / perturbed_trials, perturbed_trials)
        if perturbed_trials
        else MeanSpent(),
        gone_back=sum((prices.of(e.moves, e.measured) for e in back), Spent()),
        went_back=len({(e.trial.base_id, e.trial.perturbation) for e in back}),
        within=within,
        within_is=within_is,
        trials=len(counting),
        trials_within=None if within is None else _count(counting["cumulative_cost"].to_numpy(), within),
        standard_trials=len(standard),
        standard_within=None if within is None else _count(cumulative(standard, unit), within),
    )


def _within(started: SessionStarted | None, standard: Sequence[StandardTrial]) -> tuple[float | None, str]:
    """Return the cost up to which trials are counted, and what it is."""
    if started is None:
        return None, ""
    named = started.parameters.get("session", {}).get("compare_within")
    if named is not None:
        return float(named), "compare_within"
    if math.isfinite(started.budget):
        return started.budget, "the budget"
    paid = math.fsum(t.spent.of(started.cost_unit) for t in standard)
    # One whose only scene was brought in from outside costs nothing that could be compared.
    return (paid, "what the standard evaluation costs") if paid > 0.0 else (None, "")


def cumulative(standard: Sequence[StandardTrial], unit: str) -> NDArray[np.float64]:
    """Return the cost of all set-ups up to each trial, shape (n,), in the unit ``m`` or ``s``."""
    return np.cumsum([trial.spent.of(unit) for trial in standard], dtype=float)


def _count(cumulative_costs: NDArray[np.float64], within: float) -> int:
    return int(np.count_nonzero(cumulative_costs <= within + ROUNDING))
