"""Contrast set evaluation: Algorithm 1 of seed 000, appendix A, which here also runs the base trials."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from robocontrast_ros.domain import BASE, NotApplicable, Perturbed, Scene, Start, TestInstance
from robocontrast_ros.perturbations.protocol import Perturbation
from robocontrast_ros.strategies.protocol import (
    Completed,
    PerturbationUse,
    Proposal,
    Skipped,
    Strategy,
    StrategyContext,
    StrategyRun,
    solved_at_start,
)
from robocontrast_ros.strategies.repeats import Repeats, run_repeats
from robocontrast_ros.strategies.standard import FULL_RESET


class ContrastSet(Strategy):
    """Each test instance in its own scene, then its perturbations, each in the scene that resulted.

    The scene is reset before the base trial alone. A perturbation acts on the instruction of the base instance and on
    the scene that the trial before it left. If it does not apply to that scene, but to the scene of the base instance,
    it is run there: the note has the reason, and the cost of going back counts like any set-up.
    """

    name = "contrast_set"
    description = "each test instance, then its perturbations without a reset between them (Algorithm 1)"
    uses_perturbations = PerturbationUse.REQUIRED
    base_trials_iid = True
    blocks_independent = True

    def run(self, context: StrategyContext) -> StrategyRun:
        """Return the trials."""
        for base in context.test_set:
            yield from run_contrasts(context, base, context.perturbations)


def run_contrasts(
    context: StrategyContext, base: TestInstance, perturbations: Sequence[Perturbation]
) -> Generator[Proposal | Skipped, Completed | None, dict[str, Repeats]]:
    """Run a test instance, then perturbations of it, each in the scene that resulted.

    Returns:
        ``base`` and the names of the perturbations that could be applied -> their results, in order; no entry for a
        trial that was left out, and none if the instance's goal holds already in its own scene.
    """
    if solved_at_start(context.task, base):
        reason = "the test instance's goal holds already in its own scene"
        for name in (BASE, *(p.name for p in perturbations)):
            yield Skipped(base.instance_id, name, reason)
        return {}
    proposal = Proposal(base.instance_id, base, note=FULL_RESET, start=Start.FULL_RESET)
    done = {BASE: (yield from run_repeats(proposal, context.repeats))}
    if not done[BASE]:
        return {}
    scene = done[BASE][-1].result.final_scene
    for perturbation in perturbations:
        step = _perturb(context, base, perturbation, scene)
        if isinstance(step, Skipped):
            yield step
        elif repeats := (yield from run_repeats(step, context.repeats)):
            done[perturbation.name] = repeats
            scene = repeats[-1].result.final_scene
    return done


def _perturb(
    context: StrategyContext, base: TestInstance, perturbation: Perturbation, resulting: Scene
) -> Proposal | Skipped:
    """Return the perturbed trial in the scene that resulted, else in the base scene, else the reason against it."""
    here = _apply(context, base, perturbation, resulting, "resulting_scene")
    if isinstance(here, Perturbed):
        return Proposal(base.instance_id, here.instance, perturbation.name, note=here.note, start=Start.LEFT)
    there = _apply(context, base, perturbation, base.scene, "base_scene")
    if isinstance(there, Perturbed):
        why = f"back in the scene of the test instance, for in the scene that resulted: {here.reason}"
        note = f"{there.note}; {why}"
        return Proposal(base.instance_id, there.instance, perturbation.name, note=note, start=Start.GONE_BACK)
    return Skipped(base.instance_id, perturbation.name, there.reason)


def _apply(
    context: StrategyContext, base: TestInstance, perturbation: Perturbation, scene: Scene, where: str
) -> Perturbed | NotApplicable:
    rng = context.rng("perturbation", base.instance_id, perturbation.name, where)
    answer = perturbation.apply(context.task, base, scene, rng)
    if isinstance(answer, Perturbed) and solved_at_start(context.task, answer.instance):
        return NotApplicable("the perturbed goal would hold at the start")
    return answer
