"""Predicted results of trials: each succeeds in the planner's way."""

from __future__ import annotations

import math
from dataclasses import dataclass

from robocontrast_ros.domain import Fault, Outcome, Scene, ScoreSpec, TestInstance, TrialResult
from robocontrast_ros.perturbations.protocol import Perturbation
from robocontrast_ros.strategies.contrast_set import run_contrasts
from robocontrast_ros.strategies.effort import setup_moves
from robocontrast_ros.strategies.protocol import Completed, Proposal, StrategyContext
from robocontrast_ros.tasks.protocol import Infeasible, Task


def result_of_success(task: Task, instance: TestInstance, metric: ScoreSpec) -> TrialResult:
    """Return the result of a trial that ends in the planner's final scene.

    Its scores are those of the planner's path, and the best value of the session's metric, if there is one.

    Raises:
        ValueError: the planner finds the instance infeasible.
    """
    plan = task.planner.plan(instance.instruction, instance.scene)
    if isinstance(plan, Infeasible):
        raise ValueError(f"'{instance.instruction.text}' in {instance.instance_id} is infeasible: {plan.reason}")
    return TrialResult(
        outcome=Outcome.SUCCESS,
        fault=Fault.NONE,
        detail="",
        scores={metric.name: metric.best, "success": 1.0, "spl": 1.0, "progress": 1.0}
        | {"distance_to_goal": 0.0, "path_length": plan.length},
        optimal_path_length=plan.length,
        steps=0,
        duration=0.0,
        clamped_steps=0,
        final_scene=plan.final_scene,
    )


@dataclass(frozen=True)
class Visit:
    """A test instance with its perturbed trials, as they are expected to go.

    Attributes:
        base: the test instance; its own scene has to be set up first.
        cost: cost of the set-ups between its trials, without the first one, which depends on the scene before it.
        left: the scene that its last trial leaves.
    """

    base: TestInstance
    cost: float
    left: Scene


def predict_visit(context: StrategyContext, base: TestInstance, perturbations: tuple[Perturbation, ...]) -> Visit:
    """Predict running an instance and these perturbations of it, if every trial succeeds.

    Args:
        context: context of the strategy.
        base: an instance whose goal does not hold at its start.
        perturbations: perturbations in the order they are applied.
    """
    steps = run_contrasts(context, base, perturbations)
    answer: Completed | None = None
    scene, costs = base.scene, []
    while True:
        try:
            step = steps.send(answer)
        except StopIteration:
            return Visit(base, math.fsum(costs), scene)
        answer = None
        if isinstance(step, Proposal):
            moves = setup_moves(scene, step.instance.scene, context.tolerance)
            costs.append(context.cost.cost(moves))
            answer = Completed(result_of_success(context.task, step.instance, context.metric), costs[-1])
            scene = answer.result.final_scene
