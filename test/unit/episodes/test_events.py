"""Events of a trial: each counts as often as it begins, however long it lasts."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from language_table_instances import EIGHT
from line_world import LineTask, line, to_place
from session_runs import Workplace, finished
from tabletop_scenes import asked, scene, tabletop
from typer.testing import CliRunner

from robocontrast_ros.bags.reader import read_trial
from robocontrast_ros.cli.main import app
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import JointTracking, Pose, TestInstance
from robocontrast_ros.episodes.scoring import EpisodeScorer, Sample
from robocontrast_ros.episodes.scoring.clutter import LIFTED
from robocontrast_ros.episodes.scoring.events import (
    BELOW,
    BUMPED,
    CLOSED,
    FALL,
    FAR,
    MOVING,
    OF_EVENTS,
    STILL,
    TIPPED,
    ClosedOnNothing,
)
from robocontrast_ros.graph.parameters.rollout import RolloutParameters
from robocontrast_ros.messages.topics import JOINT_TRACKING
from robocontrast_ros.sessions.fast_mode import open_bench
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.recording import recorded_topics, trial_recorder
from robocontrast_ros.sessions.resolving import resolve

TABLE = tabletop()
START = scene(
    oak_table=(0.5, 0.0, 0.0, -0.74),
    red_cube=(0.42, 0.15),
    red_bowl=(0.42, -0.1),
    red_can=(0.55, 0.15),
    blue_cube=(0.6, 0.0),
)
PICK, PUT_IN = asked("pick", "red_cube"), asked("put_in", "red_cube", "red_bowl")
PERIOD = round(1e9 / TABLE.control_rate)
HAND = 0.3
OPEN = JointTracking((), (), (), 0.0)


def scored(*steps, instruction=PUT_IN, start=START):
    """Return the events of a trial; a step is a scene, or a scene and the height of the tool [m]."""
    instance = TestInstance("x", TABLE.name, instruction, start, 1.0)
    scorer = EpisodeScorer.for_instance(TABLE, instance, start, scores=OF_EVENTS)
    for number, step in enumerate(steps, start=1):
        seen, tool = step if isinstance(step, tuple) else (step, HAND)
        scorer.update(Sample(number * PERIOD, seen, Pose((0.3, 0.0, tool)), OPEN))
    return scorer.result(steps=len(steps)).scores


def shifted(name, dx=0.0, dz=0.0, before=START, **touched):
    x, y, z = before[name].pose.position
    return replace(before.moved(name, replace(before[name].pose, position=(x + dx, y, z + dz))), **touched)


def tipped(name, angle, lift=0.0, before=START):
    """Return a scene in which a thing stands on an edge of its box, turned about y."""
    x, y, z = before[name].pose.position
    raised = z + TABLE.library[name].size[0] / 2 * math.sin(angle) + lift
    return before.moved(name, Pose((x, y, raised), (0.0, math.sin(angle / 2), 0.0, math.cos(angle / 2))))


UP = LIFTED + 1e-3
BOTH = shifted("red_can", dz=UP, before=shifted("red_cube", dz=UP), contacts=("red_can", "red_cube"))
THERE = {
    "wrong_grasps": shifted("blue_cube", dz=UP, contacts=("blue_cube",)),
    "several_grasped": BOTH,
    "table_hits": replace(START, contacts=("oak_table", "red_can")),
    "tipped_over": tipped("red_can", TIPPED + 0.01),
    "out_of_scene": shifted("red_cube", dz=-BELOW - 1e-3),
}
NOT_THERE = {
    "wrong_grasps": shifted("red_cube", dz=UP, contacts=("red_cube",)),
    "several_grasped": replace(BOTH, contacts=("red_can",)),
    "table_hits": replace(START, contacts=("red_can",), carried=("oak_table",)),
    "tipped_over": tipped("red_can", TIPPED - 0.01),
    "out_of_scene": shifted("red_cube", dz=-BELOW + 1e-3),
}


@pytest.mark.parametrize("name", THERE)
@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), max_size=4))
def test_an_event_counts_as_often_as_it_begins_however_long_it_and_the_rest_between_last(name, lengths):
    steps = [one for lasts, rests in lengths for one in (*[THERE[name]] * lasts, *[NOT_THERE[name]] * rests)]
    assert scored(*steps)[name] == len(lengths)


def test_the_start_scene_begins_nothing_and_neither_does_a_tilt_in_the_hand():
    touching = THERE["table_hits"]
    assert scored(touching, touching, START, touching, start=touching)["table_hits"] == 1.0
    assert scored(tipped("red_can", TIPPED + 0.01, lift=UP))["tipped_over"] == 0.0


def test_two_things_at_once_are_two_events_and_one_grasp_of_several():
    lying = tipped("blue_cube", 1.0, before=THERE["tipped_over"])
    assert scored(lying)["tipped_over"] == 2.0
    assert (scored(BOTH)["several_grasped"], scored(BOTH)["wrong_grasps"]) == (1.0, 1.0)


def motion(distance, speed, before):
    """Return the scenes of a motion of the blue cube along x, the last one at its end."""
    steps = max(math.ceil(distance / speed * TABLE.control_rate - 1e-9), 1)
    return [shifted("blue_cube", dx=distance * (k + 1) / steps, before=before) for k in range(steps)]


distances = st.floats(0.01, 0.8).filter(lambda d: min(abs(d - BUMPED), abs(d - FAR)) > 1e-6)


@given(st.lists(st.tuples(distances, st.integers(1, 3)), max_size=4))
def test_each_motion_counts_by_its_distance_however_long_the_rest_after_it(motions):
    steps = [START]
    for distance, rests in motions:
        steps += motion(distance, 0.5, steps[-1])
        steps += [steps[-1]] * rests
    scores = scored(*steps)
    assert scores["started_moving"] == len(motions)
    assert scores["bumped"] == sum(BUMPED <= distance < FAR for distance, _ in motions)
    assert scores["moved_far"] == sum(distance >= FAR for distance, _ in motions)


def test_a_motion_that_goes_on_counts_by_its_present_distance_and_a_slow_push_is_none():
    assert scored(*motion(0.3, 0.5, START))["bumped"] == 1.0
    ended = scored(*motion(0.6, 0.5, START))
    assert (ended["bumped"], ended["moved_far"]) == (0.0, 1.0)
    slow = scored(*motion(0.3, MOVING - 0.001, START))
    assert (slow["started_moving"], slow["bumped"]) == (0.0, 0.0)


def test_the_thing_to_handle_may_be_moved():
    moved = scored(shifted("red_cube", dx=0.3), shifted("red_cube", dx=0.3))
    assert (moved["started_moving"], moved["bumped"], moved["wrong_grasps"]) == (0.0, 0.0, 0.0)


def held(height, dx=0.0, **more):
    """Return a control step with the cube in the hand at a height; the tool is 10 cm above it."""
    return shifted("red_cube", dx, height, contacts=("red_cube",), **more), height + 0.1


def free(height, tool, dx=0.0):
    """Return a control step in which nobody touches the cube."""
    return shifted("red_cube", dx, height), tool


@given(st.integers(0, 3), st.integers(1, 4), st.floats(FALL + 1e-3, 0.3))
def test_what_falls_out_of_the_hand_is_dropped_each_time(times, rests, height):
    fall = [held(height), held(height), free(height / 2, height + 0.1), *[free(0.0, 0.3)] * (rests + 1)]
    assert scored(*fall * times)["dropped"] == times


@given(st.floats(FALL + 1e-3, 0.3), st.booleans())
def test_a_fall_that_begins_while_the_hand_still_touches_counts_from_the_hand(height, still):
    fallen = shifted("red_cube", contacts=("red_cube",) if still else ())
    assert scored(held(height), (fallen, height + 0.1), *[free(0.0, 0.3)] * 2)["dropped"] == 1.0


@given(st.floats(0.0, FALL - 1e-3), st.floats(0.0, 0.1))
def test_what_is_put_down_is_not_dropped(gap, retreat):
    down = [held(0.1), held(0.05), held(max(gap, UP)), (shifted("red_cube", contacts=("red_cube",)), 0.1 + retreat)]
    assert scored(*down, *[free(0.0, 0.3)] * 3)["dropped"] == 0.0


def test_what_falls_to_where_it_belongs_is_not_dropped_and_beside_it_is():
    x, y, _ = START["red_cube"].pose.position
    to_bowl = START["red_bowl"].pose.position[0] - x, START["red_bowl"].pose.position[1] - y

    def let_go(dx, dy, instruction):
        there = START.moved("red_cube", Pose((x + dx, y + dy, 0.01)))
        over = START.moved("red_cube", Pose((x + dx, y + dy, 0.09)))
        steps = ((replace(over, contacts=("red_cube",)), 0.19), (there, 0.2), (there, 0.2))
        return scored(*steps, instruction=instruction)["dropped"]

    assert let_go(*to_bowl, PUT_IN) == 0.0
    assert let_go(to_bowl[0] + 0.2, to_bowl[1], PUT_IN) == 1.0
    assert let_go(*to_bowl, PICK) == 1.0


def closed_on_nothing(*steps, start=START):
    """Return how often the hand closed on nothing; a step is its closed share, None if unknown, and what is touched."""
    instance = TestInstance("x", TABLE.name, PUT_IN, start, 1.0)
    scorer = EpisodeScorer.for_instance(TABLE, instance, start, scores=[ClosedOnNothing])
    for number, (closed, *touched) in enumerate(steps, start=1):
        joints = JointTracking((), (), (), closed)
        scorer.update(Sample(number * PERIOD, replace(start, contacts=tuple(touched)), Pose(), joints))
    return scorer.result(steps=len(steps)).scores["closed_on_nothing"]


@given(st.lists(st.tuples(st.integers(2, 4), st.integers(1, 3), st.floats(CLOSED, 1.0)), max_size=4))
def test_a_hand_that_closes_on_nothing_counts_once_until_it_opens_again(closings):
    steps = [(0.0,)]
    for lasts, rests, closed in closings:
        steps += [(closed, "oak_table")] * lasts + [(0.7,)] * rests
    assert closed_on_nothing(*steps) == len(closings)


@given(st.lists(st.tuples(st.integers(0, 25), st.sampled_from([(), ("oak_table",), ("red_cube",)])), max_size=30))
def test_it_is_closed_where_it_rests_beyond_the_threshold_and_touches_nothing_but_tables(steps):
    # Steps of .004: none is near the speed at which a hand rests, 0.01 a control step, or the threshold.
    steps = [(CLOSED - 0.042 + 0.004 * number, *touched) for number, touched in steps]

    def at_rest_on_nothing(number):
        before, (closed, *touched) = steps[number - 1][0], steps[number]
        return abs(closed - before) < STILL / TABLE.control_rate and "red_cube" not in touched

    closings = [list(run) for closed, run in groupby(range(len(steps)), lambda n: steps[n][0] >= CLOSED) if closed]
    assert closed_on_nothing(*steps) == sum(any(map(at_rest_on_nothing, run)) for run in closings if run[0] > 0)


@pytest.mark.parametrize("touched", ["red_cube", "blue_cube"])
def test_a_hand_that_holds_something_thin_has_not_closed_on_nothing_and_one_that_loses_it_has(touched):
    # It is closed beyond the threshold before it touches the thing, and when it lets go.
    held = [(0.0,), (0.5,), (0.8,), (0.9, touched), (0.9, touched)]
    assert closed_on_nothing(*held, (0.85, touched), (0.8,), (0.5,), (0.0,)) == 0.0
    assert closed_on_nothing(*held, (0.95,), (1.0,), (1.0,), (1.0,)) == 1.0


def test_a_hand_that_is_closed_at_first_has_not_closed():
    assert closed_on_nothing((1.0,), (1.0,), (1.0,)) == 0.0
    assert closed_on_nothing((1.0,), (1.0,), (0.2,), (1.0,), (1.0,)) == 1.0


@pytest.mark.parametrize("closed", [None, math.nan])
def test_what_a_hand_closes_on_is_not_known_where_its_width_is_not(closed):
    assert math.isnan(closed_on_nothing((0.0,), (closed,), (0.0,)))
    assert math.isnan(scored_without_joints()["closed_on_nothing"])


def scored_without_joints():
    instance = TestInstance("x", TABLE.name, PUT_IN, START, 1.0)
    scorer = EpisodeScorer.for_instance(TABLE, instance, START, scores=[ClosedOnNothing])
    scorer.update(Sample(PERIOD, START, Pose()))
    return scorer.result(steps=1).scores


def test_a_random_hand_closes_on_nothing_and_the_bags_say_so_too(tmp_path):
    place = Workplace(tmp_path)
    content = {"task": place.short_task(60, "tabletop"), "robot": "franka_hand", "policy": "hand_random", "seed": 4}
    content |= {"scores": ["closed_on_nothing", "tracking_error"], "test_set": {"size": 2}, "cameras": []}
    session = resolve(str(place.session(**content, recording={"images": False})))
    run = session.new_run(1_790_000_000.0)
    bench = open_bench(session, recorder=trial_recorder(session, run))
    try:
        run_session(session.evaluation(), bench, run.journal)
    finally:
        bench.close()
    trials = finished(run.path)
    assert sum(trial.result.scores["closed_on_nothing"] for trial in trials) > 0.0
    assert all(0.0 < trial.result.scores["tracking_error"] < 0.1 for trial in trials)
    for trial in trials:
        first, then, *_ = read_trial(run.path / trial.recording.bag).samples
        assert all(map(math.isnan, first.joints.commanded)), "no command of the trial before counts"
        assert len(then.joints.names) == 7 and all(map(math.isfinite, then.joints.commanded))
    told = CliRunner(env={"COLUMNS": "120"}).invoke(app, ["score", str(run.path), "--processes", "1"])
    assert told.output == "2 of 2 trials: the scores from the bag are exactly the journal's.\n"


@pytest.mark.parametrize("score", ["closed_on_nothing", "tracking_error", "dropped"])
def test_joints_are_published_and_recorded_only_for_a_score_that_needs_them(score):
    tracks = score != "dropped"
    session = resolve("tabletop_oracle", Overrides(settings={"scores": [score]}))
    assert RolloutParameters.of(session).tracks_joints is tracks
    assert (JOINT_TRACKING in recorded_topics(session)) is tracks


def test_what_is_not_known_is_not_a_number():
    assert all(map(math.isnan, scored(START, (None, HAND), START).values()))
    start, task = line(a=0.3, b=0.5, c=0.7, d=0.9), LineTask()
    instance = TestInstance("x", task.name, to_place("a", "left"), start, 1.0)
    scorer = EpisodeScorer.for_instance(task, instance, start, scores=OF_EVENTS)
    assert task.handling is None and all(map(math.isnan, scorer.result().scores.values()))


def test_only_the_table_is_not_known_where_no_thing_is_a_table():
    instance = EIGHT.sample(np.random.default_rng(0), "x")
    scorer = EpisodeScorer.for_instance(EIGHT, instance, instance.scene, scores=OF_EVENTS)
    scorer.update(Sample(PERIOD, instance.scene, Pose((0.3, 0.0, 0.1)), OPEN))
    scores = scorer.result(steps=1).scores
    assert math.isnan(scores.pop("table_hits"))
    assert set(scores.values()) == {0.0}


@pytest.mark.parametrize("score", OF_EVENTS)
def test_a_robot_that_reports_no_contacts_has_only_the_events_that_need_none(score):
    overrides = Overrides(settings={"scores": [score.spec.name]})
    if "contacts" not in score.spec.source:
        assert score in resolve("language_table_demo", overrides).scores
        return
    with pytest.raises(ConfigurationError, match=f"got '{score.spec.name}', expected a score that needs no contacts"):
        resolve("language_table_demo", overrides)


def test_a_robot_that_reports_no_gripper_width_or_no_joints_is_refused_by_the_name_of_the_score(tmp_path):
    robot = tmp_path / "touching_rod.yaml"
    robot.write_text("extends: franka\nname: touching_rod\ncontacts_topic: contacts\n")
    refusal = r"got 'closed_on_nothing', expected a score that needs no gripper width, because 'touching_rod' .* none"
    with pytest.raises(ConfigurationError, match=refusal):
        resolve("language_table_demo", Overrides(settings={"scores": ["closed_on_nothing"], "robot": str(robot)}))
    accepted = resolve("language_table_demo", Overrides(settings={"scores": ["tracking_error"]}))
    assert accepted.tracks_joints
    refusal = "got 'tracking_error', expected a score that needs no joints, because 'locobot' .* reports none"
    with pytest.raises(ConfigurationError, match=refusal):
        resolve("locobot_vln", Overrides(settings={"scores": ["tracking_error"]}))
