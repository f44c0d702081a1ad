"""Limited intervention: the baseline of seed 000, section 5.2, that resets only when it must."""

from __future__ import annotations

from robocontrast_ros.domain import BASE, Scene, Start, TestInstance
from robocontrast_ros.strategies.protocol import (
    PerturbationUse,
    Proposal,
    Skipped,
    StrategyContext,
    StrategyRun,
    solved_at_start,
)
from robocontrast_ros.strategies.repeats import run_repeats


class LimitedIntervention:
    """The instructions of the test set one after another, in the scene that the last trial left.

    The scene is set up anew, as the instance's own scene, for the first trial and whenever the
    instruction cannot be given in the present scene; the note says why.
    """

    name = "limited_intervention"
    description = "the test set's instructions without reset until the planner finds one infeasible"
    uses_perturbations = PerturbationUse.NONE
    base_trials_iid = False

    def run(self, context: StrategyContext) -> StrategyRun:
        """Return the trials."""
        scene: Scene | None = None
        for base in context.test_set:
            instance, note, start = _next_instance(context, base, scene)
            if instance is None:
                yield Skipped(base.instance_id, BASE, note)
                continue
            proposal = Proposal(base.instance_id, instance, note=note, start=start)
            repeats = yield from run_repeats(proposal, context.repeats)
            scene = repeats[-1].result.final_scene

    def trials_expected(self, context: StrategyContext) -> int:
        """Return |X| times the repeats."""
        return len(context.test_set) * context.repeats


def _next_instance(
    context: StrategyContext, base: TestInstance, scene: Scene | None
) -> tuple[TestInstance | None, str, Start]:
    """Return the instance to run, a note and its start; no instance, and the reason, when its own scene solves it."""
    reason = "first trial"
    if scene is not None:
        reason = _reason_to_reset(context, base, scene)
        if not reason:
            instance = context.task.make_instance(base.instance_id, base.instruction, scene)
            if instance is not None:
                return instance, "in the scene that the previous trial left", Start.LEFT
            reason = "the instruction cannot be given in the scene that the previous trial left"
    if solved_at_start(context.task, base):
        return None, "the goal holds already in its own scene", Start.FULL_RESET
    return base, f"reset to the scene of the test instance: {reason}", Start.FULL_RESET


def _reason_to_reset(context: StrategyContext, base: TestInstance, scene: Scene) -> str:
    """Return why the instruction cannot be given in a scene; empty when it can."""
    task, instruction = context.task, base.instruction
    if set(base.scene.names) - set(scene.names):
        missing = ", ".join(sorted(set(base.scene.names) - set(scene.names)))
        return f"objects are missing from the scene that the previous trial left: {missing}"
    try:
        task.parse(instruction.text, scene)
    except ValueError as error:
        return f"the words do not fit the scene that the previous trial left: {error}"
    if task.goal(instruction, scene).satisfied(scene):
        return "the instruction is already fulfilled in the scene that the previous trial left"
    if task.plan(instruction, scene) is None:
        return "the planner finds the instruction infeasible in the scene that the previous trial left"
    return ""
