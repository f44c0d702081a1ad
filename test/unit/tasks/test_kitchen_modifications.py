"""Modifications of a kitchen scene keep the rules of seed 003, section IV-A: each is one of observation space alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from examples import examples
from hypothesis import example, given
from hypothesis import strategies as st
from kitchen_instances import BUILDABLE, KITCHEN, every_kitchen, instance

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.contracts.perturbation import PerturbationContract
from robocontrast_ros.domain import NotApplicable, Perturbed, whole_of
from robocontrast_ros.objects.settling import settle
from robocontrast_ros.perturbations.loading import load_perturbation
from robocontrast_ros.perturbations.modifications import Add, Contain, ModificationParameters, Modify, Move, Toggle
from robocontrast_ros.strategies.effort import Tolerance, setup_moves
from robocontrast_ros.tasks.bddl import first_flaw
from robocontrast_ros.tasks.bddl.modifications import KINDS, modifications, modified, read_vocabulary, refusal
from robocontrast_ros.tasks.kitchen.goals import atom_of
from robocontrast_ros.tasks.kitchen.library import BACKGROUND
from robocontrast_ros.tasks.kitchen.requests import carried, named
from robocontrast_ros.tasks.tabletop import shapes

TASK = every_kitchen()
WORLD = "package://robocontrast_ros/models/kitchen.xml"
PROBLEMS = (
    "kitchen_1_open_top_drawer",
    "kitchen_5_bowl_in_top_drawer",
    "kitchen_6_close_microwave",
    "living_room_6_pudding_left_of_plate",
)
DRAWN = st.tuples(st.sampled_from(PROBLEMS), st.integers(0, 1000))


class InTheKitchen(PerturbationContract):
    draws = 3

    def task(self):
        return KITCHEN


class TestModify(InTheKitchen):
    def make(self):
        return Modify()


class TestModifyThreeTimes(InTheKitchen):
    def make(self):
        return Modify(ModificationParameters(count=3))


class TestMove(InTheKitchen):
    def make(self):
        return Move()


class TestAdd(InTheKitchen):
    def make(self):
        return Add()


class TestToggle(InTheKitchen):
    def make(self):
        return Toggle()


class TestContain(InTheKitchen):
    # Few skills have a container with room.
    draws = 9

    def make(self):
        return Contain()


def modify(base, seed, kinds=KINDS, count=1):
    return TASK.modifications.modify(base, kinds, count, np.random.default_rng(seed))


def text_of(base, scene):
    return TASK.modifications.problem(base.instruction, scene)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_candidates_of_a_scene_are_distinct_and_leave_a_problem_without_a_contradiction(name):
    base = instance(name)
    text = text_of(base, base.scene)
    assert first_flaw(text) is None
    every = modifications(text, read_vocabulary(), BUILDABLE)
    assert len(set(map(str, every))) == len(every)
    for each in TASK.modifications.candidates(base.instruction, base.scene):
        after = modified(text, each)
        # One place for each thing, one state for each part, and nothing declared twice: else it has a flaw.
        assert first_flaw(after) is None and refusal(text, each, BUILDABLE) == ""
        assert after.goal == text.goal and not set(after.goal) <= set(after.init)
        with pytest.raises(ValueError, match="already"):
            modified(after, each)


@examples(100, quick=5)
@given(DRAWN, st.integers(1, 3))
def test_a_modified_scene_differs_in_what_its_skill_does_not_concern_and_the_hand_acts_as_before(drawn, count):
    name, seed = drawn
    base = instance(name)
    answer = modify(base, seed, count=count)
    assert isinstance(answer, Perturbed), answer
    new, done = answer.instance, answer.note.split(", ")
    measures = dict(new.proof.measures)
    assert len(done) == len(set(done)) == count == measures["modifications"] == sum(measures[kind] for kind in KINDS)
    assert new.instruction == base.instruction and new.observation == base.observation
    before, after = base.scene, new.scene
    changed = {o.name for o in after if o.name not in before or o.pose != before[o.name].pose}
    assert len(changed) == count and not changed & {*named(base.instruction)}, "each thing once, and none that is named"
    assert {*before.names} <= {*after.names}
    # The goal's own truth is as it was: it holds in neither scene, and it can be reached.
    for scene in (before, after):
        assert not TASK.goals.goal(base.instruction, scene).satisfied(scene)
    assert TASK.predicates.distance(atom_of(base.instruction), before) == TASK.predicates.distance(
        atom_of(base.instruction), after
    )
    way, then = (TASK.neighbourhood.way(base.instruction, scene) for scene in (before, after))
    if hasattr(way, "grasp") and hasattr(way, "place"):
        assert (way.grasp, way.place) == (then.grasp, then.place)
    else:
        assert replace(way, path=()) == replace(then, path=())
        position = TASK.things.position(after, way.part)
        free = [TASK.neighbourhood.is_free(way.part, scene, position, way.goal) for scene in (before, after)]
        assert free[1] or not free[0], "the sweep of the part stays free"
    # A person does it in as many handlings.
    moves = setup_moves(before, after, Tolerance(0.001, 0.01))
    assert {whole_of(move.name) or move.name for move in moves} <= {whole_of(n) or n for n in changed}
    assert len(moves) == count


@examples(100, quick=5)
@given(DRAWN)
def test_what_is_added_touches_nothing_and_stays(drawn):
    name, seed = drawn
    base = instance(name)
    answer = modify(base, seed, ("add",))
    assert isinstance(answer, Perturbed), answer
    scene = answer.instance.scene
    (added,) = set(scene.names) - set(base.scene.names)
    rested = TASK.modifications.settle(scene)
    assert rested[added].pose.distance_to(scene[added].pose) < 0.005
    models = TASK.things.models
    area = shapes.footprint(models[scene[added].model], scene[added].pose)
    lowest = shapes.heights(models[scene[added].model], scene[added].pose)[0]
    for other in carried(scene, TASK.things):
        if other == added:
            continue
        bottom = shapes.heights(models[scene[other].model], scene[other].pose)[0]
        apart = shapes.gap(area, shapes.footprint(models[scene[other].model], scene[other].pose)) > 0.0
        # In or on a container it is over that container's floor.
        assert apart or lowest >= bottom - 0.002, other
    assert models[scene[added].model].category not in BACKGROUND


@examples(100, quick=4)
@given(DRAWN)
@example(("living_room_6_pudding_left_of_plate", 181))
def test_scenes_with_several_modifications_rest_when_they_are_set_up(drawn):
    name, seed = drawn
    answer = modify(instance(name), seed, count=3)
    if isinstance(answer, Perturbed):
        scene = answer.instance.scene
        rested = settle(scene, TASK.things.still, WORLD)
        assert rested.still
        assert rested.overlap < 0.002
        assert max(a.pose.distance_to(b.pose) for a, b in zip(scene, rested.scene, strict=True)) < 0.005


def test_where_another_thing_lies_already_nothing_is_put():
    base = instance("kitchen_3_pan_on_stove")
    edits = ["contain (On popcorn_1 frying_pan)", "contain (On chocolate_pudding_1 frying_pan)"]
    both = load_perturbation({"name": "S_modify", "edits": edits}, "test", "p")
    answer = both.apply(TASK, base, base.scene, np.random.default_rng(0))
    assert isinstance(answer, NotApplicable) and f"'{edits[1]}': expected a place with room" in answer.reason


def test_a_drawer_with_something_in_it_stays_open():
    base = instance("kitchen_4_bowl_on_cabinet")
    edits = ["add (In onion_1 cabinet_bottom_region)", "toggle (Close cabinet_bottom_region)"]
    one = load_perturbation({"name": "S_modify", "edits": edits[:1]}, "test", "p")
    assert isinstance(one.apply(TASK, base, base.scene, np.random.default_rng(0)), Perturbed)
    both = load_perturbation({"name": "S_modify", "edits": edits}, "test", "p")
    answer = both.apply(TASK, base, base.scene, np.random.default_rng(0))
    assert isinstance(answer, NotApplicable) and "something is in 'cabinet/bottom_drawer'" in answer.reason


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_does_what_its_name_says(kind):
    name = {"contain": "living_room_6_pudding_left_of_plate"}.get(kind, "kitchen_1_open_top_drawer")
    base = instance(name)
    perturbation = load_perturbation(f"S_{kind}", "test", "")
    answer = perturbation.apply(TASK, base, base.scene, np.random.default_rng(0))
    assert isinstance(answer, Perturbed) and answer.note.startswith(f"{kind} (")
    before, after = base.scene, answer.instance.scene
    assert (len(after.objects) > len(before.objects)) == (kind in ("add", "contain"))
    assert answer.instance.instance_id == f"{base.instance_id}-S_{kind}"
    if kind == "contain":
        (added,) = set(after.names) - set(before.names)
        plate = base.instruction.get("reference")
        assert TASK.predicates.holds(type(atom_of(base.instruction))("On", (added, plate)), after)


def test_it_acts_in_the_instances_own_scene_alone():
    base = instance("kitchen_1_open_top_drawer")
    other = instance("kitchen_1_open_top_drawer", 1).scene
    answer = load_perturbation("S_add", "test", "").apply(TASK, base, other, np.random.default_rng(0))
    assert isinstance(answer, NotApplicable) and "the test instance itself" in answer.reason


def test_named_modifications_are_made_in_their_order_and_what_blocks_the_planner_is_said():
    base = instance("kitchen_1_open_bottom_drawer")
    edits = ["add (On egg_1 cabinet_top_side)", "move (On black_bowl cabinet_top_side)"]
    first = load_perturbation({"name": "S_modify", "edits": edits[:1]}, "test", "p")
    answer = first.apply(TASK, base, base.scene, np.random.default_rng(0))
    assert isinstance(answer, Perturbed) and answer.note == edits[0]
    for edits, words in (
        (["toggle (Open cabinet_middle_region)"], "'toggle (Open cabinet_middle_region)': it blocks the planner: "),
        (["toggle (Open cabinet_bottom_region)"], "is no modification of this scene"),
        (["add (On egg_1 cabinet_top_side)"] * 2, "is no modification of this scene"),
        (["add (On eg_1 cabinet_top_side)"], "is no modification of this scene"),
    ):
        wrong = load_perturbation({"name": "S_modify", "edits": edits}, "test", "p")
        answer = wrong.apply(TASK, base, base.scene, np.random.default_rng(0))
        assert isinstance(answer, NotApplicable) and words in answer.reason, answer


def test_the_same_draw_gives_the_same_scene_and_another_one_another():
    base = instance("kitchen_5_bowl_in_top_drawer")
    assert modify(base, 1) == modify(base, 1)
    assert len({modify(base, seed).note for seed in range(4)}) > 1


def test_wrong_parameters_are_refused():
    with pytest.raises(ConfigurationError, match="count"):
        load_perturbation({"name": "S_add", "count": 0}, "test", "p")
