"""Chains of skills: each in its own scene, then all in turn with the robot alone reset (seed 003, section IV-B).

The paper's challenge C3. A chain's skill has two trials: its base trial in the scene of the test instance, the ORI of
RPD, whose product over the chain is the Chain Upper Bound; and a trial in the scene that the skill before it has left.
The first skill has one, which is both. A chain ends with the first skill that fails; the skills that it reached are its
level. Each trial has the step limit of the task. With pooled steps, as in the paper, the trials of a chain share those
of all its skills, and the first skill has another trial there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

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
from robocontrast_ros.strategies.standard import FULL_RESET
from robocontrast_ros.tasks.protocol import SOLVED, Infeasible

CHAIN = "chain"
"""Used in place of a perturbation's name for the trial of a skill in the scene that the skill before it has left."""


class Chain(Strategy):
    """The skills of each chain in their own scene, the last one first, and then one after the other.

    So the scene is set up once for each skill; between the skills of a chain the robot alone goes to its start.
    """

    name = "chain"
    description = "chains of skills: each in its own scene, then all in turn, the robot alone reset between them"
    uses_perturbations = PerturbationUse.NONE
    base_trials_iid = False
    blocks_independent = False
    conditions = (CHAIN,)

    def run(self, context: StrategyContext) -> StrategyRun:
        """Return the trials."""
        for chain in chains_of(context.test_set):
            for repeat in range(context.repeats):
                yield from _run_chain(context, chain, repeat)

    def trials_expected(self, context: StrategyContext) -> int:
        """Return the number of trials if each skill succeeds."""
        again = 0 if context.pooled_steps else 1
        return sum(2 * len(chain) - again for chain in chains_of(context.test_set)) * context.repeats


def chains_of(test_set: tuple[TestInstance, ...]) -> Iterator[tuple[TestInstance, ...]]:
    """Yield the chains of a test set; an instance that follows none, and that none follows, is one of its own."""
    following = {x.after: x for x in test_set if x.after}
    for first in test_set:
        if not first.after:
            chain = [first]
            while (then := following.get(chain[-1].instance_id)) is not None:
                chain.append(then)
            yield tuple(chain)


def _run_chain(context: StrategyContext, chain: tuple[TestInstance, ...], repeat: int) -> StrategyRun:
    done = None
    for base in reversed(chain):
        if solved_at_start(context.task, base):
            yield Skipped(base.instance_id, BASE, "the goal holds already in its own scene")
            done = None
            continue
        done = yield Proposal(base.instance_id, base, repeat=repeat, note=FULL_RESET, start=Start.FULL_RESET)
    # The last one is that of the first skill. With pooled steps its limit in the chain is another one.
    left = len(chain) * context.task.step_limit if context.pooled_steps else 0
    skills = iter(chain)
    if context.pooled_steps and done is not None:
        first = chain[0]
        note = f"{FULL_RESET}; the first of a chain"
        done = yield Proposal(first.instance_id, first, CHAIN, repeat, note, Start.FULL_RESET, left)
        left -= done.result.steps if done is not None else 0
    before = next(skills)
    for base in skills:
        step: Proposal | Skipped = Skipped(base.instance_id, CHAIN, f"its chain ended with {before.instance_id}")
        if done is not None and done.result.success:
            step = _in_chain(context, before, base, done.result.final_scene, repeat)
        if isinstance(step, Skipped):
            yield step
            done = None
        elif context.pooled_steps and left < 1:
            yield Skipped(base.instance_id, CHAIN, "no control steps are left of those of its chain")
            done = None
        else:
            done = yield replace(step, step_limit=max(left, 0))
            left -= done.result.steps if done is not None and context.pooled_steps else 0
        before = base


def _in_chain(
    context: StrategyContext, before: TestInstance, base: TestInstance, left: Scene, repeat: int
) -> Proposal | Skipped:
    """Return a skill's trial in the scene that the skill before it has left, or why there is none."""
    task, scene = context.task, replace(left, contacts=(), carried=())
    reason = task.premise(base.instruction, scene) if task.premise is not None else None
    instance = None if reason else task.make_instance(f"{base.instance_id}-{CHAIN}", base.instruction, scene)
    if isinstance(instance, TestInstance):
        instance = replace(instance, problem=base.problem, after=base.after)
        if not solved_at_start(task, instance):
            note = f"in the scene that {before.instance_id} left"
            return Proposal(base.instance_id, instance, CHAIN, repeat, note, Start.ROBOT_ALONE)
        reason = SOLVED
    elif isinstance(instance, Infeasible):
        reason = instance.reason
    return Skipped(base.instance_id, CHAIN, f"in the scene that {before.instance_id} left: {reason}")
