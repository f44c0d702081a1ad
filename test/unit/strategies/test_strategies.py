"""The order of trials of each strategy, on blocks on a line."""

from __future__ import annotations

from dataclasses import replace

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from line_world import (
    AlreadySolved,
    Invert,
    LineBench,
    LineTask,
    MoveSource,
    OnlyAtHome,
    line,
    line_evaluation,
    to_block,
    to_place,
)

from robocontrast_ros.domain import BASE, Start, Trial
from robocontrast_ros.episodes.scoring.spl import Spl
from robocontrast_ros.sessions.seeding import generator, trial_seed
from robocontrast_ros.strategies.contrast_set import ContrastSet
from robocontrast_ros.strategies.limited_intervention import LimitedIntervention, LimitedInterventionSkip
from robocontrast_ros.strategies.protocol import (
    Completed,
    Proposal,
    Skipped,
    StrategyContext,
)
from robocontrast_ros.strategies.standard import Standard
from robocontrast_ros.tasks.protocol import Infeasible

TASK = LineTask()
LIMITED = (LimitedIntervention(), LimitedInterventionSkip())


def run(strategy, context, skill=1.0):
    """Return all steps, each proposal with the scene that it left."""
    bench = LineBench(skill=skill, policy_faults=0.0)
    steps, out, answer = strategy.run(context), [], None
    while True:
        try:
            step = steps.send(answer)
        except StopIteration:
            return out
        answer = None
        if isinstance(step, Proposal):
            seed = trial_seed(0, step.base_id, step.repeat)
            trial = Trial(len(out), step.base_id, step.perturbation, step.repeat, step.instance, seed)
            bench.present = step.instance.scene
            answer = Completed(bench.execute(trial, 0).result, 0.0)
        out.append((step, answer.result if answer else None))


def instance(name, instruction, **positions):
    made = TASK.make_instance(name, instruction, line(**positions))
    assert made is not None
    return made


def context(*test_set, perturbations=(), repeats=1):
    return StrategyContext(TASK, test_set, perturbations, repeats, lambda *keys: generator(0, *keys), metric=Spl.spec)


FAR = instance("x0", to_place("a", "left"), a=0.3, b=0.5, c=0.7, d=0.8)
BLOCKED = instance("x1", to_place("a", "right"), a=0.6, b=0.1, c=0.2, d=0.3)
"""Feasible in its own scene, not in the one that FAR leaves."""


@given(seed=st.integers(0, 2**63 - 1))
@examples(25)
def test_every_perturbed_trial_follows_its_own_base_trial_and_starts_where_the_trial_before_ended(seed):
    evaluation = line_evaluation(seed=seed, test_set_size=5)
    steps = run(ContrastSet(), evaluation.context(), 0.5)
    base_id, resulting = None, None
    for step, result in steps:
        if isinstance(step, Skipped):
            assert step.reason
            continue
        if step.perturbation == BASE:
            base_id = step.base_id
            assert step.instance in evaluation.test_set()
            assert step.start is Start.FULL_RESET
        else:
            assert step.base_id == base_id
            assert ("back in the scene" in step.note) is (step.start is Start.GONE_BACK)
            if step.start is not Start.GONE_BACK:
                assert step.start is Start.LEFT
                changed = [n for n in resulting.names if resulting[n] != step.instance.scene[n]]
                source = step.instance.instruction.get("source")
                assert changed == ([] if step.perturbation == "LB2" else [source])
        resulting = result.final_scene


def test_a_perturbation_that_only_applies_to_the_base_scene_goes_back_there_and_says_so():
    (_, _), (step, _) = run(ContrastSet(), context(FAR, perturbations=(OnlyAtHome(),)))
    assert step.perturbation == "HOME"
    assert step.instance.scene == FAR.scene
    assert step.start is Start.GONE_BACK
    assert step.note == (
        "the same again; back in the scene of the test instance, for in the scene that resulted: the scene is another"
    )


def test_a_perturbation_that_does_not_apply_is_skipped_with_its_reason():
    base = instance("x2", to_block("a", "b"), a=0.3, b=0.5, c=0.7, d=0.8)
    (_, _), (step, _) = run(ContrastSet(), context(base, perturbations=(Invert(),)))
    assert step == Skipped("x2", "LB2", "there is no place that has an opposite")


def test_a_perturbation_that_solves_the_instance_is_skipped():
    (_, _), (step, _) = run(ContrastSet(), context(FAR, perturbations=(AlreadySolved(),)))
    assert step == Skipped("x0", "SOLVED", "the perturbed goal would hold at the start")


def test_a_test_instance_that_is_solved_in_its_own_scene_is_skipped_with_all_its_perturbations():
    solved = replace(FAR, scene=line(a=0.1, b=0.5, c=0.7, d=0.8))
    skipped = run(ContrastSet(), context(solved, perturbations=(Invert(), MoveSource())))
    assert [step.perturbation for step, _ in skipped] == [BASE, "LB2", "SB2"]
    for strategy in (Standard(), *LIMITED):
        ((step, _),) = run(strategy, context(solved))
        assert step == Skipped("x0", BASE, "the goal holds already in its own scene")


