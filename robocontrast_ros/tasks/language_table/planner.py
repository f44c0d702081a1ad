"""The shortest tool path that fulfils an instruction (docs/language_table.md defines it in full).

The tool goes to a point behind the source block, around all blocks, and pushes it along a route of
straight legs, around the other blocks, into the goal's region; between two legs it swings around the
block and stays behind it. Blocks and tool are discs.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from transforms3d.quaternions import rotate_vector

from robocontrast_ros.domain import Instruction, Pose, Scene
from robocontrast_ros.domain.products import norm
from robocontrast_ros.tasks.language_table.goals import BlockGoal, BlockGoals, GoalRegion, goal_point
from robocontrast_ros.tasks.language_table.parameters import LanguageTableParameters
from robocontrast_ros.tasks.plans import KeptPlans, NoPlan
from robocontrast_ros.tasks.protocol import Infeasible, Plan
from robocontrast_ros.tasks.roadmap import ways_among_discs

Point = tuple[float, float]
Points = NDArray[np.float64]

INSIDE = 1e-4
"""Distance inside the goal's region at which the planner puts the source [m], so that rounding cannot undo success."""

PUSH_DIRECTIONS = 24
_RAY_STEPS = 24
SWING_STEP = math.radians(15.0)
_UPRIGHT = math.cos(math.radians(30.0))
_RESTING = 0.02


@dataclass(frozen=True)
class Push:
    """How to fulfil an instruction.

    Attributes:
        path: the tool's path from its position, shape (n, 2), world frame [m].
        route: way of the source block's centre into the goal's region, from its position [m].
    """

    path: tuple[Point, ...]
    route: tuple[Point, ...]


@dataclass(frozen=True)
class _Candidate:
    """One way to push: the source's route, with a lower bound of the tool's whole path [m]."""

    bound: float
    route: tuple[Point, ...]


class PushPlanner:
    """Plans from the tool's start."""

    def __init__(self, parameters: LanguageTableParameters) -> None:
        self._parameters, self._goals = parameters, BlockGoals(parameters)
        self._kept = KeptPlans(self._plan)

    def plan(self, instruction: Instruction, scene: Scene) -> Plan | Infeasible:
        """Return the shortest tool path that fulfils the instruction, of length 0 if it is fulfilled already."""
        return self._kept.plan(instruction, scene)

    def _plan(self, instruction: Instruction, scene: Scene) -> Plan | Infeasible:
        start = self._parameters.tool.start[:2]
        try:
            self._require_domain(instruction, scene)
            goal = self._goals.goal(instruction, scene)
            if goal.satisfied(scene):
                return Plan((start,), scene)
            touching = self._parameters.tool.radius + self._parameters.block_size.radius
            if any(math.dist(block.pose.xy, start) < touching for block in scene):
                raise NoPlan("a block stands where the tool starts")
            push = find_push(goal, scene, self._parameters, start)
        except NoPlan as reason:
            return Infeasible(str(reason))
        pose = scene[goal.source].pose
        end = Pose((*push.route[-1], pose.position[2]), pose.orientation)
        return Plan(path=push.path, final_scene=scene.moved(goal.source, end))

    def _require_domain(self, instruction: Instruction, scene: Scene) -> None:
        """Refuse a scene in which the instruction makes no sense, whatever the plan."""
        p = self._parameters
        source, target = instruction.get("source"), instruction.get("target")
        for name in filter(None, (source, target)):
            require_on_board(scene, name, p)
        point = goal_point(instruction, scene, p)
        if point is not None and not p.board.contains(*point):
            raise NoPlan("the point that the instruction names is off the board")
        if target is None:
            return
        gap = scene[str(source)].pose.distance_to(scene[target].pose)
        if instruction.family == "block_to_block" and p.block_to_block.within < gap < p.block_to_block.start_beyond:
            raise NoPlan("source and target are almost together already")


def find_push(
    goal: BlockGoal,
    scene: Scene,
    parameters: LanguageTableParameters,
    start: Point,
    inset: float = INSIDE,
    clearance: float = 0.0,
) -> Push:
    """Return the shortest way to fulfil a goal.

    Args:
        goal: the block and its region.
        scene: with the blocks.
        parameters: sizes of board, blocks and tool.
        start: position of the tool [m].
        inset: distance inside the goal's region to which the source is pushed [m].
        clearance: kept between the source and other blocks, if it is not closer already [m].

    Raises:
        NoPlan: there is none; the text has the reason.
    """
    size, tool, board = parameters.block_size, parameters.tool, parameters.board
    for name in filter(None, (goal.source, goal.target)):
        require_on_board(scene, name, parameters)
    others = np.array([o.pose.xy for o in scene if o.name != goal.source]).reshape(-1, 2)
    source = np.asarray(scene[goal.source].pose.xy)
    blocks = np.vstack([others, source])

    begin = np.asarray(start)
    touching = tool.radius + size.radius
    clear = tool.radius + size.circumradius
    approach = ways_among_discs(begin, blocks, clear, board.low, board.high)
    swing_room = ways_among_discs(begin, others, touching, board.low, board.high)

    reason = "the source block cannot be pushed into the goal: other blocks or the edge are in the way"
    best: tuple[float, Push] | None = None
    for candidate in _candidates(goal, scene, source, begin, parameters, inset, clearance):
        if best is not None and candidate.bound >= best[0]:
            break
        pushing = _push_path(candidate.route, touching)
        if not swing_room.free(pushing).all():
            reason = "the side to push from is off the board or behind another block"
            continue
        to_source = approach.path(_behind(candidate.route[0], candidate.route[1], clear + 1e-3))
        if to_source is None:
            reason = "the tool cannot get behind the source block"
            continue
        path = to_source + pushing
        if best is None or _length(path) < best[0]:
            best = (_length(path), Push(tuple(path), candidate.route))
    if best is None:
        raise NoPlan(reason)
    return best[1]


