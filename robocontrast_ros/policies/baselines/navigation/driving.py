"""Closed-loop driving along the planner's path: the skill of the oracle of navigation."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from functools import cache

import shapely
from shapely import LineString
from shapely import Point as ShapelyPoint

from robocontrast_ros.domain import Instruction, Pose, Scene
from robocontrast_ros.policies.baselines.navigation.moves import Point, find_moves
from robocontrast_ros.policies.baselines.navigation.parameters import NavigationOracleParameters
from robocontrast_ros.robots.action_spaces import Move
from robocontrast_ros.tasks.navigation import VisionLanguageNavigation
from robocontrast_ros.tasks.navigation.floor import FloorPlan, PlaceRegion
from robocontrast_ros.tasks.protocol import Infeasible


class _Leg:
    """The part of a route to one place."""

    def __init__(self, plan: FloorPlan, scene: Scene, place: str, path: Sequence[Point], inset: float) -> None:
        self._plan = plan
        footprints = [plan.footprints[o.name] for o in scene if o.model == place]
        self._inner = PlaceRegion(footprints, plan.region(place).reach - inset)
        self._path = LineString(path if len(path) > 1 else (path[0], path[0]))
        self.remaining = cache(self._remaining)

    def _remaining(self, point: Point) -> float:
        """Return an estimate of the distance left to the place [m]; 0 only at the place."""
        beyond = self._inner.excess(point)
        along = self._path.length - float(shapely.line_locate_point(self._path, ShapelyPoint(point)))
        return max(beyond, along) if beyond > 0.0 else 0.0

    def cost(self, gap: float, leaving: float) -> Callable[[Point, Point], float | None]:
        """Return the function for the cost of driving straight from one point to another."""

        def cost(a: Point, b: Point) -> float | None:
            if self._plan.gap((a, b)) < gap:
                return None
            middle = ShapelyPoint((a[0] + b[0]) / 2, (a[1] + b[1]) / 2)
            return math.dist(a, b) * (1.0 + leaving * float(shapely.distance(self._path, middle)))

        return cost


class Driver:
    """Carries out one instruction in one scene."""

    def __init__(
        self,
        parameters: NavigationOracleParameters,
        task: VisionLanguageNavigation,
        instruction: Instruction,
        scene: Scene,
    ) -> None:
        self._p = parameters
        route = task.planner.route(instruction, scene)
        if isinstance(route, Infeasible):
            raise ValueError(f"vln_oracle: {route.reason}")
        plan = task.planner.floor_plan(scene)
        halves = zip(task.planner.named(instruction), (route.first_half, route.second_half), strict=True)
        self._legs = deque(_Leg(plan, scene, place, path, parameters.inset) for place, path in halves)
        self._moves: deque[Move] = deque()
        self._expected = scene.robot

    def step(self, robot: Pose) -> Move:
        """Return the next move of the robot at a pose."""
        while self._legs and self._legs[0].remaining(robot.xy) == 0.0:
            self._legs.popleft()
            self._moves.clear()
        if not self._legs:
            return Move.STOP
        if not self._moves or self._strayed(robot):
            self._moves = deque(self._find(self._legs[0], robot))
        # Without moves there is no way: the robot was pushed to a place that it cannot leave.
        move = self._moves.popleft() if self._moves else Move.STOP
        self._expected = self._p.moves.carried_out(move, robot)
        return move

    def _strayed(self, robot: Pose) -> bool:
        turned = math.remainder(robot.yaw - self._expected.yaw, math.tau)
        return math.dist(robot.xy, self._expected.xy) + abs(turned) > self._p.strayed

    def _find(self, leg: _Leg, robot: Pose) -> list[Move]:
        p = self._p
        for gap in p.gaps:
            cost = leg.cost(gap, p.leaving)
            moves = find_moves(robot.xy, robot.yaw, p.moves, p.search, cost, leg.remaining)
            if moves:
                return moves
        return []
