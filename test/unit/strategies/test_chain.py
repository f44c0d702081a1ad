"""Chains of skills: each in its own scene, and all in turn with the robot alone reset (seed 003, section IV-B)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from kitchen_instances import every_kitchen

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import BASE, Outcome, Start
from robocontrast_ros.runs.events import SessionFinished, SetUp, TrialFinished, TrialSkipped
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.sessions.fast_mode import open_bench
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.plan import plan_session
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.strategies.chain import CHAIN, Chain, chains_of
from robocontrast_ros.strategies.prediction import result_of_success
from robocontrast_ros.strategies.protocol import Completed, Proposal, Skipped

TASK = every_kitchen()
SKILLS = ["kitchen_1_open_bottom_drawer", "kitchen_1_open_top_drawer", "kitchen_1_bowl_on_cabinet"]


def session(chains=(SKILLS,), size=1, **settings):
    """Return a session of chains."""
    return resolve("kitchen_c3", Overrides(size=size, settings={"test_set.chains": chains, "cameras": [], **settings}))


def played(context, fails=lambda proposal: False, took=None):
    """Return what the strategy yields; a trial that fails leaves its scene as it is."""
    steps, answer, asked = Chain().run(context), None, []
    while True:
        try:
            step = steps.send(answer)
        except StopIteration:
            return asked
        asked.append(step)
        answer = None
        if isinstance(step, Proposal):
            result = result_of_success(context.task, step.instance, context.metric)
            if took is not None:
                result = replace(result, steps=took)
            if fails(step):
                result = replace(
                    result,
                    outcome=Outcome.FAILURE,
                    scores={**result.scores, "success": 0.0},
                    final_scene=step.instance.scene,
                )
            answer = Completed(result, 0.0)


def keys(asked):
    return [(type(step).__name__, step.base_id, step.perturbation) for step in asked]


@pytest.fixture(scope="module")
def context():
    return session().evaluation().context()


def test_a_test_set_of_chains_has_each_skill_as_an_instance_in_one_scene(context):
    first, second, third = context.test_set
    assert [x.instance_id for x in context.test_set] == ["x0000", "x0000.1", "x0000.2"]
    assert [x.after for x in context.test_set] == ["", "x0000", "x0000.1"]
    assert [x.problem for x in context.test_set] == SKILLS
    assert first.scene == second.scene == third.scene
    assert list(chains_of(context.test_set)) == [context.test_set]


def test_skills_run_alone_first_and_then_in_turn_where_the_one_before_has_left_them(context):
    asked = played(context)
    alone, then = asked[:3], asked[3:]
    assert [(p.base_id, p.perturbation, p.start) for p in alone] == [
        (name, BASE, Start.FULL_RESET) for name in ("x0000.2", "x0000.1", "x0000")
    ]
    assert [(p.base_id, p.perturbation, p.start) for p in then] == [
        (name, CHAIN, Start.ROBOT_ALONE) for name in ("x0000.1", "x0000.2")
    ]
    assert Chain().trials_expected(context) == len(asked)
    left = result_of_success(context.task, alone[-1].instance, context.metric).final_scene
    assert then[0].instance.scene.objects == left.objects
    assert [p.instance.instruction for p in then] == [x.instruction for x in context.test_set[1:]]
    assert [p.instance.problem for p in then] == SKILLS[1:]


def test_a_chain_ends_with_the_first_skill_that_fails_and_what_is_not_reached_is_said(context):
    asked = played(context, lambda p: (p.base_id, p.perturbation) == ("x0000.1", CHAIN))
    assert keys(asked[3:]) == [("Proposal", "x0000.1", CHAIN), ("Skipped", "x0000.2", CHAIN)]
    assert asked[-1].reason == "its chain ended with x0000.1"
    asked = played(context, lambda p: (p.base_id, p.perturbation) == ("x0000", BASE))
    assert keys(asked[3:]) == [("Skipped", "x0000.1", CHAIN), ("Skipped", "x0000.2", CHAIN)]
    # What a skill does alone ends no chain.
    asked = played(context, lambda p: (p.base_id, p.perturbation) == ("x0000.2", BASE))
    assert all(isinstance(step, Proposal) for step in asked) and len(asked) == 5


def test_each_repeat_is_a_whole_chain(context):
    asked = played(replace(context, repeats=2))
    assert [step.repeat for step in asked] == [0] * 5 + [1] * 5


def test_with_pooled_steps_a_chain_has_the_limits_of_its_skills_together(context):
    pooled = replace(context, pooled_steps=True)
    asked = played(pooled, took=100)
    assert keys(asked[3:]) == [("Proposal", name, CHAIN) for name in ("x0000", "x0000.1", "x0000.2")]
    assert [p.step_limit for p in asked[:3]] == [0] * 3, "alone each has the limit of the task"
    whole = 3 * TASK.step_limit
    assert [p.step_limit for p in asked[3:]] == [whole, whole - 100, whole - 200]
    assert [p.start for p in asked[3:]] == [Start.FULL_RESET, Start.ROBOT_ALONE, Start.ROBOT_ALONE]
    assert Chain().trials_expected(pooled) == len(asked)


def test_a_chain_that_has_used_all_its_steps_ends(context):
    asked = played(replace(context, pooled_steps=True), took=2 * TASK.step_limit)
    assert isinstance(asked[-1], Skipped) and asked[-1].reason.startswith("no control steps are left")


def test_a_skill_that_cannot_be_done_in_the_scene_that_was_left_is_skipped_with_the_reason(context):
    first, second, _ = context.test_set
    # The second chain's skill asks for what the first has done.
    again = replace(second, instruction=first.instruction, scene=first.scene)
    asked = played(replace(context, test_set=(first, again)))
    assert isinstance(asked[-1], Skipped)
    assert asked[-1].reason.startswith("in the scene that x0000 left: the instruction is already fulfilled")


def test_a_plan_of_chains_costs_nothing_between_their_skills():
    plan = plan_session(session().evaluation())
    assert [trial.cost for trial in plan.trials][3:] == [0.0, 0.0] and not plan.blocks_independent


@pytest.mark.parametrize(
    ("chains", "words"),
    [
        ([["kitchen_1_open_top_drawer", "kitchen_2_open_top_drawer"]], "problems that share one scene"),
        ([["kitchen_4_close_bottom_drawer"] * 2], "the instruction is already fulfilled in this scene"),
        ([["kitchen_1_open_top_drawer"]], "chains of two skills or more"),
        ([["kitchen_1_open_top_drawer", "kitchen_1_open_top_drawr"]], "Did you mean 'kitchen_1_open_top_drawer'?"),
    ],
)
def test_a_chain_that_cannot_be_is_refused_in_one_line(chains, words):
    with pytest.raises(ConfigurationError) as error:
        session(chains).evaluation().test_set()
    assert words in str(error.value) and "test_set" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_task_without_problems_has_no_chains():
    settings = {"test_set.chains": [["a", "b"]], "test_set.families": None, "strategy": {"name": "chain"}}
    with pytest.raises(ConfigurationError, match="no chains: the task 'language_table' has none"):
        resolve("language_table_demo", Overrides(settings=settings))


def test_a_chain_is_run_and_recorded_in_the_physics(tmp_path):
    chain = [["kitchen_1_open_top_drawer", "kitchen_1_bowl_on_cabinet"]]
    chosen = session(chain)
    bench = open_bench(chosen)
    end = run_session(chosen.evaluation(), bench, tmp_path / "journal.jsonl")
    bench.close()
    assert isinstance(end, SessionFinished)
    events = read_journal(tmp_path / "journal.jsonl").events
    done = [event for event in events if isinstance(event, TrialFinished)]
    assert [event.result.outcome for event in done] == [Outcome.SUCCESS] * 3
    assert [(e.trial.base_id, e.trial.perturbation, e.trial.twin) for e in done] == [
        ("x0000.1", BASE, ""),
        ("x0000", BASE, ""),
        ("x0000.1", CHAIN, "0000"),
    ]
    set_up = [event for event in events if isinstance(event, SetUp)][-1]
    assert set_up.moves == () and done[-1].trial.instance.after == "x0000"
    assert not [event for event in events if isinstance(event, TrialSkipped)]
