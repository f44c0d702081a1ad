"""The navigation planner against a second method, and what must hold for every path."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import shapely
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra
from vln_scenes import APARTMENT, ARRANGEMENTS, arranged, few_seeds, instance, scene

from robocontrast_ros.domain import Pose
from robocontrast_ros.tasks.navigation.floor import ARC_CORNERS, INSIDE
from robocontrast_ros.tasks.navigation.routes import frechet_distance, path_length
from robocontrast_ros.tasks.protocol import Plan

P = APARTMENT.parameters
CELL = 0.06
STRETCH = 1.0 / math.cos(math.atan2(1, 2) / 2)
"""A way among 16 directions is longer than the straight one by this factor at most."""

STEPS = [(1, 0), (0, 1), (1, 1), (1, -1), (2, 1), (1, 2), (2, -1), (1, -2)]
SIDE = max(P.room.length, P.room.width)


class Grid:
    """Shortest ways on a grid through all points that are ``clearance`` from furniture and walls."""

    def __init__(self, where, clearance):
        xs, ys = np.arange(CELL / 2, P.room.length, CELL), np.arange(CELL / 2, P.room.width, CELL)
        self.shape = len(xs), len(ys)
        self.points = np.stack(np.meshgrid(xs, ys, indexing="ij"), axis=-1).reshape(-1, 2)
        walls = shapely.box(0, 0, P.room.length, P.room.width).exterior
        polygons = [APARTMENT.planner.shapes.polygon(o.model, o.pose) for o in where]
        gaps = shapely.distance(np.array([*polygons, walls], dtype=object)[:, None], shapely.points(self.points))
        self.free = gaps.min(axis=0) >= clearance
        self.near = {
            model: gaps[[i for i, o in enumerate(where) if o.model == model]].min(axis=0) <= P.reach
            for model in {o.model for o in where}
        }
        index = np.arange(len(self.points)).reshape(self.shape)
        rows, columns, lengths = [], [], []
        for dx, dy in STEPS:
            a = index[: self.shape[0] - dx, max(0, -dy) : self.shape[1] - max(0, dy)].ravel()
            b = a + dx * self.shape[1] + dy
            both = self.free[a] & self.free[b]
            rows.append(a[both])
            columns.append(b[both])
            lengths.append(np.full(both.sum(), CELL * math.hypot(dx, dy)))
        self.edges = np.concatenate(rows), np.concatenate(columns), np.concatenate(lengths)

    def distances(self, ends, offsets):
        """Distances of all cells from a point that is joined to some cells."""
        count = len(self.points)
        a, b, lengths = self.edges
        graph = coo_array(
            (
                np.concatenate([lengths, np.maximum(offsets, 1e-9)]),
                (np.concatenate([a, np.full(len(ends), count)]), np.concatenate([b, ends])),
            ),
            shape=(count + 1, count + 1),
        ).tocsr()
        graph = graph + graph.T
        # Joints lead away from the point alone, or ways would lead through it.
        graph = graph.tolil()
        graph[:count, count] = 0.0
        return dijkstra(graph.tocsr(), indices=count)[:count]

    def length(self, start, first, last):
        """Length of the way from near the start through the first place's region to the last one's."""
        gap = np.linalg.norm(self.points - start, axis=1)
        ends = np.flatnonzero(self.free & (gap <= 1.5 * CELL))
        to = self.distances(ends, gap[ends])
        entered = np.flatnonzero(self.near[first] & np.isfinite(to))
        if not len(entered):
            return math.inf
        onward = self.distances(entered, to[entered])
        return float(onward[self.near[last]].min(initial=math.inf))


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(4, 18))])
def test_a_path_is_as_short_as_the_best_one_on_a_fine_grid(seed):
    base = instance(seed)
    first, last = APARTMENT.planner.named(base.instruction)
    start = np.array(base.scene.robot.xy)
    half_edge = CELL * math.sqrt(5) / 2
    # What is free here, edges included, is free to the planner, whose polygons are this much larger at most.
    strict = Grid(base.scene, P.base.clearance / math.cos(math.pi / ARC_CORNERS) + half_edge)
    assert base.optimal_path_length <= strict.length(start, first, last) + INSIDE
    # Next to any free path there are cells in here.
    loose = Grid(base.scene, P.base.clearance - CELL)
    assert base.optimal_path_length >= loose.length(start, first, last) / STRETCH - 6 * CELL


@given(few_seeds)
def test_a_path_is_free_and_passes_both_places(seed):
    base = instance(seed)
    route = APARTMENT.planner.route(base.instruction, base.scene)
    plan = APARTMENT.planner.floor_plan(base.scene)
    first, last = APARTMENT.planner.named(base.instruction)
    assert route.path[0] == base.scene.robot.xy
    assert plan.gap(route.path) >= P.base.clearance - 1e-6
    assert plan.region(first).contains(route.path[route.via])
    assert plan.region(last).contains(route.path[-1])
    assert base.reference_path == route.path
    assert base.optimal_path_length == pytest.approx(path_length(route.path))
    assert all(not plan.region(first).contains(p) for p in route.path[: route.via])


@given(few_seeds, st.data())
def test_a_path_cannot_be_shortened_by_moving_a_point(seed, data):
    base = instance(seed)
    route = APARTMENT.planner.route(base.instruction, base.scene)
    plan = APARTMENT.planner.floor_plan(base.scene)
    first, last = APARTMENT.planner.named(base.instruction)
    index = data.draw(st.integers(1, len(route.path) - 1))
    size = data.draw(st.sampled_from([0.005, 0.02, 0.1]))
    offset = data.draw(st.tuples(*[st.floats(-size, size)] * 2))
    points = np.array(route.path)
    points[index] += offset
    free = plan.roads.free(points).all() and plan.roads.sees(points[:-1], points[1:]).all()
    if free and plan.region(first).contains(points[route.via]) and plan.region(last).contains(points[-1]):
        # The path enters both regions by so much more than need be.
        assert path_length(points) >= route.length - 4 * INSIDE


@given(few_seeds)
def test_the_distance_to_a_place_falls_to_zero_along_the_path_there(seed):
    base = instance(seed)
    route = APARTMENT.planner.route(base.instruction, base.scene)
    goal = APARTMENT.goals.goal(base.instruction, base.scene)
    distances = [goal.distance(replace(base.scene, robot=Pose.planar(*p))) for p in route.second_half]
    remaining = [path_length(route.second_half[i:]) for i in range(len(route.second_half))]
    assert distances == pytest.approx(remaining, abs=2 * INSIDE)
    assert distances[-1] == 0.0


@given(few_seeds, st.floats(0, 6), st.floats(0, 5), st.floats(-0.05, 0.05), st.floats(-0.05, 0.05))
def test_the_distance_changes_by_no_more_than_the_robot_moves(seed, x, y, dx, dy):
    base = instance(seed)
    plan = APARTMENT.planner.floor_plan(base.scene)
    place = APARTMENT.planner.named(base.instruction)[1]
    a, b = (x, y), (x + dx, y + dy)
    ends = np.array([a, b])
    if plan.roads.free(ends).all() and plan.roads.sees(ends[:1], ends[1:])[0]:
        difference = abs(plan.distance(a, place) - plan.distance(b, place))
        assert difference <= math.dist(a, b) + 2 * INSIDE or math.isnan(difference)


def test_a_goal_is_satisfied_exactly_where_its_distance_is_zero():
    base = arranged("arrangement_1")
    goal = APARTMENT.goals.goal(base.instruction, base.scene)
    shelf = base.scene["bookshelf"].pose
    edge = shelf.position[0] - 0.16 - P.reach
    for x, there in ((edge - 0.01, False), (edge + 0.01, True)):
        at = replace(base.scene, robot=Pose.planar(x, shelf.position[1]))
        assert goal.satisfied(at) is there
        assert (goal.distance(at) == 0.0) is there


def test_the_distance_of_a_robot_that_has_come_too_near_to_furniture_is_finite():
    base = arranged("arrangement_1")
    table = base.scene["table"].pose.position
    goal = APARTMENT.goals.goal(base.instruction, base.scene)
    near = replace(base.scene, robot=Pose.planar(table[0] - 0.36 - 0.18, table[1]))
    out = replace(base.scene, robot=Pose.planar(table[0] - 0.36 - P.base.clearance - 0.001, table[1]))
    assert goal.distance(near) == pytest.approx(goal.distance(out) + 0.07, abs=0.01)


def test_without_furniture_in_the_way_the_path_is_a_straight_line():
    where = scene((1.0, 2.5, 0.0), lamp=(3.0, 2.0, 0.0), couch=(5.5, 2.5, math.pi))
    plan = APARTMENT.planner.plan(APARTMENT.language.parse("Drive past the lamp, then stop at the couch", where), where)
    assert plan.length == pytest.approx(5.5 - 0.42 - P.reach - 1.0, abs=2 * INSIDE)
    assert plan.final_scene.robot.xy == pytest.approx((4.48, 2.5), abs=0.01)
    assert plan.final_scene.robot.yaw == pytest.approx(0.0, abs=0.01)


def test_of_two_plants_the_nearer_one_will_do():
    where = scene((1.0, 2.5, 0.0), plant_1=(5.5, 0.5, 0.0), plant_2=(3.0, 4.0, 0.0), lamp=(1.5, 4.5, 0.0))
    route = APARTMENT.planner.route(
        APARTMENT.language.parse("Walk past the plants, then stop at the lamp", where), where
    )
    assert math.dist(route.path[route.via], (3.0, 4.0)) < 1.0


def test_a_robot_that_starts_at_the_first_place_goes_straight_to_the_last_one():
    where = scene((1.0, 2.5, 0.0), lamp=(1.5, 2.5, 0.0), couch=(5.5, 2.5, math.pi))
    instruction = APARTMENT.language.parse("Drive past the lamp, then stop at the couch", where)
    route = APARTMENT.planner.route(instruction, where)
    assert route.via == 0
    assert route.length == pytest.approx(APARTMENT.goals.goal(instruction, where).distance(where), abs=2 * INSIDE)
    assert "starts at the first place" in APARTMENT.make_instance("x", instruction, where).reason


@pytest.mark.parametrize(("width", "passes"), [(0.02, True), (-0.02, False)])
def test_a_passage_is_passed_where_it_is_wide_enough_and_not_where_it_is_not(width, passes):
    gap = 2 * P.base.clearance + width
    where = scene(
        (0.6, 2.5, 0.0),
        bed=(3.0, 1.0, math.pi / 2),
        couch=(3.0, 2.9, 0.0),
        table=(3.0, 5.0 - gap - 0.5, 0.0),
        desk=(5.6, 2.5, math.pi),
        lamp=(1.0, 4.5, 0.0),
    )
    instruction = APARTMENT.language.parse("Walk past the lamp, then stop at the desk", where)
    answer = APARTMENT.planner.plan(instruction, where)
    assert isinstance(answer, Plan) if passes else "wide enough" in answer.reason


@pytest.mark.parametrize("name", ARRANGEMENTS)
def test_every_subgoal_has_regions_to_draw(name):
    base = arranged(name)
    goal = APARTMENT.goals.goal(base.instruction, base.scene)
    for subgoal in goal.subgoals:
        for outline in subgoal.regions(base.scene):
            assert len(outline) > 8
            polygon = shapely.Polygon(outline)
            assert any(polygon.contains(shapely.Point(o.pose.xy)) for o in base.scene if o.model == subgoal.place)
    assert goal.regions(base.scene) == goal.subgoals[-1].regions(base.scene)
    assert goal.stop_required
    assert goal.reach == P.reach


@examples(30)
@given(few_seeds)
def test_frechet_distance_of_a_path_to_itself_is_zero_and_to_one_beside_it_is_the_offset(seed):
    path = instance(seed).reference_path
    assert frechet_distance(path, path) == 0.0
    beside = tuple((x + 0.3, y) for x, y in path)
    assert frechet_distance(path, beside) <= 0.3 + 1e-9
    assert frechet_distance(path, path[::-1]) >= math.dist(path[0], path[-1]) - 1e-9


def test_the_floor_plan_of_a_scene_is_made_once():
    base = arranged("arrangement_2")
    plans = [
        APARTMENT.planner.floor_plan(replace(base.scene, robot=Pose.planar(*xy)))
        for xy in itertools.product((1.0, 2.0), repeat=2)
    ]
    assert all(plan is plans[0] for plan in plans)
