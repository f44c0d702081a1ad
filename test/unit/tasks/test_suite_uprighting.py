"""Setting things upright: plans, reasons for none, and the oracle in real physics."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robocontrast_ros.configuration import load_configured, resolve_uri
from robocontrast_ros.domain import BASE, ObjectState, Pose, Scene, Trial
from robocontrast_ros.objects.frames import about, compose, inverse, multiply, rotate
from robocontrast_ros.policies.serving.runner import PolicyRunner
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.tasks.bddl import Atom
from robocontrast_ros.tasks.plans import NoPlan
from robocontrast_ros.tasks.suite import Suite
from robocontrast_ros.tasks.suite.predicates import PICKED_UP, UP
from robocontrast_ros.tasks.tabletop import shapes
from robocontrast_ros.worlds.in_process import InProcessBench
from robocontrast_ros.worlds.mujoco.world import World

CONFIG = "package://robocontrast_ros/config"
LIFTED = load_configured("tasks", resolve_uri(f"{CONFIG}/tasks/kitchen.yaml")).parameters.success.lifted
UPRIGHT = (0.0, 0.0, 0.0, 1.0)


@cache
def suite() -> Suite:
    return load_configured("tasks", resolve_uri(f"{CONFIG}/tasks/tabletop_suite.yaml"))


def fallen(name, top, at=(0.5, 0.0), roll=0.0):
    """Return a thing on its side, its middle at a place, its top in a direction [deg] from the robot's x axis."""
    turn = multiply(about((0.0, 1.0, 0.0), math.pi / 2), about((0.0, 0.0, 1.0), math.radians(roll)))
    turn = multiply(about((0.0, 0.0, 1.0), math.radians(top)), turn)
    model = suite().things.models[name]
    x, y, _ = rotate(turn, (0.0, 0.0, -model.size[2] / 2))
    lowest = shapes.lowest(model, Pose((0.0, 0.0, 0.0), turn))
    return ObjectState(name, name, Pose((at[0] + x, at[1] + y, -lowest), turn))


def stands(name, at):
    return ObjectState(name, name, Pose((*at, 0.0), UPRIGHT))


def upright(name, *things):
    return suite().planner.step(Atom(UP, (name,)), Scene(things))


def angle_from_down(tool):
    return math.degrees(math.acos(-rotate(tool.orientation, (0.0, 0.0, 1.0))[2]))


@settings(max_examples=20)
@given(
    st.sampled_from(["red_can", "green_soup_can", "green_water_bottle", "yellow_glue_stick", "red_flashlight"]),
    st.sampled_from([-1, 1]),
    st.floats(-39.0, 39.0),
    st.floats(-180.0, 180.0),
)
def test_a_hand_tilted_one_way_takes_a_thing_across_its_axis_and_leaves_it_standing_there_tilted_the_other_way(
    name, side, aside, roll
):
    state = fallen(name, 90.0 * side + aside, roll=roll)
    step = upright(name, state)
    way, end = step.way, step.scene[name].pose
    assert shapes.is_upright(end) and end.position[2] == 0.0
    for tool in (way.grasp, way.place):
        assert angle_from_down(tool) == pytest.approx(45.0, abs=0.01)
        assert rotate(tool.orientation, (0.0, 1.0, 0.0))[2] == pytest.approx(0.0, abs=1e-6)
    assert way.grasp.xy == pytest.approx(way.place.xy)
    before, after = compose(inverse(state.pose), way.grasp), compose(inverse(end), way.place)
    assert before.position == pytest.approx(after.position)
    assert before.orientation == pytest.approx(after.orientation)
    assert way.carry - state.pose.position[2] - before.position[2] >= LIFTED


def test_a_thing_whose_sides_differ_is_taken_where_the_hand_is_wide_enough():
    assert upright("white_milk_carton", fallen("white_milk_carton", 90.0, roll=90.0)).way.width == 0.066
    with pytest.raises(NoPlan, match="the white milk carton has no grasp by which the hand sets it upright"):
        upright("white_milk_carton", fallen("white_milk_carton", 90.0))


