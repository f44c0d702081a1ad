"""The trials and costs of a session if every trial succeeded, computed without a robot.

The plan is the session itself, on a bench that predicts: each trial ends in the scene in which the task's planner would
leave it. A policy that fails leaves other scenes behind, so that later perturbations, and their costs, come out
differently: the plan is the expectation under success.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from robocontrast_ros.domain import Budget, Scene, SetupMove, Trial
from robocontrast_ros.episodes.bench import Bench, Execution, Recording
from robocontrast_ros.runs.events import TrialFinished, TrialSkipped
from robocontrast_ros.runs.journal import EventsInMemory
from robocontrast_ros.sessions.blocks import SettledTrial, blocks_of, settle
from robocontrast_ros.sessions.control import SessionControl, SessionStatus
from robocontrast_ros.sessions.evaluation import Evaluation
from robocontrast_ros.sessions.loop import Session
from robocontrast_ros.strategies.prediction import result_of_success


@dataclass(frozen=True)
class PlannedTrial:
    """One trial of the plan.

    Attributes:
        trial: the planned trial.
        cost: expected cost of its set-up.
        cumulative_cost: of all set-ups up to this one.
        within_budget: whether the budget allows it; no trial is run after the first that it does not allow.
    """

    trial: Trial
    cost: float
    cumulative_cost: float
    within_budget: bool


@dataclass(frozen=True)
class Plan:
    """A session's trials, under the assumption that each succeeds.

    Attributes:
        trials: all of them in order, those that the budget cuts included.
        skipped: (base_id, perturbation, reason) of each perturbation that cannot be applied before the budget ends the
            session.
        cost_unit: unit of costs, ``m`` or ``s``.
        budget: K; infinity without a limit.
        blocks_independent: whether the strategy's blocks can be run each on its own.
    """

    trials: tuple[PlannedTrial, ...]
    skipped: tuple[tuple[str, str, str], ...]
    cost_unit: str
    budget: float
    blocks_independent: bool

    @property
    def within_budget(self) -> tuple[PlannedTrial, ...]:
        """The trials that would be run."""
        return tuple(trial for trial in self.trials if trial.within_budget)

    @property
    def blocks(self) -> int:
        """Number of blocks of these trials."""
        return len({planned.trial.block for planned in self.within_budget})

    @property
    def cost(self) -> float:
        """Total cost of the trials within the budget."""
        return self.within_budget[-1].cumulative_cost if self.within_budget else 0.0


def plan_session(evaluation: Evaluation, observer: Callable[[SessionStatus], None] = lambda status: None) -> Plan:
    """Return the trials that a session would run if each of them succeeded.

    The first set-up is from a scene without objects, as in simulation; if objects are there already, the first set-up
    costs as much as moving them. ``stop_early`` is ignored: the time of its decision depends on the scores.

    Args:
        evaluation: the session.
        observer: gets the progress of planning, as if the trials were run.
    """
    events = EventsInMemory()
    bench = _PredictingBench(evaluation)
    session = Session(
        replace(evaluation, session=replace(evaluation.session, stop_early=None)),
        bench,
        events,
        SessionControl(),
        observer,
        lambda: 0.0,
        limit=math.inf,
    )
    session.run()
    budget = Budget(evaluation.budget, unit=evaluation.cost_model.unit)
    settled = settle(blocks_of(events.kept), Scene(), budget, evaluation.cost_model, evaluation.tolerance)
    trials, skipped = [], []
    for event in events.kept:
        if isinstance(event, TrialFinished):
            trials.append(_planned(event.trial, settled[len(trials)]))
        elif isinstance(event, TrialSkipped) and all(trial.within_budget for trial in trials[-1:]):
            skipped.append((event.base_id, event.perturbation, event.reason))
    independent = getattr(evaluation.strategy, "blocks_independent", False)
    return Plan(tuple(trials), tuple(skipped), budget.unit, budget.limit, independent)


def _planned(trial: Trial, settled: SettledTrial) -> PlannedTrial:
    return PlannedTrial(trial, settled.cost, settled.cumulative_cost, settled.within_budget)


class _PredictingBench(Bench):
    def __init__(self, evaluation: Evaluation) -> None:
        self._task, self._metric = evaluation.task, evaluation.metric_spec
        self._scene: Scene | None = None

    def scene(self) -> Scene:
        return self._scene if self._scene is not None else Scene()

    def set_up(self, target: Scene, moves: tuple[SetupMove, ...]) -> Scene:
        self._scene = target
        return target

    def execute(self, trial: Trial, attempt: int) -> Execution:
        result = result_of_success(self._task, trial.instance, self._metric)
        self._scene = result.final_scene
        return Execution(result=result, recording=Recording(), wall_time=0.0)
