"""Limited intervention: the baseline of seed 000, section 5.2, that resets only when it must, in two readings.

The paper resets "the scene unless a planner determines an instruction is infeasible". It does not state the treatment
of an instruction that the scene fulfils already, with which no trial can start: the scene is reset for it
(``limited_intervention``), or it is skipped (``limited_intervention_skip``). Only the second resets for infeasible
instructions alone, so it is nearer to the words; it runs fewer trials.
"""

from __future__ import annotations

from robocontrast_ros.domain import BASE, Scene, Start, TestInstance
from robocontrast_ros.strategies.protocol import (
    PerturbationUse,
    Proposal,
    Skipped,
    Strategy,
    StrategyContext,
    StrategyRun,
    solved_at_start,
)
from robocontrast_ros.strategies.repeats import run_repeats
from robocontrast_ros.tasks.protocol import Infeasible

FULFILLED = "the instruction is already fulfilled in the scene that the previous trial left"


class LimitedIntervention(Strategy):
    """The instructions of the test set one after another, in the scene that the last trial left.

    The scene is set up anew, as the instance's own scene, for the first trial and whenever the instruction cannot be
    given in the present scene, or is fulfilled in it already; the note has the reason.
    """

    name = "limited_intervention"
    description = "the test set's instructions without reset until one is infeasible or fulfilled already"
    uses_perturbations = PerturbationUse.NONE
    base_trials_iid = False
    blocks_independent = False
    skips_fulfilled = False

    def run(self, context: StrategyContext) -> StrategyRun:
        """Return the trials."""
        scene: Scene | None = None
        for base in context.test_set:
            step = self._step(context, base, scene)
            if isinstance(step, Skipped):
                yield step
                continue
            repeats = yield from run_repeats(step, context.repeats)
            if repeats:  # else it was left out
                scene = repeats[-1].result.final_scene

    def _step(self, context: StrategyContext, base: TestInstance, scene: Scene | None) -> Proposal | Skipped:
        """Return the trial in the scene that the last one left, else in its own scene, else the reason against it."""
        reason = "first trial"
        if scene is not None:
            reason = _misfit(context, base, scene)
            if not reason and context.task.goals.goal(base.instruction, scene).satisfied(scene):
                if self.skips_fulfilled:
                    return Skipped(base.instance_id, BASE, FULFILLED)
                reason = FULFILLED
            elif not reason:
                instance = _instance_there(context, base, scene)
                if isinstance(instance, TestInstance):
                    note = "in the scene that the previous trial left"
                    return Proposal(base.instance_id, instance, note=note, start=Start.LEFT)
                reason = instance
        if solved_at_start(context.task, base):
            return Skipped(base.instance_id, BASE, "the goal holds already in its own scene")
        note = f"reset to the scene of the test instance: {reason}"
        return Proposal(base.instance_id, base, note=note, start=Start.FULL_RESET)


class LimitedInterventionSkip(LimitedIntervention):
    """Limited intervention that skips an instruction which the present scene fulfils, and resets nothing for it.

    The skip has the reason. The next instruction is given in the same scene.
    """

    name = "limited_intervention_skip"
    description = "the test set's instructions without reset until one is infeasible; fulfilled ones are skipped"
    skips_fulfilled = True


def _misfit(context: StrategyContext, base: TestInstance, scene: Scene) -> str:
    """Return the reason why the words of an instruction do not fit a scene; empty if they do."""
    missing = ", ".join(sorted(set(base.scene.names) - set(scene.names)))
    if missing:
        return f"objects are missing from the scene that the previous trial left: {missing}"
    try:
        context.task.language.parse(base.instruction.words, scene)
    except ValueError as error:
        return f"the words do not fit the scene that the previous trial left: {error}"
    return ""


def _instance_there(context: StrategyContext, base: TestInstance, scene: Scene) -> TestInstance | str:
    """Return the instruction's test instance in a scene, or the reason why there is none."""
    made = context.task.make_instance(base.instance_id, base.instruction, scene)
    if isinstance(made, Infeasible):
        return f"the instruction cannot be given in the scene that the previous trial left: {made.reason}"
    return made