@pytest.mark.parametrize(
    ("state", "others", "reason"),
    [
        (fallen("red_can", 10.0), (), "has its top towards the robot or away from it"),
        (fallen("red_can", 180.0), (), "has its top towards the robot or away from it"),
        (stands("red_can", (0.5, 0.0)), (), "does not lie on its side"),
        (fallen("red_can", 90.0, (0.5, 0.27)), (), "lies too near to the edge of the region where things stand"),
        (
            fallen("red_can", 90.0),
            (stands("purple_plum", (0.56, 0.0)),),
            "the purple plum is in the way where the red can",
        ),
        (fallen("red_can", 90.0), (stands("blue_can", (0.5, 0.2)),), "the blue can is in the way of the hand"),
        (fallen("red_can", 90.0), (stands("blue_can", (0.5, -0.2)),), "the blue can is in the way of the hand"),
        (fallen("red_mug", 90.0), (), "has no grasp by which the hand sets it upright"),
    ],
)
def test_what_no_hand_sets_upright_is_refused_with_the_reason(state, others, reason):
    with pytest.raises(NoPlan, match=reason):
        upright(state.name, state, *others)


def test_what_lies_on_something_is_refused():
    state = fallen("red_can", 90.0)
    x, y, z = state.pose.position
    high = ObjectState("red_can", "red_can", Pose((x, y, z + 0.03), state.pose.orientation))
    with pytest.raises(NoPlan, match="the red can does not lie free on the table"):
        upright("red_can", high)


def test_what_has_fallen_over_is_not_carried_before_it_stands():
    scene = Scene((fallen("red_can", 90.0), stands("white_plate", (0.5, -0.22))))
    with pytest.raises(NoPlan, match="the red can has fallen over"):
        suite().planner.step(Atom(PICKED_UP, ("red_can",)), scene)
    stood = suite().planner.step(Atom(UP, ("red_can",)), scene).scene
    assert suite().planner.step(Atom(PICKED_UP, ("red_can",)), stood).length > 0.0


def heading(axis):
    return math.degrees(math.atan2(axis[1], axis[0]))


NAMES = sorted(name for name, task in suite().suite.items() if "reorientation" in task.attributes)


@settings(max_examples=5)
@given(st.sampled_from(NAMES), st.integers(0, 2**32 - 1))
def test_what_lies_in_a_stored_scene_lies_still_in_those_drawn_about_it(name, seed):
    task = suite().suite[name]
    scene = suite().sample_of(name, np.random.default_rng(seed), "x").scene
    for state in task.scene:
        lies = not shapes.is_upright(state.pose)
        assert lies == (not shapes.is_upright(scene[state.name].pose))
        if lies:
            before, after = (rotate(s[state.name].pose.orientation, (0.0, 0.0, 1.0)) for s in (task.scene, scene))
            assert abs(after[2] - before[2]) < 0.01
            turned = abs(math.remainder(heading(after) - heading(before), 360.0))
            assert turned <= suite().parameters.spread.turn + 1.0


def test_the_oracle_lifts_a_can_sets_it_upright_lets_go_and_leaves_in_physics():
    task, scenes = suite(), suite().scenes
    world = World(load_profile("franka_hand"), scenes.world, scenes.start_position, physics_step=scenes.physics_step)
    file = resolve_uri(f"{CONFIG}/policies/suite_oracle.yaml")
    bench = InProcessBench(world, task, PolicyRunner(file, timeout=60.0, own_thread=False))
    name = next(name for name in NAMES if task.suite[name].difficulty.subtasks == 1 and "can" in name)
    instance = task.sample_of(name, np.random.default_rng(0), "x")
    bench.bring(instance.scene)
    result = bench.execute(Trial(0, "x", BASE, 0, instance, 0), 0).result
    assert result.success
    assert shapes.is_upright(bench.scene()[task.suite[name].handled[0]].pose)
