"""The subject and the method of a session's evaluation, with every name resolved: all that its loop needs."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from robocontrast_ros.domain import ScoreSpec, TestInstance, find_spec
from robocontrast_ros.episodes.scoring import STANDARD, Score
from robocontrast_ros.perturbations.protocol import Perturbation
from robocontrast_ros.sessions.blinding import Blind
from robocontrast_ros.sessions.schema import StopEarlyParameters
from robocontrast_ros.sessions.seeding import generator
from robocontrast_ros.strategies.effort import AnyTolerance, CostModel, MetresMoved, Tolerance
from robocontrast_ros.strategies.protocol import Strategy, StrategyContext
from robocontrast_ros.tasks.protocol import Task


@dataclass(frozen=True)
class Evaluation:
    """One evaluation, ready to be run on a bench.

    Attributes:
        name: name of the session.
        seed: the seed that every draw is made from.
        task: the task.
        strategy: the order of trials.
        test_set_size: |X|, the number of i.i.d. test instances.
        perturbations: the perturbation set P, in the order they are applied.
        recorded: instances to take, the first ``test_set_size`` of them; drawn if there are none.
        families: the task's families to sample from, in turn; empty to draw them as the task does.
        repeats: number of runs of each instance.
        cost_model: model of set-up costs.
        budget: K, in the cost model's unit; infinity for no limit.
        max_trials: trials after which the session ends; None for no limit.
        void_retries: number of times that a void trial is tried again before the session stops.
        stop_early: the question after whose answer the session ends; None without one.
        tolerance: how far an object may be from its wanted pose and still stay.
        scores: those of the session, in the order of tables.
        moves_cameras: whether the world can move cameras for a trial.
        blind: the policies of a blind session, each of which runs every trial; None if one policy runs.
        person: whether a person sets scenes up; the person is told the moves in the cheapest order.
        metric: name of the score in summaries; the task's metric if empty.
        parameters: the resolved parameters, by file, as JSON; a resumed session must have the same.
    """

    name: str
    seed: int
    task: Task
    strategy: Strategy
    test_set_size: int
    perturbations: tuple[Perturbation, ...] = ()
    families: tuple[str, ...] = ()
    recorded: tuple[TestInstance, ...] = ()
    repeats: int = 1
    cost_model: CostModel = field(default_factory=MetresMoved)
    budget: float = math.inf
    max_trials: int | None = None
    void_retries: int = 2
    stop_early: StopEarlyParameters | None = None
    tolerance: AnyTolerance = field(default_factory=Tolerance)
    scores: tuple[type[Score], ...] = STANDARD
    metric: str = ""
    moves_cameras: bool = True
    person: bool = False
    blind: Blind | None = None
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def metric_spec(self) -> ScoreSpec:
        """Description of the metric M.

        Raises:
            KeyError: M is not one of the session's scores.
        """
        return find_spec((score.spec for score in self.scores), self.metric or self.task.metric)

    @property
    def digest(self) -> str:
        """SHA-256 of the resolved parameters, in hex."""
        return hashlib.sha256(json.dumps(self.parameters, sort_keys=True).encode()).hexdigest()

    def test_set(self) -> tuple[TestInstance, ...]:
        """Draw the i.i.d. test set X, or take the recorded one, in shuffled order.

        It depends on seed, task, size and families, or recorded instances, alone, so that strategies can be
        compared on it, and a larger test set holds every instance of a smaller one.
        """
        return self._test_set

    @cached_property
    def _test_set(self) -> tuple[TestInstance, ...]:
        drawn = self.recorded[: self.test_set_size] or [self._draw(number) for number in range(self.test_set_size)]
        order = generator(self.seed, "order").permutation(self.test_set_size)
        return tuple(drawn[i] for i in order)

    def _draw(self, number: int) -> TestInstance:
        rng = generator(self.seed, "test_set", number)
        family = self.families[number % len(self.families)] if self.families else None
        return self.task.sample(rng, f"x{number:04d}", family)

    def context(self) -> StrategyContext:
        """Return the strategy's context."""
        return StrategyContext(
            task=self.task,
            test_set=self.test_set(),
            perturbations=self.perturbations,
            repeats=self.repeats,
            rng=partial(generator, self.seed),
            budget=self.budget,
            cost=self.cost_model,
            tolerance=self.tolerance,
            metric=self.metric_spec,
        )
