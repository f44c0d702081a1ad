"""Goals of the task tabletop: lifted by the robot, then held, or placed, released and at rest."""

from dataclasses import replace

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from tabletop_scenes import asked, scene, tabletop

from robocontrast_ros.domain import Pose
from robocontrast_ros.tasks.protocol import RegionGoal, StagedGoal

TASK = tabletop()
START = scene(red_cube=(0.42, 0.15), blue_cube=(0.55, -0.1), red_bowl=(0.42, -0.1), red_can=(0.55, 0.15))


def goal(family, reference=""):
    return TASK.goals.goal(asked(family, "red_cube", reference), START)


def at(x, y, z, yaw=0.0, touched=False):
    return replace(START.moved("red_cube", Pose.planar(x, y, yaw, z)), contacts=("red_cube",) if touched else ())


def test_lifting_takes_height_and_the_robot():
    first = goal("pick").subgoals[0]
    assert not first.satisfied(at(0.42, 0.15, 0.019, touched=True))
    assert not first.satisfied(at(0.42, 0.15, 0.03))
    assert first.satisfied(at(0.42, 0.15, 0.02, touched=True))


def test_what_is_picked_is_held_high_for_half_a_second():
    wanted = goal("pick")
    assert wanted.subgoals[-1].holding.steps == 5
    assert not wanted.satisfied(at(0.42, 0.15, 0.049, touched=True))
    assert wanted.satisfied(at(0.42, 0.15, 0.05, touched=True))
    assert wanted.distance(at(0.42, 0.15, 0.06)) == TASK.parameters.success.contact


@pytest.mark.parametrize(
    ("family", "reference", "there", "elsewhere"),
    [
        ("move_near", "blue_cube", (0.55, -0.007, 0.0), (0.55, -0.004, 0.0)),
        ("move_near", "blue_cube", (0.55, -0.02, 0.009), (0.55, -0.02, 0.02)),
        ("stack", "blue_cube", (0.57, -0.1, 0.044), (0.573, -0.1, 0.044)),
        ("stack", "blue_cube", (0.55, -0.1, 0.053), (0.55, -0.1, 0.056)),
        ("put_on", "red_can", (0.55, 0.175, 0.115), (0.55, 0.178, 0.115)),
        ("put_in", "red_bowl", (0.42, -0.05, 0.02), (0.42, -0.03, 0.02)),
        ("put_in", "red_bowl", (0.42, -0.1, 0.025), (0.42, -0.1, 0.04)),
    ],
)
def test_a_place_has_edges(family, reference, there, elsewhere):
    wanted = goal(family, reference)
    assert wanted.satisfied(at(*there)) and not wanted.satisfied(at(*elsewhere))
    assert not wanted.satisfied(at(*there, touched=True)), "it has to be released"


def test_what_is_placed_rests_for_a_second():
    last = goal("stack", "blue_cube").subgoals[-1]
    assert (last.holding.steps, last.holding.still) == (10, ("red_cube",))
    assert last.holding.travel == pytest.approx(0.005)


def test_only_goals_with_a_place_can_be_drawn():
    assert isinstance(goal("pick"), StagedGoal) and not isinstance(goal("pick"), RegionGoal)
    placed = goal("put_in", "red_bowl")
    assert isinstance(placed, RegionGoal) and len(placed.regions(START)[0]) >= 12


@given(
    family=st.sampled_from([("pick", ""), ("move_near", "red_can"), ("stack", "blue_cube"), ("put_in", "red_bowl")]),
    x=st.floats(0.35, 0.65),
    y=st.floats(-0.2, 0.2),
    z=st.floats(0.0, 0.2),
    touched=st.booleans(),
)
@examples(60)
def test_the_distance_is_0_exactly_where_a_goal_holds_and_grows_no_faster_than_the_target_moves(
    family, x, y, z, touched
):
    wanted = goal(*family)
    here, beside = at(x, y, z, touched=touched), at(x + 0.01, y, z, touched=touched)
    assert (wanted.distance(here) == 0.0) == wanted.satisfied(here)
    assert abs(wanted.distance(here) - wanted.distance(beside)) <= 0.01 + 1e-9


def test_an_instruction_that_lacks_something_is_refused():
    with pytest.raises(ValueError, match="no argument reference"):
        TASK.goals.goal(asked("stack", "red_cube"), START)
    with pytest.raises(ValueError, match="family: got 'juggle'"):
        TASK.goals.goal(asked("juggle", "red_cube"), START)
    with pytest.raises(KeyError, match="no object 'lemon'"):
        TASK.goals.goal(asked("pick", "lemon"), START)
