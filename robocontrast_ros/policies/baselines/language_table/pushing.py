"""Closed-loop pushing of one block into a goal's region: the skill of the oracle policies."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import Scene
from robocontrast_ros.domain.products import dot, norm
from robocontrast_ros.policies.baselines.language_table.parameters import PushingParameters
from robocontrast_ros.tasks.language_table.goals import BlockGoal
from robocontrast_ros.tasks.language_table.parameters import LanguageTableParameters
from robocontrast_ros.tasks.language_table.planner import INSIDE, NoPlan, find_push
from robocontrast_ros.tasks.roadmap import ways_among_discs

Vector = NDArray[np.float64]

_REACHED = 0.003
_HYSTERESIS = 1.5


class Pusher:
    """Pushes a goal's source block along the planner's route, one step at a time.

    Each step uses the current poses of tool and blocks, so a block that slips or turns away is approached
    again.
    """

    def __init__(self, goal: BlockGoal, task: LanguageTableParameters, parameters: PushingParameters) -> None:
        self._goal, self._task, self._p = goal, task, parameters
        self._clear = task.tool.radius + task.block_size.circumradius
        self._route: list[Vector] = []
        self._pushing = False

    def step(self, tool: Vector, scene: Scene) -> Vector:
        """Return the tool's next displacement, shape (2,), world frame [m].

        It is zero once the source is in the goal's region, even if the target was dragged too far, because no push of
        the source corrects that.
        """
        source = np.asarray(scene[self._goal.source].pose.xy)
        if self._goal.region(scene).distance(source) == 0.0:
            return np.zeros(2)
        heading = _unit(self._waypoint(tool, source, scene) - source)
        left = np.array([-heading[1], heading[0]])
        along, aside = float(dot(tool - source, heading)), float(dot(tool - source, left))
        limit = self._p.lateral_limit * (_HYSTERESIS if self._pushing else 1.0)
        self._pushing = -self._clear - 3 * self._p.behind_gap <= along < 0.0 and abs(aside) <= limit
        if self._pushing:
            return _unit(heading - left * aside * self._p.lateral_gain) * self._p.push_step
        return self._go_behind(tool, source, heading, scene)

    def _waypoint(self, tool: Vector, source: Vector, scene: Scene) -> Vector:
        """Return the next point of the source's route; plan a new route if it was left or has ended."""
        while self._route and self._passed(source):
            self._route.pop(0)
        if not self._route or _gap(source, *self._route[:2]) > self._p.replan_after:
            self._route = self._plan(tool, source, scene)
        return self._route[1]

    def _passed(self, source: Vector) -> bool:
        if len(self._route) == 1:
            return True
        a, b = self._route[:2]
        return float(dot(b - source, _unit(b - a))) <= _REACHED

    def _plan(self, tool: Vector, source: Vector, scene: Scene) -> list[Vector]:
        start, p = (float(tool[0]), float(tool[1])), self._p
        # Without a plan, relax the clearance, then the inset.
        for inset, clearance in ((p.inset, p.clearance), (p.inset, 0.0), (INSIDE, 0.0)):
            try:
                push = find_push(self._goal, scene, self._task, start, inset, clearance)
            except NoPlan:
                continue
            return [np.asarray(point) for point in push.route]
        # As a last resort, push straight on.
        return [source, self._goal.region(scene).shrunk(p.inset).nearest(source)]

    def _go_behind(self, tool: Vector, source: Vector, heading: Vector, scene: Scene) -> Vector:
        """Return a step on the shortest free way to the point behind the source."""
        away = tool - source
        short = self._clear - float(norm(away))
        if short > _REACHED:
            return _at_most(_unit(away) * (short + _REACHED), self._p.free_step)
        behind = source - heading * (self._clear + self._p.behind_gap)
        blocks = [o.pose.xy for o in scene]
        board, rim = self._task.board, self._clear
        low, high = np.asarray(board.low) - rim, np.asarray(board.high) + rim
        path = ways_among_discs(tool, blocks, self._clear, low, high).path(behind) or [behind]
        return _at_most(_along([np.asarray(p) for p in path], tool, self._p.free_step) - tool, self._p.free_step)


def _unit(vector: Vector) -> Vector:
    size = float(norm(vector))
    return vector / size if size > 0 else np.array([1.0, 0.0])


def _along(path: list[Vector], start: Vector, length: float) -> Vector:
    """Return the point that lies this far along a path [m], or its end."""
    for point in path:
        step = math.dist(point, start)
        if step >= length:
            return start + (point - start) * (length / step)
        start, length = point, length - step
    return start


def _at_most(vector: Vector, length: float) -> Vector:
    size = float(norm(vector))
    return vector * (length / size) if size > length else vector


def _gap(point: Vector, a: Vector, b: Vector) -> float:
    along = b - a
    share = float(np.clip(dot(point - a, along) / max(float(dot(along, along)), 1e-12), 0.0, 1.0))
    return math.dist(point, a + share * along)
