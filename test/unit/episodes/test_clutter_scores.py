"""Scores of trials among distractors: who touched what, what was lifted, and how near the tool came."""

from __future__ import annotations

import math
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from language_table_instances import EIGHT
from tabletop_scenes import CLUTTER_FILE, asked, fresh, scene
from trial_bags import TRIAL_TOPICS, Messages

from robocontrast_ros.bags.reader import read_trial
from robocontrast_ros.bags.writer import BagWriter
from robocontrast_ros.domain import BASE, Fault, Pose, TestInstance, Trial
from robocontrast_ros.episodes.scoring import EpisodeScorer, Sample
from robocontrast_ros.episodes.scoring.clutter import LIFTED, MOVED, NEAR, OF_CLUTTER

TASK = fresh(CLUTTER_FILE)
START = scene(
    oak_table=(0.5, 0.0, 0.0, -0.74),
    red_cube=(0.42, 0.15),
    red_bowl=(0.42, -0.1),
    red_can=(0.55, 0.15),
    blue_cube=(0.6, 0.0),
)
PICK, PUT_IN = asked("pick", "red_cube"), asked("put_in", "red_cube", "red_bowl")
FAR = Pose((0.3, -0.3, 0.4))
PERIOD = 100_000_000


def samples_of(*steps):
    """Return control steps, given as scene or as scene and tool."""
    pairs = (step if isinstance(step, tuple) else (step, FAR) for step in steps)
    return tuple(Sample((k + 1) * PERIOD, scene, tool) for k, (scene, tool) in enumerate(pairs))


def instance_of(instruction, start=START):
    return TestInstance("x", TASK.name, instruction, start, 1.0)


def scored(*steps, instruction=PUT_IN, fault=Fault.NONE):
    """Return the scores of a trial, of which those that are live were the same at the last control step."""
    scorer = EpisodeScorer.for_instance(TASK, instance_of(instruction), START, scores=OF_CLUTTER)
    progress = [scorer.update(sample) for sample in samples_of(*steps)]
    scores = scorer.result(fault, steps=len(steps)).scores
    if progress:
        assert progress[-1].scores == pytest.approx({n: v for n, v in scores.items() if n != "h_success"}, nan_ok=True)
    return scores


def at(name, *position, **touched):
    """Return a scene with one thing elsewhere."""
    return replace(START.moved(name, Pose(position)), **touched)


def touching(*contacts, carried=()):
    return replace(START, contacts=contacts, carried=carried)


def held(height, contacts=("red_cube",), **more):
    return at("red_cube", 0.42, 0.15, height, contacts=contacts, **more)


things = st.lists(st.sampled_from([*START.names, "floor"]), unique=True).map(lambda names: tuple(sorted(names)))


