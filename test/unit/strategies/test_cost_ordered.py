"""The order of test instances that costs least, and which of them are run at all."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from line_world import Invert, LineBench, MoveSource, line_evaluation

from robocontrast_ros.domain import BASE, Scene
from robocontrast_ros.runs.events import SessionFinished, SetUp, TrialFinished
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.plan import plan_session
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.strategies.contrast_set import ContrastSet
from robocontrast_ros.strategies.cost_ordered import CostOrdered
from robocontrast_ros.strategies.standard import Standard
from robocontrast_ros.strategies.visit_order import RESOLUTION, shortest_path


def length(costs, start, order):
    return start[order[0]] + sum(costs[a][b] for a, b in itertools.pairwise(order))


@given(
    number=st.integers(1, 7),
    seed=st.integers(0, 2**32 - 1),
    from_somewhere=st.booleans(),
)
@examples(25)
def test_a_path_through_few_places_is_the_shortest(number, seed, from_somewhere):
    # Eight blocks in the plane, of which each visit leaves one elsewhere: there and back are not the same.
    rng = np.random.default_rng(seed)
    scenes, present = rng.random((number, 8, 2)), rng.random((8, 2))
    left = np.concatenate([rng.random((number, 1, 2)), scenes[:, 1:]], axis=1)
    costs = np.linalg.norm(left[:, None] - scenes, axis=-1).sum(axis=-1)
    start = np.linalg.norm(present - scenes, axis=-1).sum(axis=-1) * from_somewhere
    order = shortest_path(costs, start if from_somewhere else None)
    assert sorted(order) == list(range(number))
    best = min(length(costs, start, p) for p in itertools.permutations(range(number)))
    assert length(costs, start, order) <= best + (number + 1) / RESOLUTION


def test_a_path_through_many_places_is_near_the_lower_bound_and_always_the_same():
    points = np.random.default_rng(4).random((150, 4))
    costs = np.linalg.norm(points[:, None] - points[None], axis=-1)
    order = shortest_path(costs)
    assert sorted(order) == list(range(150))
    assert shortest_path(costs) == order
    nearest = costs + np.diag([np.inf] * 150)
    assert length(costs, np.zeros(150), order) <= 1.35 * nearest.min(axis=0).sum()
    assert length(costs, np.zeros(150), order) <= 0.5 * length(costs, np.zeros(150), range(150))


@pytest.mark.parametrize("perturbed", [False, True], ids=["standard", "contrast_set"])
def test_on_the_language_table_the_order_costs_much_less_than_the_shuffled_one(perturbed):
    session = resolve("language_table_contrast", Overrides(size=24, budget=math.inf)).evaluation()
    session = replace(session, perturbations=session.perturbations[-1:] if perturbed else ())
    shuffled = plan_session(replace(session, strategy=ContrastSet() if perturbed else Standard()))
    ordered = plan_session(replace(session, strategy=CostOrdered()))
    assert {t.trial.base_id for t in ordered.trials} == {t.trial.base_id for t in shuffled.trials}
    assert ordered.cost < 0.85 * shuffled.cost


def ran(path):
    """Return the instances whose base trial ran, in order."""
    finished = [e.trial for e in read_journal(path).events if isinstance(e, TrialFinished)]
    return [t.base_id for t in finished if t.perturbation == BASE]


def ordered(**changes):
    return line_evaluation(**{"strategy": CostOrdered(), "test_set_size": 25, **changes})


@given(
    seed=st.integers(0, 2**63 - 1),
    budget=st.floats(0.5, 12.0),
    perturbed=st.booleans(),
    repeats=st.integers(1, 2),
)
@examples(15)
def test_what_is_run_within_a_budget_is_the_first_part_of_the_shuffled_order(
    tmp_path_factory, seed, budget, perturbed, repeats
):
    path = tmp_path_factory.mktemp("run") / "journal.jsonl"
    perturbations = (Invert(), MoveSource()) if perturbed else ()
    evaluation = ordered(seed=seed, budget=budget, perturbations=perturbations, repeats=repeats)
    end = run_session(evaluation, LineBench(skill=1.0, policy_faults=0.0, present=Scene()), path)
    shuffled = [i.instance_id for i in evaluation.test_set()]
    instances = ran(path)[::repeats]
    assert len(instances) == len(set(instances))
    assert set(instances) == set(shuffled[: len(instances)])
    assert (end.reason == "all_trials") == (len(instances) == 25 and end.reason != "budget")
    assert math.fsum(e.cost for e in read_journal(path).events if isinstance(e, SetUp)) <= budget + 1e-9


def test_without_a_budget_every_instance_is_run_once_with_its_perturbations(tmp_path):
    paths = [tmp_path / name for name in ("ordered", "shuffled")]
    for path, strategy in zip(paths, (CostOrdered(), ContrastSet()), strict=True):
        run_session(ordered(strategy=strategy), LineBench(skill=1.0, policy_faults=0.0), path)
    of = [
        {
            (e.trial.base_id, e.trial.perturbation, e.trial.instance)
            for e in read_journal(p).events
            if isinstance(e, TrialFinished)
        }
        for p in paths
    ]
    assert of[0] == of[1]
    assert ran(paths[0]) != ran(paths[1])


def test_the_budget_goes_further_than_in_shuffled_order(tmp_path):
    numbers = {}
    for strategy in (CostOrdered(), Standard()):
        path = tmp_path / strategy.name
        run_session(ordered(strategy=strategy, budget=15.0, perturbations=(), test_set_size=60), LineBench(), path)
        assert isinstance(read_journal(path).events[-1], SessionFinished)
        numbers[strategy.name] = len(ran(path))
    assert numbers["cost_ordered"] > 1.3 * numbers["standard"]


def test_where_trials_are_dearer_than_planned_the_last_of_the_shuffled_order_are_left_out(tmp_path):
    def kicked(trial, scene):
        (first, *_) = scene
        x, y, z = first.pose.position
        return scene.moved(first.name, replace(first.pose, position=(x, y, z + 0.5)))

    planned, path = tmp_path / "planned", tmp_path / "dearer"
    evaluation = ordered(budget=15.0, perturbations=(), test_set_size=60)
    run_session(evaluation, LineBench(skill=1.0, policy_faults=0.0, present=Scene()), planned)
    end = run_session(
        evaluation,
        LineBench(skill=1.0, policy_faults=0.0, present=Scene(), after_trial=kicked),
        path,
    )
    rank = {i.instance_id: n for n, i in enumerate(evaluation.test_set())}
    instances, hoped_for = ran(path), ran(planned)
    assert end.reason == "budget"
    left_out = set(hoped_for) - set(instances)
    assert len(left_out) >= 2
    assert instances != hoped_for[: len(instances)]
    # The same path was walked; what was left out comes, in shuffled order, after what was still ahead then.
    assert [i for i in hoped_for if i in instances] == instances
    assert min(rank[i] for i in left_out) > rank[instances[-1]]
