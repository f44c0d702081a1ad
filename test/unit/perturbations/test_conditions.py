"""Drawn conditions: what is recorded is what the policy gets, and words, goal and plan stay."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from tabletop_scenes import CLUTTER_FILE, fresh, tabletop

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.contracts.perturbation import PerturbationContract
from robocontrast_ros.domain import Filter, NotApplicable, Perturbed, choices
from robocontrast_ros.domain.rotations import to_vector
from robocontrast_ros.observations.protocol import Filters
from robocontrast_ros.perturbations.loading import load_perturbation
from robocontrast_ros.tasks.tabletop import shapes

TASK = fresh(CLUTTER_FILE)
CROWDED = tabletop()


def load(name, **parameters):
    return load_perturbation({"name": name, **parameters}, "test", "")


class _Contract(PerturbationContract):
    draws = 5

    def task(self):
        return TASK


class TestCameraPose(_Contract):
    def make(self):
        return load("camera_pose")


class TestLooks(_Contract):
    def make(self):
        return load("looks")


class TestObjectPoses(_Contract):
    def make(self):
        return load("object_poses")


@cache
def base(seed):
    return CROWDED.sample(np.random.default_rng([7, seed]), f"x{seed}")


def measures(answer):
    return dict(answer.instance.proof.measures)


@given(
    st.integers(0, 2**32 - 1),
    st.floats(0.001, 1.0),
    st.floats(0.1, 90.0),
    st.floats(0.0, 10.0),
    st.sampled_from(["", "front"]),
)
def test_cameras_are_where_the_proof_says_in_every_trial(draw, distance, angle, beta, camera):
    made = load("camera_pose", distance=distance, angle=angle, beta=beta, camera=camera)
    answer = made.apply(CROWDED, base(0), base(0).scene, np.random.default_rng(draw))
    assert answer.instance.scene == base(0).scene and answer.instance.instruction == base(0).instruction
    found = measures(answer)
    assert set(found) == set(made.measures)
    for seed in (1, 2):
        offsets = Filters(answer.instance.observation, seed).offsets(["top", "front"])
        assert set(offsets) == ({camera} if camera else {"top", "front"})
        for pose in offsets.values():
            moved, turned = math.hypot(*pose.position), math.hypot(*to_vector(pose.orientation))
            assert found["camera_moved_m"] == pytest.approx(moved, abs=1e-9) and moved <= distance * (1 + 1e-9)
            assert found["camera_turned_rad"] == pytest.approx(turned, abs=1e-6)
            assert math.degrees(turned) <= angle * (1 + 1e-6)
            assert found["camera_distance_m"] == pytest.approx(moved + beta * turned, abs=1e-5)


def test_places_of_a_camera_are_uniform_in_the_ball():
    made, rng = load("camera_pose", distance=0.2, angle=10), np.random.default_rng(1)
    drawn = [made.apply(CROWDED, base(0), base(0).scene, rng) for _ in range(2000)]
    inside = np.mean([measures(one)["camera_moved_m"] < 0.1 for one in drawn])
    assert inside == pytest.approx(1 / 8, abs=0.03)
    places = np.array([one.instance.observation[0].drawn[:3] for one in drawn])
    assert np.abs(places.mean(axis=0)).max() < 0.01


def test_a_filter_that_takes_no_drawn_numbers_and_numbers_of_the_wrong_count_are_refused():
    with pytest.raises(ConfigurationError, match="no numbers, because 'blur' takes a severity"):
        Filters((Filter("blur", 0, "", (1.0,)),), 1)
    with pytest.raises(ConfigurationError, match="three finite numbers of a position"):
        Filters((Filter("moved_camera", 0, "", (1.0,)),), 1)
    with pytest.raises(ConfigurationError, match="distance or angle above 0"):
        load("camera_pose", distance=0, angle=0)


def test_looks_are_uniform_among_the_tasks_and_are_those_of_the_scene():
    own, rng, made = TASK.sample(np.random.default_rng(3), "x"), np.random.default_rng(4), load("looks")
    seen = []
    for _ in range(300):
        answer = made.apply(TASK, own, own.scene, rng)
        drawn = choices(measures(answer))
        assert set(drawn) == {"table", "background", "light"}
        fixtures = {o.name for o in answer.instance.scene if TASK.library[o.model].fixed}
        assert fixtures == set(drawn.values())
        standing = [o for o in answer.instance.scene if not TASK.library[o.model].fixed]
        assert standing == [o for o in own.scene if not TASK.library[o.model].fixed]
        seen.append(drawn["light"])
    counts = {light: seen.count(light) for light in TASK.variation.looks["light"]}
    assert sum(counts.values()) == 300 and min(counts.values()) > 30


def test_a_task_with_one_look_alone_has_none_to_draw():
    assert not load("looks").supports(CROWDED)
    assert load("looks").supports(TASK)


@examples(20)
@given(
    seed=st.integers(0, 9),
    draw=st.integers(0, 2**16),
    distance=st.floats(0.02, 0.3),
    angle=st.sampled_from([0, 30, 180]),
)
def test_objects_are_moved_within_their_discs_and_words_and_plan_stay(seed, draw, distance, angle):
    origin, made = base(seed), load("object_poses", distance=distance, angle=angle)
    answer = made.apply(CROWDED, origin, origin.scene, np.random.default_rng(draw))
    if isinstance(answer, NotApplicable):
        assert answer.reason.startswith("none of ")
        return
    new, found, p = answer.instance, measures(answer), CROWDED.parameters
    assert new.instruction == origin.instruction and set(found) == set(made.measures)
    assert CROWDED.premise(new.instruction, new.scene) is None
    assert new.optimal_path_length == CROWDED.planner.plan(new.instruction, new.scene).length
    far = []
    for o in (o for o in origin.scene if not CROWDED.library[o.model].fixed):
        pose = new.scene[o.name].pose
        far.append(o.pose.distance_to(pose))
        # Settling may move it, too.
        assert far[-1] <= distance + p.sampling.settled
        assert abs(math.remainder(pose.yaw - o.pose.yaw, math.tau)) <= math.radians(angle) + 0.1
        assert p.region.box.covers(shapes.footprint(CROWDED.library[o.model], pose))
    assert found["objects_moved_m"] == pytest.approx(np.mean(far))
    target = dict(new.instruction.arguments)["target"]
    assert found["target_moved_m"] == origin.scene[target].pose.distance_to(new.scene[target].pose)
    assert (found["target_x_m"], found["target_y_m"]) == new.scene[target].pose.xy


def test_most_instances_can_have_their_objects_moved():
    made = load("object_poses", distance=0.15)
    answers = [made.apply(CROWDED, base(seed), base(seed).scene, np.random.default_rng(seed)) for seed in range(10)]
    assert sum(isinstance(answer, Perturbed) for answer in answers) >= 8
