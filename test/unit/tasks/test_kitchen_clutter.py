"""Distractors in the kitchen: where they stand, what they leave as it is, and what counts as hidden by them."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import shapely
import yaml
from kitchen_instances import BUILDABLE, TASK_FILE, every_kitchen, instance

from robocontrast_ros.configuration import ConfigurationError, resolve_uri
from robocontrast_ros.domain import Instruction, NotApplicable, ObjectState, Perturbed, Pose
from robocontrast_ros.objects.views import SceneViews
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.tasks.bddl import Atom
from robocontrast_ros.tasks.kitchen import Kitchen
from robocontrast_ros.tasks.kitchen.goals import atom_of
from robocontrast_ros.tasks.kitchen.library import BACKGROUND
from robocontrast_ros.tasks.kitchen.requests import carried, named
from robocontrast_ros.tasks.protocol import DistractorRequest
from robocontrast_ros.tasks.tabletop import shapes

TASK = every_kitchen()
P = TASK.parameters.distracting
PROBLEMS = (
    "kitchen_1_open_top_drawer",
    "kitchen_6_close_microwave",
    "kitchen_3_turn_on_stove",
    "kitchen_2_front_bowl_on_plate",
    "kitchen_4_bottle_on_rack",
    "kitchen_5_bowl_in_top_drawer",
    "living_room_6_pudding_left_of_plate",
)


@pytest.fixture(autouse=True)
def without_images(monkeypatch):
    """Nothing is drawn, which takes longest; what is hidden is found as ever."""
    monkeypatch.setattr(SceneViews, "image", lambda self, scene, camera: np.zeros((56, 56, 3), dtype=np.uint8))


@cache
def with_tops(share):
    """Return the kitchen with a share of distractors on tops."""
    parameters = replace(TASK.parameters, distracting=replace(P, on_tops=share))
    return Kitchen(parameters, TASK.things, BUILDABLE, TASK.skills)


def added(task, name, request, seed=0):
    answer = task.clutter.add(instance(name), request, np.random.default_rng(seed))
    assert isinstance(answer, Perturbed), answer.reason
    base = instance(name)
    return base, answer.instance, [o for o in answer.instance.scene if o.name not in base.scene]


def area(state):
    return shapes.footprint(TASK.things.models[state.model], state.pose)


@pytest.mark.parametrize("name", PROBLEMS)
def test_distractors_leave_words_goal_and_all_that_stood_there(name):
    base, new, things = added(TASK, name, DistractorRequest(3))
    assert len(things) == 3 and all(new.scene[o.name] == o for o in base.scene)
    assert new.instruction == base.instruction and TASK.premise(new.instruction, new.scene) is None
    assert not TASK.predicates.holds(atom_of(new.instruction), new.scene)
    end = TASK.planner.plan(new.instruction, new.scene).final_scene
    assert TASK.predicates.holds(atom_of(new.instruction), end)
    region = shapely.box(P.region.x_min, P.region.y_min, P.region.x_max, P.region.y_max)
    for thing in things:
        assert not TASK.things.models[thing.model].fixed
        if thing.pose.position[2] < 0.1:
            others = [o for o in new.scene if o.name != thing.name and not is_background(o)]
            # They settle after they were put there.
            assert min(shapes.gap(area(thing), area(o)) for o in others) >= P.gap - 2 * P.shifted
            assert region.buffer(P.shifted).covers(area(thing))
    measures = dict(new.proof.measures)
    assert measures["distractors"] == len(TASK.clutter.distractors(new.instruction, new.scene))
    assert 0 <= measures["alike"] <= measures["distractors"] and 0 <= measures["occlusion"] <= P.occluded
    assert all(math.isfinite(value) for value in measures.values())


def is_background(state):
    return TASK.things.models[state.model].category in BACKGROUND


def test_they_also_stand_on_the_tops_of_fixtures_that_are_not_named():
    task, seen = with_tops(1.0), set()
    for name in ("kitchen_1_open_top_drawer", "kitchen_7_bowl_on_plate", "kitchen_9_turn_on_stove"):
        for seed in range(2):
            _, new, things = added(task, name, DistractorRequest(4), seed)
            for thing in (o for o in things if o.pose.position[2] > 0.1):
                below = [o for o in new.scene if TASK.things.models[o.model].type in P.tops]
                (holder,) = (o for o in below if shapes.gap(area(o), area(thing)) == 0.0)
                assert TASK.predicates.holds(Atom("On", (thing.name, holder.name)), new.scene)
                top = thing.pose.position[2] + TASK.things.models[thing.model].size[2]
                assert top <= P.highest + P.shifted
                seen.add(TASK.things.models[holder.model].type)
    assert seen == {"microwave", "shelf"}, "the cabinet is the whole of the part that is named"


def test_nothing_is_put_on_the_top_that_is_asked_for():
    for name in ("kitchen_1_bowl_on_cabinet", "kitchen_9_bowl_on_shelf"):
        _, _, things = added(with_tops(1.0), name, DistractorRequest(4))
        assert all(o.pose.position[2] < 0.1 for o in things)


def test_what_lies_in_the_drawer_that_is_moved_is_no_distractor():
    put = instance("kitchen_10_bowl_in_top_drawer")
    full = TASK.planner.plan(put.instruction, put.scene).final_scene
    close = Instruction("", "close", (("target", "cabinet/top_drawer"),))
    others = {*carried(full, TASK.things)} - {"black_bowl"}
    assert {*TASK.clutter.distractors(close, full)} == others
    assert {*TASK.clutter.distractors(close, put.scene)} == others | {"black_bowl"}


def test_a_part_that_its_own_fixture_hides_is_not_hidden_by_distractors():
    base = instance("kitchen_1_open_top_drawer")
    target = named(base.instruction)[0]
    views = TASK.clutter._views
    # Most of a drawer that is shut is behind its front.
    assert views.occlusion(base.scene, target, P.robot_view) > 0.3
    bare = replace(base.scene, objects=tuple(o for o in base.scene if o.name not in carried(base.scene, TASK.things)))
    assert dict(TASK.clutter.measures(base.instruction, bare))["occlusion"] == 0.0
    camera, handle = views.positions[P.robot_view], bare[target].pose.position
    ahead = [h + 0.2 * (c - h) for h, c in zip(handle, camera, strict=True)]
    before = ObjectState("ketchup", "ketchup", Pose((ahead[0], ahead[1], ahead[2] - 0.02)))
    hidden = replace(bare, objects=(*bare.objects, before))
    assert 0.1 < dict(TASK.clutter.measures(base.instruction, hidden))["occlusion"] < 1.0


def test_an_occluder_hides_a_part_of_the_target_and_no_more_than_allowed():
    shares = []
    for seed in range(2):
        _, new, _ = added(TASK, "kitchen_5_bowl_in_top_drawer", DistractorRequest(1, occluder=True), seed)
        shares.append(dict(new.proof.measures)["occlusion"])
    assert max(shares) > P.occlusion_step and max(shares) <= P.occluded


def test_nothing_on_the_table_hides_a_knob_in_the_middle_of_its_stove():
    request = DistractorRequest(1, occluder=True)
    answer = TASK.clutter.add(instance("kitchen_3_turn_on_stove"), request, np.random.default_rng(0))
    assert isinstance(answer, NotApplicable) and re.search(r"hides 0\.\d\d of the target nowhere", answer.reason)


def test_alike_and_unlike_are_what_they_say():
    name = "living_room_6_red_mug_on_plate"
    base = instance(name)
    before = dict(TASK.clutter.measures(base.instruction, base.scene))["alike"]
    for similar, count in (("alike", 3), ("unlike", 0)):
        _, new, _ = added(TASK, name, DistractorRequest(3, similar))
        assert dict(new.proof.measures)["alike"] == before + count


def test_nothing_is_like_a_part_on_a_joint_and_the_answer_says_so():
    request = DistractorRequest(1, "alike")
    answer = TASK.clutter.add(instance("kitchen_1_open_top_drawer"), request, np.random.default_rng(0))
    assert isinstance(answer, NotApplicable) and "only 0 things may stand there" in answer.reason


def test_looks_are_drawn_anew_and_fixtures_stay():
    name = "kitchen_1_open_top_drawer"
    base, new, _ = added(TASK, name, DistractorRequest(2, looks=True), seed=1)
    kept = [o for o in base.scene if not is_background(o)]
    assert all(new.scene[o.name] == o for o in kept)
    assert {o.model for o in new.scene if is_background(o)} != {o.model for o in base.scene if is_background(o)}


def test_the_distance_to_a_part_is_that_to_its_own_box():
    base = instance("kitchen_1_open_top_drawer")
    target = named(base.instruction)[0]
    x, y, z = base.scene[target].pose.position
    assert TASK.clutter.distance(base.scene, target, (x, y, z)) == 0.0
    # Its front faces the robot, and its bottom is below the handle.
    assert TASK.clutter.distance(base.scene, target, (x - 0.2, y, z)) == pytest.approx(0.19, abs=0.02)
    assert TASK.clutter.distance(base.scene, target, (x, y, z + 0.2)) == pytest.approx(0.18, abs=0.02)


def test_there_is_room_for_eight_and_a_session_names_them(tmp_path):
    assert TASK.clutter.most(8) == 8
    session = tmp_path / "session.yaml"
    content = yaml.safe_load(resolve_uri("package://robocontrast_ros/config/sessions/kitchen_demo.yaml").read_text())
    strategy = {"name": "contrast_set", "perturbations": [{"name": "distractors", "count": 3}]}
    session.write_text(yaml.safe_dump({**content, "strategy": strategy}))
    assert [perturbation.name for perturbation in resolve(session).perturbations] == ["distractors_3"]
    strategy["perturbations"] = [{"name": "distractors", "count": 100}]
    session.write_text(yaml.safe_dump({**content, "strategy": strategy}))
    with pytest.raises(
        ConfigurationError, match=r"at most \d+ distractors, for which there is room in the task 'kitchen'"
    ):
        resolve(session)


def test_a_camera_that_the_world_lacks_is_refused_with_those_it_has(tmp_path):
    content = yaml.safe_load(TASK_FILE.read_text())
    content["distracting"]["robot_view"] = "agents"
    file = tmp_path / "kitchen.yaml"
    file.write_text(yaml.safe_dump(content))
    expected = r"`distracting\.robot_view`: got 'agents', expected a known camera of the world: agent, front, top"
    with pytest.raises(ConfigurationError, match=expected):
        Kitchen.from_file(file)


def test_a_task_that_says_nothing_of_distractors_has_none(tmp_path):
    content = yaml.safe_load(TASK_FILE.read_text())
    del content["distracting"]
    file = tmp_path / "kitchen.yaml"
    file.write_text(yaml.safe_dump(content))
    bare = Kitchen.from_file(file)
    assert bare.clutter is None and bare.difficulty.most(3) == 0
    assert {*bare.things.models} < {*TASK.things.models}