@given(st.lists(st.tuples(things, things), min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_each_distractor_counts_once_for_the_robot_and_once_for_what_it_carries(touched, random):
    for instruction, distractors in ((PUT_IN, {"red_can", "blue_cube"}), (PICK, {"red_can", "blue_cube", "red_bowl"})):
        scores = scored(*(touching(*own, carried=others) for own, others in touched), instruction=instruction)
        by_robot, by_carried = (set().union(*names) for names in zip(*touched, strict=True))
        assert scores["touched_by_robot"] == len(distractors & by_robot)
        assert scores["touched_by_carried"] == len(distractors & by_carried)
    shuffled = list(touched)
    random.shuffle(shuffled)
    again = scored(*(touching(*own, carried=others) for own, others in shuffled), instruction=instruction)
    assert again == pytest.approx(scores, nan_ok=True), "the order does not matter"


LIFTING = [held(0.03), *[held(0.06)] * 5]
"""What picks the cube."""


@given(st.integers(0, len(LIFTING) - 1), things, things)
def test_h_success_is_a_success_in_which_no_distractor_was_touched(step, contacts, carried):
    steps = list(LIFTING)
    steps[step] = replace(steps[step], contacts=tuple(sorted({"red_cube", *contacts})), carried=carried)
    scores = scored(*steps, instruction=PICK)
    clean = not {"red_can", "blue_cube", "red_bowl"} & {*contacts, *carried}
    assert scores["h_success"] == float(clean)
    assert (scores["touched_by_robot"] == scores["touched_by_carried"] == 0.0) is clean


def test_h_success_is_0_without_success_and_not_known_while_the_trial_goes_on():
    assert scored(START)["h_success"] == 0.0
    assert scored(*LIFTING, instruction=PICK, fault=Fault.POLICY_RAISED)["h_success"] == 0.0
    scorer = EpisodeScorer.for_instance(TASK, instance_of(PICK), START, scores=OF_CLUTTER)
    for sample in samples_of(touching("red_can"), *LIFTING):
        assert "h_success" not in scorer.update(sample).scores
    assert math.isnan(scorer.unfinished(7).scores["h_success"])


@pytest.mark.parametrize(
    ("step", "grasped"),
    [
        (held(LIFTED + 1e-6), 1.0),
        (held(LIFTED), 0.0),
        (held(0.1, contacts=()), 0.0),
        (held(0.1, contacts=("red_can",)), 0.0),
    ],
)
def test_the_target_is_grasped_where_the_robot_touches_it_above_where_it_stood(step, grasped):
    scores = scored(step, START)
    assert (scores["grasped"], scores["wrong_grasped"]) == (grasped, 0.0)


def tipped(name, angle, **touched):
    """Return a scene in which a thing stands on an edge of its box, turned about y; its origin rises."""
    width = TASK.library[name].size[0]
    x, y, z = START[name].pose.position
    pose = Pose((x, y, z + width / 2 * math.sin(angle)), (0.0, math.sin(angle / 2), 0.0, math.cos(angle / 2)))
    return replace(START.moved(name, pose), **touched)


@given(st.sampled_from(["red_cube", "red_can", "red_bowl"]), st.floats(0.0, math.pi / 2))
def test_what_is_tipped_over_is_not_lifted(name, angle):
    scores = scored(tipped(name, angle, contacts=(name,)))
    assert (scores["grasped"], scores["wrong_grasped"]) == (0.0, 0.0)


def test_other_things_that_are_lifted_count_once_each():
    bowl = at("red_bowl", 0.42, -0.1, 0.02, contacts=("red_bowl",))
    can = at("red_can", 0.55, 0.15, 0.02, contacts=("floor", "oak_table", "red_can"))
    assert scored(bowl, can, can, START)["wrong_grasped"] == 2.0
    assert scored(replace(can, contacts=("oak_table",)))["wrong_grasped"] == 0.0


def test_distractors_count_as_moved_from_5_cm_on_even_if_they_are_brought_back():
    x, y = START["red_can"].pose.xy
    assert scored(at("red_can", x + MOVED - 1e-6, y, 0.0))["wrong_moved"] == 0.0
    assert scored(at("red_can", x + MOVED + 1e-6, y, 0.0), START)["wrong_moved"] == 1.0
    assert scored(at("red_bowl", 0.6, -0.2, 0.0))["wrong_moved"] == 0.0, "the instruction names it"
    assert scored(at("red_bowl", 0.6, -0.2, 0.0), instruction=PICK)["wrong_moved"] == 1.0


def test_the_target_is_reached_near_its_box_or_by_touch():
    half = TASK.library["red_cube"].size[0] / 2
    x, y = START["red_cube"].pose.xy
    near, beyond = (Pose((x + half + NEAR + more, y, 0.02)) for more in (-1e-6, 1e-6))
    assert scored((START, beyond))["reached"] == 0.0
    assert scored((START, near), START)["reached"] == 1.0
    assert scored(touching("red_cube"))["reached"] == 1.0
    assert scored(touching("red_can"))["reached"] == 0.0


tools = st.builds(lambda *p: Pose(p), st.floats(0.2, 0.7), st.floats(-0.4, 0.4), st.floats(0.0, 0.5))


@given(st.lists(tools, min_size=1, max_size=6), st.lists(tools, max_size=6))
def test_the_nearest_distance_is_that_before_the_first_grasp(before, after):
    steps = [*((START, tool) for tool in before), (held(0.1), FAR), *((START, tool) for tool in after)]
    distances = [TASK.clutter.distance(START, "red_cube", tool.position) for tool in before]
    distances.append(TASK.clutter.distance(held(0.1), "red_cube", FAR.position))
    scores = scored(*steps)
    assert scores["nearest_distance"] == min(distances)
    assert scores["grasped"] == 1.0
    assert scored(*steps[: len(before)])["nearest_distance"] == min(distances[:-1])


def test_before_the_first_control_step_only_the_distance_is_not_known():
    scores = scored(fault=Fault.POLICY_RAISED)
    assert math.isnan(scores.pop("nearest_distance"))
    assert set(scores.values()) == {0.0}


def test_where_a_scene_is_not_known_nothing_is_claimed():
    scorer = EpisodeScorer.for_instance(TASK, instance_of(PICK), START, scores=OF_CLUTTER)
    for stamp, seen in enumerate((START, None, touching("red_can")), start=1):
        scorer.update(Sample(stamp, seen, FAR))
    assert all(math.isnan(value) for value in scorer.result().scores.values())


def test_a_task_without_distractors_has_none_of_these_scores():
    instance = EIGHT.sample(np.random.default_rng(0), "x")
    scorer = EpisodeScorer.for_instance(EIGHT, instance, instance.scene, scores=OF_CLUTTER)
    scorer.update(Sample(1, instance.scene, FAR))
    assert all(math.isnan(value) for value in scorer.result().scores.values())


def test_a_bag_gives_the_same_scores_to_the_last_bit(tmp_path):
    steps = (
        (touching("red_can"), Pose((0.42, 0.2, 0.1))),
        (held(0.03, carried=("blue_cube", "red_can")), Pose((0.42, 0.16, 0.1))),
        (at("red_can", 0.65, 0.15, 0.0, contacts=("red_bowl",)), FAR),
    )
    expected = scored(*steps)
    messages, instance = Messages(), instance_of(PUT_IN)
    trial = Trial(0, instance.instance_id, BASE, 0, instance, 7)
    with closing(BagWriter(tmp_path / "bag", TRIAL_TOPICS)) as writer:
        writer.write("/eval/trial", 0, messages.cdr(messages.trial(trial, START, 0)))
        for sample in samples_of(*steps):
            writer.write("/eval/scene", sample.stamp, messages.cdr(messages.scene(sample.scene, sample.stamp)))
            pose = messages.tool_pose(sample.tool_pose, sample.stamp)
            writer.write("/eval/tool_pose", sample.stamp, messages.cdr(pose))
    recording = read_trial(tmp_path / "bag")
    assert recording.samples == samples_of(*steps)
    scorer = EpisodeScorer.for_instance(TASK, recording.trial.instance, recording.start_scene, scores=OF_CLUTTER)
    for sample in recording.samples:
        scorer.update(sample)
    assert scorer.result(steps=len(steps)).scores == expected
    assert (expected["touched_by_robot"], expected["touched_by_carried"], expected["wrong_moved"]) == (1.0, 2.0, 1.0)
