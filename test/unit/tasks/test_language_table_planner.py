"""The planner: how long the shortest path is, what it avoids, and when there is none."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from language_table_instances import EIGHT, few_seeds, instance, scene

from robocontrast_ros.domain import Instruction, Pose
from robocontrast_ros.tasks.protocol import Infeasible
from robocontrast_ros.tasks.roadmap import ways_among_discs

P = EIGHT.parameters
START = EIGHT.scenes.start_position[:2]
REACH = P.tool.radius + P.block_size.radius
"""Distance of the centres of tool and block while pushing [m]."""


def to(location):
    return Instruction("", "block_to_absolute_location", (("source", "red_moon"), ("location", location)))


def test_a_block_straight_ahead_is_pushed_straight_to_the_nearest_point_of_the_goal():
    # The region ends 0.115 m before (0.575, 0); the tool comes from (0.185, 0) and stops behind the block.
    plan = EIGHT.planner.plan(to("bottom"), scene(red_moon=(0.30, 0.0)))
    assert plan.length == pytest.approx(0.575 - 0.115 - REACH - START[0], abs=2e-4)
    assert plan.path[0] == START
    assert plan.final_scene["red_moon"].pose.xy == pytest.approx((0.46, 0.0), abs=2e-4)


def test_a_block_to_be_pushed_back_is_gone_around():
    plan = EIGHT.planner.plan(to("top"), scene(red_moon=(0.30, 0.0)))
    # Half way round the block and straight back; a slanting push, from less far round, is shorter.
    clear = P.tool.radius + P.block_size.circumradius
    straight_back = (0.30 - START[0] - clear) + math.pi * clear + (clear - REACH) + (0.30 - 0.24)
    assert 0.30 - 0.24 < plan.length < straight_back
    x, y = plan.final_scene["red_moon"].pose.xy
    assert math.dist((x, y), (0.125, 0.0)) == pytest.approx(0.115, abs=2e-4)
    assert y != 0.0


def test_a_block_in_the_way_makes_the_path_longer():
    free = scene(red_moon=(0.30, 0.0), blue_cube=(0.45, 0.2))
    blocked = scene(red_moon=(0.30, 0.0), blue_cube=(0.40, 0.0))
    assert EIGHT.planner.plan(to("bottom"), blocked).length > EIGHT.planner.plan(to("bottom"), free).length + 0.005


@given(few_seeds)
def test_a_plan_fulfils_the_instruction_and_moves_the_source_alone(seed):
    drawn = instance(seed)
    plan = EIGHT.planner.plan(drawn.instruction, drawn.scene)
    assert EIGHT.goals.goal(drawn.instruction, drawn.scene).satisfied(plan.final_scene)
    moved = [a.name for a, b in zip(drawn.scene, plan.final_scene, strict=True) if a != b]
    assert moved == [drawn.instruction.get("source")]
    source = drawn.instruction.get("source")
    assert plan.final_scene[source].pose.orientation == drawn.scene[source].pose.orientation


@given(few_seeds)
def test_a_plan_stays_on_the_board_and_touches_no_block_but_the_source(seed):
    drawn = instance(seed)
    plan = EIGHT.planner.plan(drawn.instruction, drawn.scene)
    legs = itertools.pairwise(plan.path)
    points = np.concatenate([np.linspace(a, b, 20) for a, b in legs])
    for point in points:
        assert P.board.contains(*point, margin=-1e-6)
    for block in drawn.scene:
        if block.name != drawn.instruction.get("source"):
            assert np.linalg.norm(points - block.pose.xy, axis=1).min() >= REACH - 1e-6


@given(few_seeds)
def test_a_plan_is_no_shorter_than_the_way_to_the_block_and_the_block_to_the_goal(seed):
    drawn = instance(seed)
    source = drawn.scene[drawn.instruction.get("source")].pose.xy
    goal = EIGHT.goals.goal(drawn.instruction, drawn.scene)
    least = math.dist(START, source) - REACH + goal.region(drawn.scene).distance(source)
    assert drawn.optimal_path_length >= least - 1e-9


def test_a_fulfilled_instruction_has_a_plan_of_no_length_and_makes_no_instance():
    solved = scene(red_moon=(0.35, 0.0))
    assert EIGHT.planner.plan(to("center"), solved).length == 0.0
    assert EIGHT.make_instance("x", to("center"), solved) == Infeasible(
        "the instruction is already fulfilled in this scene"
    )


TOPPLED = Pose((0.4, 0.1, 0.0), (math.sin(0.7), 0.0, 0.0, math.cos(0.7)))
FLOOR = Pose((0.4, 0.1, -0.3))
INFEASIBLE = {
    "start blocked": (to("center"), scene(red_moon=(0.5, 0.2), blue_cube=START), "where the tool starts"),
    "source missing": (to("center"), scene(blue_cube=(0.3, 0.1)), "red moon is not in the scene"),
    "source off the board": (to("center"), scene(red_moon=(0.7, 0.1)), "red moon is off the board"),
    "source toppled": (
        to("center"),
        scene(red_moon=(0.4, 0.1)).moved("red_moon", TOPPLED),
        "does not stand upright",
    ),
    "source on the floor": (
        to("center"),
        scene(red_moon=(0.4, 0.1)).moved("red_moon", FLOOR),
        "does not stand upright on the board",
    ),
    "no side to push from": (to("top"), scene(red_moon=(0.595, 0.0)), "side to push from is off the board"),
    "goal point off the board": (
        Instruction(
            "",
            "block_to_relative_location",
            (("source", "red_moon"), ("direction", "up"), ("distance", "far")),
        ),
        scene(red_moon=(0.3, 0.1)),
        "the point that the instruction names is off the board",
    ),
    "walled in": (
        to("center"),
        scene(
            red_moon=(0.5, 0.22), blue_cube=(0.44, 0.22), green_cube=(0.56, 0.22),
            green_star=(0.5, 0.16), yellow_star=(0.5, 0.28), red_pentagon=(0.455, 0.175),
            blue_moon=(0.455, 0.265), yellow_pentagon=(0.545, 0.175),
        ),
        "other blocks or the edge are in the way",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", INFEASIBLE)
def test_an_infeasible_instruction_has_no_plan_and_says_why(case):
    instruction, where, reason = INFEASIBLE[case]
    answer = EIGHT.planner.plan(instruction, where)
    assert reason in answer.reason
    assert EIGHT.make_instance("x", instruction, where) == answer


def test_the_way_around_a_disc_is_at_most_3_5_percent_too_long():
    roads = ways_among_discs((-0.2, 0.0), [(0.0, 0.0)], 0.1, (-1, -1), (1, 1))
    tangent = math.sqrt(0.2**2 - 0.1**2)
    shortest = 2 * tangent + 0.1 * (math.pi - 2 * math.acos(0.1 / 0.2))
    path = roads.path((0.2, 0.0))
    length = sum(math.dist(a, b) for a, b in itertools.pairwise(path))
    assert shortest <= length <= 1.035 * shortest


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=6),
    st.tuples(st.floats(0, 1), st.floats(0, 1)),
)
def test_a_path_keeps_clear_of_every_disc(discs, goal):
    start = (0.5, -0.2)
    path = ways_among_discs(start, discs, 0.1, (-0.3, -0.3), (1.3, 1.3)).path(goal)
    if path is None:
        return
    assert path[0] == pytest.approx(start)
    assert path[-1] == pytest.approx(goal)
    points = np.concatenate([np.linspace(a, b, 50) for a, b in itertools.pairwise(path)])
    for disc in discs:
        assert np.linalg.norm(points - disc, axis=1).min() >= 0.1 - 1e-6


def test_a_walled_in_point_has_no_path_and_a_free_one_has():
    ring = [(0.2 * math.cos(a), 0.2 * math.sin(a)) for a in np.linspace(0, 2 * math.pi, 12, endpoint=False)]
    roads = ways_among_discs((0.6, 0.0), ring, 0.08, (-1, -1), (1, 1))
    assert roads.path((0.0, 0.0)) is None
    assert roads.path((-0.6, 0.0)) is not None
