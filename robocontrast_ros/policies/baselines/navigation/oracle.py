"""The oracle of navigation: parses the instruction, given the ground truth, and follows the planner's path."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import shapely
from numpy.typing import NDArray
from pydantic import Field
from shapely import LineString
from shapely import Point as ShapelyPoint

from robocontrast_ros.configuration import load_record, record, resolve_uri
from robocontrast_ros.domain import Pose, Scene
from robocontrast_ros.policies.action_spaces import DISCRETE_NAVIGATION
from robocontrast_ros.policies.baselines.navigation.moves import MoveSizes, Point, Search, find_moves
from robocontrast_ros.policies.protocol import Observation, PolicyDescription
from robocontrast_ros.robots.action_spaces import Move
from robocontrast_ros.tasks.navigation import VisionLanguageNavigation
from robocontrast_ros.tasks.navigation.floor import FloorPlan, Region
from robocontrast_ros.tasks.protocol import Infeasible


@record
class NavigationOracleParameters:
    """The file config/policies/vln_oracle.yaml."""

    policy: str = Field(description="plug-in that reads this file")
    name: str = Field(min_length=1, description="name of the policy in results")
    task: str = Field(description="URI of the navigation task's file")
    moves: MoveSizes
    search: Search
    gaps: tuple[float, ...] = Field(
        min_length=1,
        description="distances kept to furniture and walls; the first with a way is used [m]",
    )
    leaving: float = Field(ge=0, description="cost that each metre away from the planner's path adds to a metre driven")
    inset: float = Field(ge=0, description="distance that the robot goes inside a region [m]")
    strayed: float = Field(
        gt=0,
        description="sum of the errors in place [m] and heading [rad] beyond which moves are searched anew",
    )


class NavigationOracle:
    """Parses the instruction in the scene of its first observation, plans, and drives.

    It is privileged: it needs the ground-truth scene with the robot in it. Its actions depend on text and scenes
    alone.
    """

    def __init__(self, parameters: NavigationOracleParameters, task: VisionLanguageNavigation) -> None:
        self._parameters, self._task = parameters, task
        self._text: str | None = None
        self._driver: _Driver | None = None

    @classmethod
    def from_file(cls, path: Path) -> NavigationOracle:
        """Return the oracle that a parameter file describes.

        Raises:
            ConfigurationError: the file, or the task file that it names, does not fit.
        """
        parameters = load_record(NavigationOracleParameters, path)
        return cls(parameters, VisionLanguageNavigation.from_file(resolve_uri(parameters.task, path.parent)))

    def describe(self) -> PolicyDescription:
        """Return that it needs the ground truth and answers with moves."""
        return replace(DISCRETE_NAVIGATION, name=self._parameters.name, privileged=True)

    def reset(self, instruction: str, seed: int) -> None:
        """Begin a trial; the seed has no effect."""
        self._text, self._driver = instruction, None

    def act(self, observation: Observation) -> NDArray[np.float64]:
        """Return the next move, shape (1, 1).

        Raises:
            ValueError: the text is not of the task's grammar, the observation's scene lacks the robot, or reset
                was not called.
        """
        scene = observation.scene
        if self._text is None:
            raise ValueError("vln_oracle: act before reset; call reset(instruction, seed) first")
        if scene is None or scene.robot is None:
            raise ValueError("vln_oracle: the observation has no scene with a robot; it needs the ground truth")
        if self._driver is None:
            self._driver = _Driver(self._parameters, self._task, self._text, scene)
        return np.array([[float(self._driver.step(scene.robot))]])


class _Leg:
    """The part of a route to one place."""

    def __init__(self, plan: FloorPlan, scene: Scene, place: str, path: Sequence[Point], inset: float) -> None:
        self._plan = plan
        footprints = [plan.footprints[o.name] for o in scene if o.model == place]
        self._inner = Region(footprints, plan.region(place).reach - inset)
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


class _Driver:
    """Carries out one instruction in one scene."""

    def __init__(
        self, parameters: NavigationOracleParameters, task: VisionLanguageNavigation, text: str, scene: Scene
    ) -> None:
        self._p = parameters
        instruction = task.language.parse(text, scene)
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
        # Without moves there is no way: the robot was pushed to where it cannot leave.
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
