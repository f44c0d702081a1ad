"""The interface of evaluation strategies: the order of trials, one at a time (seed 000, section 3)."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from enum import Enum
from math import inf
from typing import Protocol

import numpy as np

from robocontrast_ros.domain import BASE, ScoreSpec, Start, TestInstance, TrialResult
from robocontrast_ros.perturbations.protocol import Perturbation
from robocontrast_ros.strategies.effort import AnyTolerance, CostModel, MetresMoved, Tolerance
from robocontrast_ros.tasks.protocol import Task


@dataclass(frozen=True)
class Proposal:
    """The trial that a strategy wants to run next.

    Attributes:
        base_id: instance_id of the unperturbed test instance.
        instance: the initial conditions to set up.
        perturbation: ``base`` or the perturbation's name.
        repeat: number of the repeat, from 0.
        note: in words, the perturbation, or the reason of a reset. It may name the perturbation and is hidden from the
            policy.
        start: its start scene.
        step_limit: control steps after which it ends; 0 for the task's limit.
    """

    base_id: str
    instance: TestInstance
    perturbation: str = BASE
    repeat: int = 0
    note: str = ""
    start: Start = Start.UNKNOWN
    step_limit: int = 0


@dataclass(frozen=True)
class Skipped:
    """A trial that is not run; it is always recorded.

    Attributes:
        base_id: instance_id of the unperturbed test instance.
        perturbation: ``base`` or the perturbation's name.
        reason: reason in words.
    """

    base_id: str
    perturbation: str
    reason: str


@dataclass(frozen=True)
class StrategyContext:
    """Everything a strategy may use.

    Attributes:
        task: the task.
        test_set: the evaluation set X in the session's shuffled order.
        perturbations: the perturbation set P, in the order they are applied.
        repeats: number of runs of each instance.
        rng: ``rng(*keys)`` returns a generator that depends on the session's seed and the keys alone, so that a draw
            does not depend on earlier draws.
        budget: K, in the cost model's unit; infinity for no limit. The session enforces it; a strategy may
            plan with it.
        cost: cost of a set-up.
        tolerance: distance and angle from its wanted pose at which an object may still stay.
        metric: the session's metric M.
        pooled_steps: whether the skills of a chain have one budget of control steps together.
    """

    task: Task
    test_set: tuple[TestInstance, ...]
    perturbations: tuple[Perturbation, ...]
    repeats: int
    rng: Callable[..., np.random.Generator]
    budget: float = inf
    cost: CostModel = field(default_factory=MetresMoved)
    tolerance: AnyTolerance = field(default_factory=Tolerance)
    metric: ScoreSpec = field(kw_only=True)
    pooled_steps: bool = False


@dataclass(frozen=True)
class Completed:
    """The result of a trial that a strategy proposed, which is sent to the strategy if the trial is not left out.

    Attributes:
        result: the scores.
        cost: cost of all its set-ups, in the cost model's unit, void attempts included.
    """

    result: TrialResult
    cost: float


StrategyRun = Generator["Proposal | Skipped", "Completed | None", None]
"""Yields a Proposal and is sent the result of that trial, or None if the person at the robot leaves it out; yields a
Skipped and is sent None.

A strategy is a generator that draws only from its context and the sent results, so it is resumed by sending it the
results in the journal again. A void trial is never sent: the session runs it again. After a trial that is left out a
strategy continues as well as it can: it also leaves out further repeats of it, and all trials of a test instance if its
base trial is left out. ``run_repeats`` and ``run_contrasts`` do.
"""


class PerturbationUse(Enum):
    """Whether a strategy takes a perturbation set P."""

    NONE = "none"
    """It takes none."""
    OPTIONAL = "optional"
    """It runs base trials alone without one."""
    REQUIRED = "required"
    """It needs one."""


class Strategy(Protocol):
    """An order of trials, as a base class or an example. Its entry point names the class, which takes no arguments.

    Attributes:
        name: the name in parameter files.
        description: one line for ``--help``.
        uses_perturbations: whether it takes, or needs, a set P.
        base_trials_iid: whether base trials are run each in its own scene and in the shuffled order of the test set, as
            far as it goes, so that at every moment the finished ones are an i.i.d. sample.
    """

    name: str
    description: str
    uses_perturbations: PerturbationUse
    base_trials_iid: bool

    def run(self, context: StrategyContext) -> StrategyRun:
        """Return the trials, one at a time."""

    def trials_expected(self, context: StrategyContext) -> int:
        """Return the number of trials if nothing is skipped and the budget suffices: |X| (1 + |P|) repeats."""
        used = () if self.uses_perturbations is PerturbationUse.NONE else context.perturbations
        return len(context.test_set) * (1 + len(used)) * context.repeats


class FullStrategy(Strategy, Protocol):
    """Optional attributes of a strategy; a missing one is false.

    Attributes:
        conditions: names that its trials have in place of a perturbation's, beside ``base``: the strategy itself makes
            what differs from the base trial.
        needs_bounds: whether it refuses a metric whose range is open.
        blocks_independent: whether its blocks (the successive trials of one test instance) are in the order of the test
            set, and the trials of each follow from the block's own results and the context without its budget. Each
            such block can be run alone.
    """

    conditions: tuple[str, ...]
    needs_bounds: bool
    blocks_independent: bool


def solved_at_start(task: Task, instance: TestInstance) -> bool:
    """Return whether the instance's goal holds before the robot has moved: such an instance is never run."""
    return task.goals.goal(instance.instruction, instance.scene).satisfied(instance.scene)