def test_standard_evaluation_runs_each_test_instance_in_its_own_scene():
    steps = run(Standard(), context(FAR, BLOCKED))
    assert [step.instance for step, _ in steps] == [FAR, BLOCKED]


@pytest.mark.parametrize("strategy", LIMITED, ids=lambda s: s.name)
def test_limited_intervention_stays_in_the_scene_as_long_as_the_planner_finds_a_way(strategy):
    second = instance("x1", to_block("b", "a"), a=0.1, b=0.6, c=0.7, d=0.8)
    (_, first), (step, _) = run(strategy, context(FAR, second))
    assert step.instance == TASK.make_instance("x1", second.instruction, first.final_scene)
    assert (step.start, step.note) == (Start.LEFT, "in the scene that the previous trial left")


@pytest.mark.parametrize("strategy", LIMITED, ids=lambda s: s.name)
def test_limited_intervention_resets_when_the_planner_finds_no_way(strategy):
    (_, _), (step, _) = run(strategy, context(FAR, BLOCKED))
    assert (step.instance, step.start) == (BLOCKED, Start.FULL_RESET)
    assert step.note == (
        "reset to the scene of the test instance: the instruction cannot be given in the scene that the previous "
        "trial left: the heavy block is in the way"
    )


AGAIN = instance("x1", to_place("a", "left"), a=0.4, b=0.5, c=0.7, d=0.8)
"""Its instruction is fulfilled where FAR has been solved, and where it has not been, it is not."""


def test_limited_intervention_resets_when_the_instruction_is_fulfilled_already():
    (_, _), (step, _) = run(LimitedIntervention(), context(FAR, AGAIN))
    assert step.instance == AGAIN
    assert step.note.endswith("the instruction is already fulfilled in the scene that the previous trial left")


@pytest.mark.parametrize("repeats", [1, 3])
def test_the_other_reading_skips_an_instruction_that_is_fulfilled_already_and_goes_on_in_the_same_scene(
    repeats,
):
    third = instance("x2", to_block("b", "a"), a=0.1, b=0.6, c=0.7, d=0.8)
    *first, (skip, _), (step, _) = run(LimitedInterventionSkip(), context(FAR, AGAIN, third, repeats=repeats))[
        : repeats + 2
    ]
    assert len(first) == repeats
    reason = "the instruction is already fulfilled in the scene that the previous trial left"
    assert skip == Skipped("x1", BASE, reason)
    assert step.instance == TASK.make_instance("x2", third.instruction, first[-1][1].final_scene)
    assert step.start is Start.LEFT


def test_the_other_reading_runs_one_trial_where_all_instructions_are_the_same():
    rest = [replace(AGAIN, instance_id=f"x{number}") for number in range(1, 6)]
    (step, _), *skips = run(LimitedInterventionSkip(), context(FAR, *rest))
    assert step.base_id == "x0"
    assert [skip.base_id for skip, _ in skips] == ["x1", "x2", "x3", "x4", "x5"]
    assert all(isinstance(skip, Skipped) for skip, _ in skips)


@given(seed=st.integers(0, 2**63 - 1), repeats=st.integers(1, 3), skill=st.floats(0.0, 1.0))
@examples(50)
def test_the_other_reading_resets_for_no_instruction_that_is_fulfilled_already(seed, repeats, skill):
    evaluation = line_evaluation(seed=seed, repeats=repeats, strategy=LimitedInterventionSkip(), test_set_size=8)
    scene = None
    for step, result in run(LimitedInterventionSkip(), evaluation.context(), skill):
        instruction = next(x for x in evaluation.test_set() if x.instance_id == step.base_id).instruction
        fulfilled = scene is not None and TASK.goals.goal(instruction, scene).satisfied(scene)
        if isinstance(step, Skipped):
            assert fulfilled
            continue
        if step.repeat == 0:
            assert not fulfilled
            infeasible = scene is None or isinstance(TASK.planner.plan(instruction, scene), Infeasible)
            assert step.start is (Start.FULL_RESET if infeasible else Start.LEFT)
        if step.repeat == repeats - 1:
            scene = result.final_scene


@pytest.mark.parametrize("strategy", LIMITED, ids=lambda s: s.name)
def test_limited_intervention_resets_when_the_words_do_not_fit_the_scene(strategy):
    words = replace(BLOCKED.instruction, text="shove it over there")
    (_, _), (step, _) = run(strategy, context(FAR, replace(BLOCKED, instruction=words)))
    assert "the words do not fit the scene" in step.note


@pytest.mark.parametrize("strategy", LIMITED, ids=lambda s: s.name)
def test_limited_intervention_resets_when_an_object_is_gone(strategy):
    steps = strategy.run(context(FAR, BLOCKED))
    next(steps)
    bench = LineBench(skill=1.0, policy_faults=0.0, present=FAR.scene)
    result = bench.execute(Trial(0, "x0", BASE, 0, FAR, 0), 0).result
    step = steps.send(Completed(replace(result, final_scene=line(a=0.1, b=0.5)), 0.0))
    assert step.note.endswith("objects are missing from the scene that the previous trial left: c, d")
