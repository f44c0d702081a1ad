"""What setting up a scene takes, and what it costs."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from line_world import line

from robocontrast_ros.domain import ObjectState, Pose, Scene
from robocontrast_ros.strategies.cost import MetresMoved, Tolerance, agree, angle_between, setup_moves

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
    assert not agree(Scene(), Scene(frame_id="table"), EXACT)


@given(poses, st.floats(-math.pi, math.pi))
def test_the_angle_between_a_pose_and_itself_turned_is_the_turn(pose, turn):
    turned = Pose.planar(*pose.xy, pose.yaw + turn)
    assert angle_between(pose, turned) == pytest.approx(abs(turn), abs=1e-7)
    assert angle_between(pose, pose) == 0.0