def require_on_board(scene: Scene, name: str, parameters: LanguageTableParameters) -> None:
    """Refuse a block that is missing, off the board or not upright.

    Raises:
        NoPlan: names the block and the reason.
    """
    words = name.replace("_", " ")
    if name not in scene:
        raise NoPlan(f"the {words} is not in the scene")
    pose = scene[name].pose
    x, y, z, w = pose.orientation
    tilt = rotate_vector((0.0, 0.0, 1.0), (w, x, y, z))[2]
    if not parameters.board.contains(*pose.xy):
        raise NoPlan(f"the {words} is off the board")
    if abs(pose.position[2] - parameters.block_size.resting_z) > _RESTING or tilt < _UPRIGHT:
        raise NoPlan(f"the {words} does not stand upright on the board")


def _candidates(
    goal: BlockGoal,
    scene: Scene,
    source: Points,
    start: Points,
    parameters: LanguageTableParameters,
    inset: float,
    clearance: float,
) -> Iterator[_Candidate]:
    """Yield the source's routes to points of the region, those with the least bound first."""
    region = goal.region(scene).shrunk(inset)
    size, board = parameters.block_size, parameters.board
    obstacles = [o.pose.xy for o in scene if o.name != goal.source and not (goal.touches and o.name == goal.target)]
    # The whole block stays on the board.
    low, high = np.add(board.low, size.radius), np.subtract(board.high, size.radius)
    roads = ways_among_discs(source, obstacles, 2 * size.radius + clearance, low, high)
    ends = _entry_points(region, source)
    reach = parameters.tool.radius + size.radius
    # A tool path is never shorter than the way to the source plus the source's way.
    lead = max(float(norm(source - start)) - reach, 0.0)
    queue: list[tuple[float, int, Point, tuple[Point, ...]]] = []
    usable, straight = roads.free(ends), roads.sees(ends)
    for index in np.flatnonzero(usable):
        end = float(ends[index, 0]), float(ends[index, 1])
        pushed = math.dist(source, end)
        if pushed == 0.0:
            continue
        route = (_pair(source), end) if straight[index] else ()
        bound = _bound(route, start, reach) if route else lead + pushed
        heapq.heappush(queue, (bound, int(index), end, route))
    while queue:
        bound, index, end, route = heapq.heappop(queue)
        if route:
            yield _Candidate(bound, route)
        elif (found := roads.bent(end)) is not None:
            heapq.heappush(queue, (_bound(tuple(found), start, reach), index, end, tuple(found)))


def _bound(route: tuple[Point, ...], start: Points, reach: float) -> float:
    """Return a lower bound of the tool's path [m] if the source takes this route."""
    pushing = _push_path(route, reach)
    return math.dist(start, pushing[0]) + _length(pushing)


def _entry_points(region: GoalRegion, source: Points) -> Points:
    """Return the region's nearest point to the source, and the entry points of straight lines from the source."""
    nearest = region.nearest(source)
    first = math.atan2(*(nearest - source)[::-1])
    angles = first + np.arange(PUSH_DIRECTIONS) * (2 * math.pi / PUSH_DIRECTIONS)
    rays = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    points = np.broadcast_to(source, rays.shape)
    longest = 3.0 * float(norm(nearest - source)) + 0.1
    travelled = np.zeros(len(rays))
    # A step as long as the distance to the region cannot step over it.
    for _ in range(_RAY_STEPS):
        travelled = np.minimum(travelled + region.distance(points), longest)
        points = source + rays * travelled[:, None]
    entered = points[region.distance(points) < INSIDE / 2]
    return np.vstack([nearest, _boundary_points(region, entered, source)])


def _boundary_points(region: GoalRegion, entered: Points, source: Points) -> Points:
    """Add points of the region that no straight line reaches first, for routes that bend."""
    angles = np.arange(PUSH_DIRECTIONS) * (2 * math.pi / PUSH_DIRECTIONS)
    around = np.stack([np.cos(angles), np.sin(angles)], axis=1) * 10.0 + region.nearest(source)
    return np.vstack([entered, region.nearest(around[region.distance(around) > 0])])


def _push_path(route: tuple[Point, ...], reach: float) -> list[Point]:
    """Return the tool's path while the source follows a route: always ``reach`` behind it [m]."""
    path: list[Point] = []
    heading: float | None = None
    for a, b in itertools.pairwise(route):
        new = math.atan2(b[1] - a[1], b[0] - a[0])
        if heading is not None:
            turn = math.remainder(new - heading, math.tau)
            steps = math.ceil(abs(turn) / SWING_STEP)
            path += [_at(a, heading + turn * k / steps + math.pi, reach) for k in range(1, steps)]
        path += [_at(a, new + math.pi, reach), _at(b, new + math.pi, reach)]
        heading = new
    return path


def _behind(source: Point, towards: Point, reach: float) -> Point:
    return _at(source, math.atan2(towards[1] - source[1], towards[0] - source[0]) + math.pi, reach)


def _pair(point: Points) -> Point:
    return float(point[0]), float(point[1])


def _at(point: Point, angle: float, distance: float) -> Point:
    return point[0] + distance * math.cos(angle), point[1] + distance * math.sin(angle)


def _length(path: list[Point]) -> float:
    return sum(math.dist(a, b) for a, b in itertools.pairwise(path))
