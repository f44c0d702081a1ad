"""The plan is what a session does when every trial succeeds."""

from __future__ import annotations

import math

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from line_world import LineBench, line_evaluation

from robocontrast_ros.domain import Scene
from robocontrast_ros.runs.events import SetUp, TrialFinished
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.plan import plan_session
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.strategies.limited_intervention import LimitedIntervention, LimitedInterventionSkip
from robocontrast_ros.tasks.language_table import planner


@pytest.mark.parametrize("budget", [math.inf, 2.0])
def test_a_policy_that_never_fails_runs_the_plan(tmp_path, budget):
    path = tmp_path / "journal.jsonl"
    evaluation = line_evaluation(budget=budget, repeats=2)
    plan = plan_session(evaluation)
    run_session(evaluation, LineBench(skill=1.0, policy_faults=0.0, present=Scene()), path)
    events = read_journal(path).events
    ran = [(e.trial, e.cost) for e in events if isinstance(e, TrialFinished)]
    assert [(t.trial, t.cost) for t in plan.within_budget] == ran
    assert plan.cost == pytest.approx(math.fsum(e.cost for e in events if isinstance(e, SetUp)))


@pytest.mark.parametrize("strategy", [LimitedIntervention(), LimitedInterventionSkip()], ids=lambda s: s.name)
@given(seed=st.integers(0, 2**63 - 1), budget=st.floats(0.0, 10.0))
@examples(20)
def test_the_budget_cuts_every_trial_from_the_first_that_it_does_not_allow(strategy, seed, budget):
    plan = plan_session(line_evaluation(seed=seed, budget=budget, strategy=strategy))
    kept = plan.within_budget
    assert plan.trials[: len(kept)] == kept
    assert plan.cost <= budget + 1e-9
    if len(kept) < len(plan.trials):
        assert plan.trials[len(kept)].cumulative_cost > budget
    assert [t.cumulative_cost for t in plan.trials] == sorted(t.cumulative_cost for t in plan.trials)


def test_an_instruction_that_is_fulfilled_already_is_in_the_plan_with_its_reason_and_costs_nothing():
    planned = {"repeats": 2, "families": ("block_to_place",), "test_set_size": 12}
    resets = plan_session(line_evaluation(strategy=LimitedIntervention(), **planned))
    skips = plan_session(line_evaluation(strategy=LimitedInterventionSkip(), **planned))
    assert {(name, reason) for _, name, reason in skips.skipped} == {
        ("base", "the instruction is already fulfilled in the scene that the previous trial left")
    }
    assert not resets.skipped
    assert len(skips.trials) == 2 * (12 - len(skips.skipped))
    assert skips.cost < resets.cost


def test_what_does_not_apply_behind_the_budget_is_not_in_the_plan():
    everything = plan_session(line_evaluation(families=("block_to_block",)))
    last = everything.trials[-1].cumulative_cost
    half = plan_session(line_evaluation(families=("block_to_block",), budget=last / 2))
    assert len(half.trials) == len(everything.trials)
    assert 0 < len(half.skipped) < len(everything.skipped)
    assert half.skipped == everything.skipped[: len(half.skipped)]


def test_what_does_not_apply_is_in_the_plan_with_its_reason():
    plan = plan_session(line_evaluation(families=("block_to_block",)))
    assert {(name, reason) for _, name, reason in plan.skipped} == {("LB2", "there is no place that has an opposite")}


def test_each_instance_is_planned_once(monkeypatch):
    asked, find_push = [], planner.find_push

    def counted(goal, scene, *rest, **options):
        # The scenes are kept, so that no two have the same identity.
        asked.append((goal, scene))
        return find_push(goal, scene, *rest, **options)

    monkeypatch.setattr(planner, "find_push", counted)
    plan = plan_session(resolve("language_table_demo", Overrides(size=3)).evaluation())
    assert len(plan.trials) == 15
    assert len(asked) >= 15
    assert len({(goal, id(scene)) for goal, scene in asked}) == len(asked)


def test_an_observer_is_told_of_each_trial_that_is_planned():
    told = []
    plan = plan_session(line_evaluation(families=("block_to_block",)), told.append)
    costs = {status.trial.trial_id: status.budget.spent for status in told if status.result is not None}
    assert costs == {planned.trial.trial_id: planned.cumulative_cost for planned in plan.trials}
