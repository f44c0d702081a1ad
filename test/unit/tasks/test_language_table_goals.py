"""The goal predicates, with the public environment's numbers worked out by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from language_table_instances import EIGHT, instance, scene, seeds

from robocontrast_ros.domain import Instruction, Pose
from robocontrast_ros.tasks.language_table.goals import Capsule, Outside
from robocontrast_ros.tasks.protocol import Goal


def goal(family, start, **arguments) -> Goal:
    return EIGHT.goals.goal(Instruction("", family, tuple(arguments.items())), start)


def reached(a_goal, **places):
    """Return the distance to the goal, having checked that it is 0 exactly when the goal is satisfied."""
    where = scene(**places)
    assert a_goal.satisfied(where) == (a_goal.distance(where) == 0.0)
    return a_goal.distance(where)


def test_block_to_block_is_reached_within_5_cm_wherever_the_target_went():
    start = scene(red_moon=(0.3, 0.0), blue_cube=(0.4, 0.1))
    pushed = goal("block_to_block", start, source="red_moon", target="blue_cube")
    assert reached(pushed, red_moon=(0.4, 0.0), blue_cube=(0.4, 0.1)) == pytest.approx(0.05)
    assert reached(pushed, red_moon=(0.4, 0.051), blue_cube=(0.4, 0.1)) == 0.0
    assert reached(pushed, red_moon=(0.5, 0.2), blue_cube=(0.5, 0.249)) == 0.0


@pytest.mark.parametrize(
    ("location", "point", "radius"),
    [
        ("top", (0.125, 0.0), 0.115),
        ("top_left", (0.125, -0.3048), 0.115),
        ("top_right", (0.125, 0.3048), 0.115),
        ("center", (0.35, 0.0), 0.10),
        ("center_left", (0.35, -0.3048), 0.115),
        ("center_right", (0.35, 0.3048), 0.115),
        ("bottom", (0.575, 0.0), 0.115),
        ("bottom_left", (0.575, -0.3048), 0.115),
        ("bottom_right", (0.575, 0.3048), 0.115),
    ],
)
def test_a_place_is_reached_within_its_radius(location, point, radius):
    start = scene(red_moon=(0.4, 0.1))
    pushed = goal("block_to_absolute_location", start, source="red_moon", location=location)
    for angle in (0.0, 2.0, 4.0):
        unit = math.cos(angle), math.sin(angle)
        at = tuple(p + (radius - 0.001) * u for p, u in zip(point, unit, strict=True))
        assert reached(pushed, red_moon=at) == 0.0
        at = tuple(p + (radius + 0.01) * u for p, u in zip(point, unit, strict=True))
        assert reached(pushed, red_moon=at) == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("direction", "unit"),
    [
        ("up", (-1, 0)),
        ("down", (1, 0)),
        ("left", (0, -1)),
        ("right", (0, 1)),
        ("up_left", (-math.sqrt(0.5), -math.sqrt(0.5))),
        ("up_right", (-math.sqrt(0.5), math.sqrt(0.5))),
        ("down_left", (math.sqrt(0.5), -math.sqrt(0.5))),
        ("down_right", (math.sqrt(0.5), math.sqrt(0.5))),
    ],
)
@pytest.mark.parametrize(("distance", "offset"), [("near", 0.15), ("far", 0.25)])
def test_a_relative_location_is_reached_within_10_cm_of_an_offset_from_the_start(direction, unit, distance, offset):
    x, y = 0.37, 0.01
    start = scene(red_moon=(x, y))
    pushed = goal("block_to_relative_location", start, source="red_moon", direction=direction, distance=distance)
    assert reached(pushed, red_moon=(x, y)) == pytest.approx(offset - 0.10)
    assert reached(pushed, red_moon=(x + unit[0] * offset, y + unit[1] * offset)) == 0.0
    far = offset - 0.101
    assert reached(pushed, red_moon=(x + unit[0] * far, y + unit[1] * far)) == pytest.approx(0.001)


@pytest.mark.parametrize(("direction", "offset"), [("left", (0.0, -0.08)), ("down_right", (0.04, 0.04))])
def test_a_side_of_a_block_is_reached_within_4_cm_of_a_line_of_offsets(direction, offset):
    start = scene(red_moon=(0.5, 0.2), blue_cube=(0.4, 0.0))
    pushed = goal("block_to_block_relative_location", start, source="red_moon", target="blue_cube", direction=direction)
    for share in (0.5, 0.8, 1.1):
        at = (0.4 + share * offset[0], share * offset[1])
        assert reached(pushed, red_moon=at, blue_cube=(0.4, 0.0)) == 0.0
        sideways = tuple(0.041 * c / math.hypot(*offset) for c in (-offset[1], offset[0]))
        aside = (at[0] + sideways[0], at[1] + sideways[1])
        assert reached(pushed, red_moon=aside, blue_cube=(0.4, 0.0)) == pytest.approx(0.001)
    beyond = 1.1 + 0.05 / math.hypot(*offset)
    at = (0.4 + beyond * offset[0], beyond * offset[1])
    assert reached(pushed, red_moon=at, blue_cube=(0.4, 0.0)) == pytest.approx(0.01)


def test_a_target_dragged_farther_than_5_cm_fails_the_side_of_a_block():
    start = scene(red_moon=(0.5, 0.2), blue_cube=(0.4, 0.0))
    pushed = goal("block_to_block_relative_location", start, source="red_moon", target="blue_cube", direction="left")
    assert reached(pushed, red_moon=(0.4, -0.031), blue_cube=(0.4, 0.049)) == 0.0
    assert reached(pushed, red_moon=(0.4, -0.02), blue_cube=(0.4, 0.06)) == pytest.approx(0.01)


def test_blocks_are_separated_from_a_distance_of_7_5_cm():
    start = scene(red_moon=(0.4, 0.0), blue_cube=(0.4, 0.06))
    pushed = goal("separate_blocks", start, source="red_moon", target="blue_cube")
    assert reached(pushed, red_moon=(0.4, 0.0), blue_cube=(0.4, 0.06)) == pytest.approx(0.015)
    assert reached(pushed, red_moon=(0.4, -0.016), blue_cube=(0.4, 0.06)) == 0.0
    assert reached(pushed, red_moon=(0.2, -0.2), blue_cube=(0.4, 0.06)) == 0.0


@given(seeds, st.sampled_from(EIGHT.families), st.floats(0.15, 0.6), st.floats(-0.3, 0.3))
def test_distance_is_zero_exactly_when_the_goal_is_satisfied(seed, family, x, y):
    base = instance(seed % 25, family)
    expected = EIGHT.goals.goal(base.instruction, base.scene)
    moved = base.scene.moved(base.instruction.get("source"), Pose.planar(x, y))
    assert (expected.distance(moved) == 0.0) == expected.satisfied(moved)
    assert expected.distance(moved) >= 0.0
    assert not expected.satisfied(base.scene)


points = st.tuples(st.floats(-1, 1), st.floats(-1, 1))


@given(
    st.one_of(
        st.builds(Capsule, points, points, st.floats(0.01, 0.5)),
        st.builds(Outside, points, st.floats(0.01, 0.5)),
    ),
    points,
)
@example(Outside((0.0, 0.0), 0.1), (1.77e-160, 1.77e-160))
def test_the_nearest_point_of_a_region_is_in_it_and_as_far_away_as_the_region(region, point):
    nearest = region.nearest(point)
    assert region.distance(nearest) < 1e-9
    assert math.dist(point, nearest) == pytest.approx(float(region.distance(point)), abs=1e-9)
    assert region.distance(region.shrunk(0.001).nearest(point)) == 0.0


@pytest.mark.parametrize(
    ("family", "arguments", "complaint"),
    [
        (
            "block_to_moon",
            {"source": "red_moon"},
            "family: got 'block_to_moon', expected one of block_to_block",
        ),
        ("block_to_absolute_location", {"source": "red_moon"}, "no argument location"),
        (
            "block_to_absolute_location",
            {"source": "red_moon", "location": "north"},
            "got 'north', expected one of top",
        ),
    ],
)
def test_an_instruction_that_makes_no_sense_is_refused_by_name(family, arguments, complaint):
    with pytest.raises(ValueError, match=complaint):
        goal(family, scene(red_moon=(0.3, 0.0)), **arguments)


@given(start=points, end=points, point=points, radius=st.floats(0.0, 0.2))
@example(start=(0.1, 0.2), end=(0.1, 0.2), point=(0.3, 0.2), radius=0.05)
def test_a_capsule_is_as_far_from_a_point_alone_as_from_one_of_many_to_the_last_bit(start, end, point, radius):
    capsule = Capsule(start, end, radius)
    assert capsule.distance(point) == capsule.distance([point, (0.0, 0.0)])[0]
