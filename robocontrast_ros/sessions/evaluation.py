"""The subject and the method of a session's evaluation, with every name resolved: all that its loop needs."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import ScoreSpec, TestInstance, find_spec
from robocontrast_ros.episodes.scoring import STANDARD, Score
from robocontrast_ros.perturbations.protocol import Perturbation
from robocontrast_ros.sessions.schema import SessionParameters
from robocontrast_ros.sessions.seeding import generator
from robocontrast_ros.strategies.effort import AnyTolerance, CostModel, MetresMoved, Tolerance
from robocontrast_ros.strategies.protocol import Strategy, StrategyContext
from robocontrast_ros.tasks.protocol import Task
from robocontrast_ros.worlds.backends import BackendFeatures


@dataclass(frozen=True)
class Evaluation:
    """One evaluation, ready to be run on a bench.

    Attributes:
        session: the session's record; what it names is loaded below.
        task: the task.
        strategy: the order of trials.
        perturbations: the perturbation set P, in the order they are applied.
        recorded: instances to take, as many as the session's test set has; drawn where there are none.
        cost_model: what a set-up costs.
        tolerance: how far an object may be from its wanted pose and still stay.
        scores: those of the session, in the order of tables.
        blind_files: parameter files of the policies of which each runs every trial, and nobody is to know which runs;
            empty where one runs.
        features: what the world can do; a person who sets scenes up is told the moves in the cheapest order.
        parameters: the resolved parameters, by file, as JSON; a resumed session must have the same.
    """

    session: SessionParameters
    task: Task
    strategy: Strategy
    perturbations: tuple[Perturbation, ...] = ()
    recorded: tuple[TestInstance, ...] = ()
    cost_model: CostModel = field(default_factory=MetresMoved)
    tolerance: AnyTolerance = field(default_factory=Tolerance)
    scores: tuple[type[Score], ...] = STANDARD
    features: BackendFeatures = field(default_factory=lambda: BackendFeatures(moves_cameras=True))
    blind_files: tuple[Path, ...] = ()
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def budget(self) -> float:
        """K, in the cost model's unit; infinity for no limit."""
        return math.inf if self.session.budget is None else self.session.budget

    @property
    def metric_spec(self) -> ScoreSpec:
        """Description of the metric M.

        Raises:
            KeyError: M is not one of the session's scores.
        """
        return find_spec((score.spec for score in self.scores), self.session.metric or self.task.metric)

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
        size = self.session.test_set.size or len(self.recorded)
        drawn = [(x,) for x in self.recorded[:size]] or [self._draw(number) for number in range(size)]
        order = generator(self.session.seed, "order").permutation(size)
        return tuple(instance for i in order for instance in drawn[i])

    def _draw(self, number: int) -> tuple[TestInstance, ...]:
        """Draw a test instance, or those of a chain, in its order.

        Raises:
            ConfigurationError: the skills of a chain share no scene, or cannot follow one another.
        """
        rng, name, asked = generator(self.session.seed, "test_set", number), f"x{number:04d}", self.session.test_set
        if asked.chains:
            index = number % len(asked.chains)
            chain = asked.chains[index]
            try:
                return self.task.sample_chain(chain, rng, name)
            except ConfigurationError:
                raise
            except ValueError as error:
                key = f"test_set.chains.{index}"
                raise ConfigurationError(self.session.name, key, ", ".join(chain), str(error)) from None
        family = asked.families[number % len(asked.families)] if asked.families else None
        return (self.task.sample(rng, name, family),)

    def context(self) -> StrategyContext:
        """Return the strategy's context."""
        return StrategyContext(
            task=self.task,
            test_set=self.test_set(),
            perturbations=self.perturbations,
            repeats=self.session.repeats,
            rng=partial(generator, self.session.seed),
            budget=self.budget,
            cost=self.cost_model,
            tolerance=self.tolerance,
            metric=self.metric_spec,
            pooled_steps=self.session.strategy.pooled_steps,
        )
