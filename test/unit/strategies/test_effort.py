"""What setting up a scene takes, and what it costs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from articulated import cabinet_scene
from hypothesis import given
from hypothesis import strategies as st
from line_world import line

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import ObjectState, Pose, Scene, SetupMove
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.strategies.effort import (
    COST_MODELS,
    OUT_OF_THE_ROOM,
    HandlingTimes,
    MetresMoved,
    SecondsToMove,
    Tolerance,
    angle_between,
    cost_model,
    handled,
    scenes_match,
    setup_moves,
    transition_costs,
)

EXACT = Tolerance()
coordinates = st.floats(-1.0, 1.0)
poses = st.builds(Pose.planar, coordinates, coordinates, st.floats(-math.pi, math.pi))
scenes = st.dictionaries(st.sampled_from("abcde"), poses).map(
    lambda d: Scene(tuple(ObjectState(name, name, pose) for name, pose in d.items()))
)


def carried_out(scene: Scene, moves) -> Scene:
    for move in moves:
        kept = tuple(o for o in scene if o.name != move.name)
        scene = Scene(kept if move.goal is None else (*kept, ObjectState(move.name, move.model, move.goal)))
    return scene


@given(scenes, scenes)
def test_the_moves_bring_any_scene_to_any_other(actual, wanted):
    reached = carried_out(actual, setup_moves(actual, wanted, EXACT))
    assert sorted(reached, key=lambda o: o.name) == sorted(wanted, key=lambda o: o.name)


@given(scenes, scenes)
def test_the_metres_are_the_distances_of_the_objects_that_both_scenes_hold(actual, wanted):
    cost = MetresMoved().cost(setup_moves(actual, wanted, EXACT))
    shared = set(actual.names) & set(wanted.names)
    assert cost == pytest.approx(sum(actual[n].pose.distance_to(wanted[n].pose) for n in shared))


@pytest.mark.parametrize("model", [MetresMoved(), SecondsToMove()], ids=lambda m: m.name)
@given(left=st.lists(scenes, min_size=1, max_size=4), wanted=st.lists(scenes, min_size=1, max_size=4))
def test_costs_of_many_transitions_are_those_of_each(model, left, wanted):
    tolerance = Tolerance(0.01, 0.05)
    swapped = tuple(replace(o, model="other") for o in left[0])
    wanted = [*wanted, left[0], Scene(swapped[::-1])]
    costs = transition_costs(left, wanted, model, tolerance)
    for row, start in zip(costs, left, strict=True):
        expected = [model.cost(setup_moves(start, goal, tolerance)) for goal in wanted]
        assert row == pytest.approx(expected)


def test_transitions_between_scenes_of_different_frames_are_refused():
    scene = line(a=0.1)
    with pytest.raises(ValueError, match="scenes in one frame: got 'map', 'world'"):
        transition_costs([scene], [replace(scene, frame_id="map")], MetresMoved(), EXACT)


@given(scenes)
def test_a_scene_that_is_as_wanted_needs_no_move_and_costs_nothing(scene):
    assert setup_moves(scene, scene, EXACT) == ()
    assert MetresMoved().cost(()) == 0.0


def test_an_object_within_the_tolerance_stays_and_one_beyond_it_is_moved_all_the_way():
    moves = setup_moves(line(a=0.1, b=0.5), line(a=0.1019, b=0.5021), Tolerance(0.002, 0.05))
    assert [m.name for m in moves] == ["b"]
    assert MetresMoved().cost(moves) == pytest.approx(0.0021)


def test_an_object_that_is_turned_only_is_moved_at_no_metres():
    actual = Scene((ObjectState("a", "a", Pose.planar(0.0, 0.0, 0.0)),))
    wanted = Scene((ObjectState("a", "a", Pose.planar(0.0, 0.0, 1.0)),))
    moves = setup_moves(actual, wanted, Tolerance(0.002, 0.05))
    assert [m.name for m in moves] == ["a"]
    assert MetresMoved().cost(moves) == 0.0


def test_objects_are_taken_out_before_others_are_brought_in_and_neither_costs_metres():
    moves = setup_moves(line(a=0.1, b=0.5), line(b=0.5, c=0.1), EXACT)
    assert [(m.name, m.start is None, m.goal is None) for m in moves] == [
        ("a", False, True),
        ("c", True, False),
    ]
    assert MetresMoved().cost(moves) == 0.0


def test_an_object_whose_model_changed_is_taken_out_and_brought_in():
    actual, wanted = (Scene((ObjectState("a", model, Pose()),)) for model in ("cube", "moon"))
    moves = setup_moves(actual, wanted, EXACT)
    assert [(m.model, m.start is None, m.goal is None) for m in moves] == [
        ("cube", False, True),
        ("moon", True, False),
    ]


def test_scenes_in_two_frames_are_refused_by_name():
    with pytest.raises(ValueError, match=r"got 'world' and 'table'"):
        setup_moves(Scene(), Scene(frame_id="table"), EXACT)
    assert not scenes_match(Scene(), Scene(frame_id="table"), EXACT)


@given(poses, st.floats(-math.pi, math.pi))
def test_the_angle_between_a_pose_and_itself_turned_is_the_turn(pose, turn):
    turned = Pose.planar(*pose.xy, pose.yaw + turn)
    assert angle_between(pose, turned) == pytest.approx(abs(turn), abs=1e-7)
    assert angle_between(pose, pose) == 0.0


TIMES = HandlingTimes(walking_speed=2.0, carrying_speed=0.5, taking=3.0, placing=5.0)


def carry(name: str, start: tuple[float, float] | None, goal: tuple[float, float] | None) -> SetupMove:
    return SetupMove(name, name, start and Pose.planar(*start), goal and Pose.planar(*goal))


def test_the_seconds_are_walking_taking_carrying_and_placing_in_the_order_of_the_moves():
    model = SecondsToMove(TIMES)
    first, second = carry("a", (0.0, 0.0), (2.0, 0.0)), carry("b", (2.0, 3.0), (2.0, 4.0))
    assert model.cost((first,)) == pytest.approx(3.0 + 4.0 + 5.0)
    assert model.cost((first, second)) == pytest.approx((3.0 + 4.0 + 5.0) + 1.5 + (3.0 + 2.0 + 5.0))
    assert model.cost((second, first)) == pytest.approx(12.0 + 10.0 + math.hypot(2.0, 4.0) / 2.0)


def test_turning_an_object_takes_time_and_bringing_one_in_takes_none():
    model = SecondsToMove(TIMES)
    assert model.cost((carry("a", (1.0, 1.0), (1.0, 1.0)),)) == 8.0
    assert model.cost((carry("a", None, (1.0, 1.0)), carry("b", (0.0, 0.0), None))) == 0.0


@given(scenes, scenes)
def test_seconds_are_never_less_than_the_carrying_and_grow_with_every_move(actual, wanted):
    moves, model = setup_moves(actual, wanted, EXACT), SecondsToMove(TIMES)
    costs = [model.cost(moves[:n]) for n in range(len(moves) + 1)]
    assert costs == sorted(costs)
    assert costs[-1] >= MetresMoved().cost(moves) / TIMES.carrying_speed


@given(scenes, scenes, st.floats(0.0, 1e4))
def test_what_was_measured_counts_as_seconds_and_changes_no_metres(actual, wanted, measured):
    moves = setup_moves(actual, wanted, EXACT)
    assert SecondsToMove(TIMES).cost(moves, measured) == measured
    assert MetresMoved().cost(moves, measured) == MetresMoved().cost(moves)


@given(scenes, scenes)
def test_the_model_of_seconds_is_linear_in_what_a_person_does(actual, wanted):
    moves = setup_moves(actual, wanted, EXACT)
    done = handled(moves, None)
    each = TIMES.taking + TIMES.placing
    seconds = done.walked / TIMES.walking_speed + done.carried / TIMES.carrying_speed + done.objects * each
    assert SecondsToMove(TIMES).cost(moves) == pytest.approx(seconds)


def test_every_cost_model_is_found_by_its_name():
    models = [cost_model(name, TIMES) for name in COST_MODELS]
    assert [(m.name, m.unit) for m in models] == [("metres_moved", "m"), ("seconds_to_move", "s")]
    assert models[1].cost((carry("a", (0.0, 0.0), (0.0, 0.0)),)) == 8.0


def test_a_session_s_file_names_the_cost_model_and_the_person(tmp_path):
    file = tmp_path / "session.yaml"
    file.write_text(
        "name: small\nseed: 1\ntask: language_table\nrobot: franka\npolicy: oracle\n"
        "strategy: {name: standard}\ntest_set: {size: 2}\n"
        "cost: seconds_to_move\nhandling_times: {taking: 30.0, placing: 12.0}\n"
    )
    model = resolve(file).evaluation().cost_model
    assert model.unit == "s"
    assert model.cost((carry("a", (0.0, 0.0), (0.0, 0.0)),)) == 42.0
    file.write_text(file.read_text().replace("seconds_to_move", "seconds"))
    with pytest.raises(ConfigurationError, match=r"`cost`: got 'seconds', expected a known cost model: metres_moved"):
        resolve(file)


STORE = (5.0, 0.0, 0.0)


@pytest.mark.parametrize("model", [MetresMoved(STORE), SecondsToMove(TIMES, STORE)], ids=lambda m: m.name)
def test_with_a_store_what_is_brought_in_and_taken_out_is_carried_from_and_to_it(model):
    left, wanted = line(a=0.0, b=1.0), line(b=1.0, c=3.0)
    moves = setup_moves(left, wanted, EXACT)
    walk = (5.0 - 5.0) / TIMES.walking_speed
    seconds = (5.0 + 2.0) / TIMES.carrying_speed + walk + 2 * (TIMES.taking + TIMES.placing)
    assert model.cost(moves) == pytest.approx(5.0 + 2.0 if model.unit == "m" else seconds)
    assert transition_costs([left, wanted], [wanted, left], model, EXACT) == pytest.approx(
        np.array([[model.cost(moves), 0.0], [0.0, model.cost(setup_moves(wanted, left, EXACT))]])
    )


@pytest.mark.parametrize("model", [MetresMoved(STORE), SecondsToMove(TIMES, STORE)], ids=lambda m: m.name)
def test_what_was_thrown_out_of_the_room_is_brought_in_from_the_store(model):
    wanted, gone = line(a=1.0), line()
    brought_in = model.cost(setup_moves(gone, wanted, EXACT))
    assert model.cost(setup_moves(line(a=1.0 + OUT_OF_THE_ROOM), wanted, EXACT)) == brought_in
    assert model.cost(setup_moves(line(a=0.9 + OUT_OF_THE_ROOM), wanted, EXACT)) > brought_in


def test_a_drawer_is_moved_by_itself_and_comes_with_its_cabinet():
    shut, pulled = cabinet_scene(), cabinet_scene(top_drawer=0.16, bottom_drawer=0.02)
    moves = setup_moves(shut, pulled, EXACT)
    assert [move.name for move in moves] == ["brown_cabinet/bottom_drawer", "brown_cabinet/top_drawer"]
    assert MetresMoved().cost(moves) == pytest.approx(0.18)
    assert handled(moves, None).objects == 2
    assert setup_moves(shut, pulled, Tolerance(0.03, 0.1)) == moves[1:]
    # What a person carries is the cabinet, and nothing of it twice.
    assert [move.name for move in setup_moves(Scene(), pulled, EXACT)] == ["brown_cabinet"]
    assert [move.name for move in setup_moves(pulled, Scene(), EXACT)] == ["brown_cabinet"]
    costs = transition_costs([shut, pulled, Scene()], [shut, pulled], MetresMoved(), EXACT)
    assert costs == pytest.approx(np.array([[0.0, 0.18], [0.18, 0.0], [0.0, 0.0]]))
