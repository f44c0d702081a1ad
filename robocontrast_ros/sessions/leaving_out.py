"""Trials that the person at the robot leaves out: the strategy is asked again, as if they could not be run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from robocontrast_ros.domain import BASE, NotApplicable, Perturbed, Scene, TestInstance, Trial
from robocontrast_ros.perturbations.protocol import Perturbation
from robocontrast_ros.sessions.blocks import TrialSequence
from robocontrast_ros.strategies.protocol import Completed, Skipped, StrategyContext, StrategyRun
from robocontrast_ros.tasks.protocol import Task

LeftOut = Collection[tuple[str, str]]
"""(base_id, perturbation) of trials that a person left out; ``base`` stands for all trials of a test instance."""

REASON = "left out by the person at the robot"


def without(context: StrategyContext, left_out: LeftOut) -> StrategyContext:
    """Return the context of a strategy that is to leave trials out."""
    if not left_out:
        return context
    whole = {base_id for base_id, perturbation in left_out if perturbation == BASE}
    return replace(
        context,
        test_set=tuple(base for base in context.test_set if base.instance_id not in whole),
        perturbations=tuple(_Unless(perturbation, left_out) for perturbation in context.perturbations),
    )


def can_leave_out(
    steps: StrategyRun,
    sequence: TrialSequence,
    done: Sequence[tuple[Trial, Completed]],
    at: Callable[[int], None] = lambda trial: None,
) -> bool:
    """Tell whether a strategy that leaves trials out proposes the trials that were run all the same.

    Args:
        steps: what it proposes, from the first trial on.
        sequence: makes trials of that.
        done: the trials that were run, in order, and what it was sent for them.
        at: called with the index of the trial that the strategy is asked for next.
    """
    answer, position = None, 0
    while position < len(done):
        at(position)
        try:
            step = steps.send(answer)
        except StopIteration:
            return False
        answer = None
        if isinstance(step, Skipped):
            continue
        trial, answer = done[position]
        if sequence.next(step) != trial:
            return False
        position += 1
    return True


class _Unless:
    """A ``Perturbation`` that does not apply to the test instances for which it was left out."""

    def __init__(self, perturbation: Perturbation, left_out: LeftOut) -> None:
        self._perturbation, self._left_out = perturbation, left_out

    def __getattr__(self, name: str) -> Any:
        return getattr(self._perturbation, name)

    def apply(
        self, task: Task, base: TestInstance, scene: Scene, rng: np.random.Generator
    ) -> Perturbed | NotApplicable:
        """Return the perturbation's answer, unless it was left out."""
        if (base.instance_id, self._perturbation.name) in self._left_out:
            return NotApplicable(REASON)
        return self._perturbation.apply(task, base, scene, rng)
