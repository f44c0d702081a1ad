"""Closed-loop uprighting of a thing that lies on its side: taken near its top, lifted, turned, put down, let go."""

from __future__ import annotations

import math
from enum import IntEnum

from robocontrast_ros.domain import Instruction, Pose, Scene
from robocontrast_ros.domain.rotations import between
from robocontrast_ros.objects.frames import multiply, rotate
from robocontrast_ros.policies.baselines.kitchen.moving import MovingHandler
from robocontrast_ros.policies.baselines.tabletop.parameters import HandlingParameters
from robocontrast_ros.tasks.plans import NoPlan
from robocontrast_ros.tasks.suite import Suite
from robocontrast_ros.tasks.suite.uprighting import UprightWay, backed, righted
from robocontrast_ros.tasks.tabletop.hand import ToolPlace

STRAIGHT = math.radians(2.0)
"""Greatest angle of a thing's axis from upright at which it is put down [rad]."""


DOWN = ToolPlace((0.0, 0.0, 0.0), 0.0).pose.orientation
"""Orientation of a tool that points down and is not turned."""


class Part(IntEnum):
    """Part of the motion of the thing in the hand."""

    LIFT = 0
    TURN = 1
    LOWER = 2


class UprightHandler(MovingHandler):
    """Takes a thing that lies on its side, sets it upright and lets go, one step at a time.

    The hand turns as far as the thing is from upright: a heavy one turns between the fingers by itself.
    """

    def __init__(self, instruction: Instruction, start: Scene, task: Suite, parameters: HandlingParameters) -> None:
        """Plan; with less distance to other things if there is no plan with all of it.

        Raises:
            NoPlan: there is none either way; the text has the reason.
        """
        try:
            self._way: UprightWay = task.planner.upright_way(instruction, start)
        except NoPlan:
            self._way = task.planner.relaxed().upright_way(instruction, start)
        super().__init__(self._way.height, self._way.width, self._way.before, parameters)
        self._lowest, self._part, self._grasp = task.handling.lowest, Part.LIFT, self._way.grasp
        self._now, self._thing, self._low = self._grasp, start[self._way.thing].pose, 0.0

    def _position(self, tool: Pose, scene: Scene) -> float:
        """Return the angle of the thing's axis from upright [rad], and note the tool and the thing as they are."""
        self._now, self._thing = tool, scene[self._way.thing].pose
        self._low = self._lowest(scene, self._way.thing)
        return math.acos(min(max(rotate(self._thing.orientation, (0.0, 0.0, 1.0))[2], -1.0), 1.0))

    def _tool(self, position: float, away: float = 0.0) -> Pose:
        return backed(self._grasp, away)

    def is_done(self, tool: Pose) -> bool:
        """Return whether the hand has let go, left, and points down again."""
        return super().is_done(tool) and self._is_up(tool)

    def _up(self) -> Pose:
        """Return the place to which the hand rises, where it points down and is not turned.

        From there, and to there, the shortest turn leads through no joint limit.
        """
        return Pose((*self._commanded.xy, self._height), DOWN)

    def _is_up(self, tool: Pose) -> bool:
        turned = math.hypot(*between(tool.orientation, DOWN))
        return super()._is_up(tool) and self._p.turn_weight * turned <= self._p.funnel

    def _over(self, tool: Pose, before: Pose) -> Pose:
        return self._up() if super()._is_up(tool) else super()._over(tool, before)

    def _taken(self, position: float) -> None:
        self._part = Part.LIFT

    def _ahead(self, position: float) -> Pose:
        x, y, _ = self._way.place.position
        if self._part is Part.LIFT:
            if self._now.position[2] < self._way.carry - self._p.aligned:
                return Pose((x, y, self._way.carry), self._commanded.orientation)
            self._part = Part.TURN
        wanted = multiply(righted(self._thing.orientation), self._now.orientation)
        if self._part is Part.TURN:
            if position > STRAIGHT:
                return Pose((x, y, self._way.carry), wanted)
            self._part = Part.LOWER
        return Pose((x, y, self._now.position[2] - self._low), wanted)

    def _moved(self, position: float) -> bool:
        """Return whether the thing stands on the ground, or just above it; the hand then leaves from where it is."""
        if self._part is not Part.LOWER:
            return False
        near = self._low <= self._p.stalled_within and self._stalled(self._now)
        if self._low > self._way.drop and not near:
            return False
        self._grasp = self._now
        return True
