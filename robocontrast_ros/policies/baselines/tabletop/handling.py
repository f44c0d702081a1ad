"""Closed-loop handling of one object along the planner's way: the skill of the oracle policies and a demonstrator.

The next action is a function of the plan, the observation, the one before it, and the last command.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import Instruction, Pose, Scene
from robocontrast_ros.domain.products import norm
from robocontrast_ros.objects.frames import about, multiply
from robocontrast_ros.policies.baselines.tabletop.parameters import HandlingParameters
from robocontrast_ros.tasks.tabletop import Tabletop
from robocontrast_ros.tasks.tabletop.goals import Placed
from robocontrast_ros.tasks.tabletop.hand import ToolPlace
from robocontrast_ros.tasks.tabletop.planner import HandlingPlan, NoPlan

Vector = NDArray[np.float64]

OPEN, CLOSED = 0.0, 1.0
"""The gripper's number in an action."""


@dataclass(frozen=True)
class Sensed:
    """The part of an observation that the skill uses.

    Attributes:
        tool: pose of the tool.
        width: distance between the fingers [m].
        target: pose of the target.
    """

    tool: Pose
    width: float
    target: Pose


class Phase(IntEnum):
    """Part of the handling that a step belongs to. The fingers move when a phase begins."""

    FETCH = 0
    """The open hand goes to the target."""
    PLACE = 1
    """The closed hand takes the target to its place, or lifts it."""
    RETREAT = 2
    """The open hand rises from the place where it put the target down."""


@dataclass(frozen=True)
class Intent:
    """The purpose of an action.

    Attributes:
        phase: the phase.
        line: place of the hand at the end of the phase, on a vertical line.
        above: height in which the hand goes to that line [m].
        commanded: the pose that the action is added to.
    """

    phase: Phase
    line: ToolPlace
    above: float
    commanded: Pose


class Handler:
    """Picks up one object and puts it down, one step at a time.

    Each step uses the poses as they are now: a target that was pushed away or lost is planned for anew.

    Attributes:
        intent: purpose of the last action; None before the first.
    """

    def __init__(self, instruction: Instruction, start: Scene, task: Tabletop, parameters: HandlingParameters) -> None:
        """Plan.

        Raises:
            NoPlan: there is no plan; its text has the reason.
        """
        self._instruction, self._planner, self._p = instruction, task.planner, parameters
        self._target = str(instruction.get("target"))
        self._plan = self._planned(start)
        self._goal = task.goals.goal(instruction, start)
        self._from = start[self._target].pose
        self._before: Sensed | None = None
        self._commanded: Pose | None = None
        self._gripper = OPEN
        self._lowering = False
        self._phase = Phase.FETCH
        self.intent: Intent | None = None

    def step(self, tool: Pose, width: float, scene: Scene) -> Vector:
        """Return the next action: displacement [m], rotation vector [rad], both in `world`, gripper; shape (7,).

        Args:
            tool: pose of the tool.
            width: distance between the fingers [m].
            scene: the scene as it is.
        """
        now = Sensed(tool, width, scene[self._target].pose)
        if self._commanded is None or self._is_still(now):
            # The set point of a robot at rest is its pose, whatever its limits have left of the commands.
            self._commanded = tool
        goal = self._next(now, scene)
        action = np.array([*self._towards(goal, now.tool), self._gripper])
        self.intent = self._intended()
        self._before = now
        self.executed(action)
        return action

    def executed(self, action: Sequence[float]) -> None:
        """Take an action as carried out; ``step`` takes its own, and a later call another one in its place.

        Args:
            action: displacement [m], rotation vector [rad], both in `world`, and more; shape (6 or more,).
        """
        start = self.intent.commanded
        shift, turn = np.asarray(action[:3]), np.asarray(action[3:6])
        orientation = start.orientation
        angle = float(norm(turn))
        if angle > 0.0:
            orientation = multiply(about((turn / angle).tolist(), angle), orientation)
            length = math.sqrt(sum(part * part for part in orientation))
            orientation = tuple(part / length for part in orientation)
        self._commanded = Pose(tuple(np.add(start.position, shift).tolist()), orientation)
        self._lowering = shift[2] < -self._p.stalled

    # -- decisions --------------------------------------------------------------------------------

    def _next(self, now: Sensed, scene: Scene) -> Pose:
        """Return the next goal of the tool, and set gripper and phase."""
        plan, before = self._plan, self._before
        here = self._commanded
        moving = before is not None and abs(now.width - before.width) > self._p.settled
        if self._gripper == CLOSED:
            if moving or before is None:
                return here
            if not self._holds(now):
                self._gripper, self._phase = OPEN, Phase.FETCH
                return here
            if plan.place is None:
                return self._raised(plan.grasp, plan.carry)
            if self._down(now, plan.place):
                self._gripper, self._phase = OPEN, Phase.RETREAT
                return here
            return self._down_to(plan.place, plan.carry, now)
        if self._placed(now, scene):
            self._phase = Phase.RETREAT
            return here if moving else self._raised(plan.place, plan.path[-1][2])
        if moving:
            return here
        self._phase = Phase.FETCH
        self._follow(now, scene)
        plan = self._plan
        if self._down(now, plan.grasp):
            self._gripper, self._phase = CLOSED, Phase.PLACE
            return plan.grasp.pose
        return self._down_to(plan.grasp, plan.above, now)

    def _intended(self) -> Intent:
        """Return the purpose of the next action."""
        plan = self._plan
        if self._phase is Phase.FETCH:
            line, above = plan.grasp, plan.above
        elif self._phase is Phase.PLACE and plan.place is not None:
            line, above = plan.place, plan.carry
        else:
            held = plan.place is None
            start, above = (plan.grasp, plan.carry) if held else (plan.place, plan.path[-1][2])
            line = replace(start, position=(*start.position[:2], above))
        return Intent(self._phase, line, above, self._commanded)

    def _is_still(self, now: Sensed) -> bool:
        if self._before is None:
            return False
        before = self._before.tool
        turned = float(norm(_turn(before, now.tool)))
        return before.distance_to(now.tool) <= self._p.still and turned <= self._p.still_turn

    def _planned(self, scene: Scene) -> HandlingPlan:
        """Return the plan; one with less distance to other things if there is none with all of it.

        Raises:
            NoPlan: there is none either way.
        """
        try:
            return self._planner.handling(self._instruction, scene)
        except NoPlan:
            return self._planner.relaxed().handling(self._instruction, scene)

    def _holds(self, now: Sensed) -> bool:
        """Return whether the target is at its place in the hand."""
        expected = self._plan.grasp.carried(self._from, now.target)
        return math.dist(expected.position, now.tool.position) <= self._p.in_hand

    def _placed(self, now: Sensed, scene: Scene) -> bool:
        """Return whether the target is at the plan's place, and the instruction's last subgoal is reached there."""
        last = self._goal.subgoals[-1]
        if not isinstance(last, Placed) or now.target.distance_to(self._plan.target) > self._p.at_place:
            return False
        return last.relation.excess(now.target, scene[last.reference].pose) == 0.0

    def _follow(self, now: Sensed, scene: Scene) -> None:
        """Plan anew if the target has left its place in the plan; keep the plan if there is no other."""
        if now.target.distance_to(self._from) <= self._p.at_place:
            return
        try:
            self._plan, self._from = self._planned(scene), now.target
        except NoPlan:
            return

    def _down(self, now: Sensed, place: ToolPlace) -> bool:
        """Return whether the tool is at the place where it closes or opens, or is stopped just above it."""
        if self._aside(now.tool, place) > self._p.aligned:
            return False
        high = now.tool.position[2] - place.position[2]
        if high <= self._p.reached:
            return True
        fallen = math.inf if self._before is None else self._before.tool.position[2] - now.tool.position[2]
        return high <= self._p.stalled_within and fallen <= self._p.stalled and self._lowering

    def _aside(self, tool: Pose, place: ToolPlace) -> float:
        """Return the error beside the line down: in place, and in turn [m]."""
        turned = norm(_turn(tool, place.pose))
        return math.dist(tool.xy, place.position[:2]) + self._p.turn_weight * float(turned)

    # -- motions ----------------------------------------------------------------------------------

    def _down_to(self, place: ToolPlace, above: float, now: Sensed) -> Pose:
        """Return the next goal on the way above a place and down to it: the lower, the smaller the error beside it."""
        aside = self._aside(now.tool, place)
        share = min(max((aside - self._p.aligned) / (self._p.funnel - self._p.aligned), 0.0), 1.0)
        bottom = place.position[2]
        height = bottom + share * (above - bottom)
        if share == 1.0 and now.tool.position[2] < above - self._p.funnel:
            # First go straight up.
            return Pose((*self._commanded.xy, above), self._commanded.orientation)
        return Pose((*place.position[:2], height), place.pose.orientation)

    def _raised(self, place: ToolPlace, height: float) -> Pose:
        return Pose((*place.position[:2], height), place.pose.orientation)

    def _towards(self, goal: Pose, tool: Pose) -> Vector:
        """Return a step of the commanded pose towards a goal: displacement [m], rotation vector [rad], shape (6,)."""
        p, commanded = self._p, self._commanded
        shift = np.subtract(goal.position, commanded.position)
        plan = self._plan
        bottoms = [place.position[2] for place in (plan.grasp, plan.place) if place is not None]
        low = min(abs(commanded.position[2] - bottom) for bottom in bottoms) <= p.slow_within
        shift = _at_most(shift, p.slow_step if low and shift[2] < 0.0 else p.step)
        # A tool that is held back is not pressed ever harder.
        ahead = np.add(commanded.position, shift) - np.asarray(tool.position)
        shift = np.asarray(tool.position) + _at_most(ahead, p.leash) - np.asarray(commanded.position)
        return np.array([*shift, *_at_most(_turn(commanded, goal), p.turn)])


def _turn(start: Pose, end: Pose) -> Vector:
    """Return the rotation vector, in the world, that turns one orientation into another, shape (3,) [rad]."""
    x, y, z, w = start.orientation
    dx, dy, dz, dw = multiply(end.orientation, (-x, -y, -z, w))
    if dw < 0.0:
        dx, dy, dz, dw = -dx, -dy, -dz, -dw
    sine = math.sqrt(dx * dx + dy * dy + dz * dz)
    if sine == 0.0:
        return np.zeros(3)
    return np.array([dx, dy, dz]) * (2.0 * math.atan2(sine, dw) / sine)


def _at_most(vector: Vector, length: float) -> Vector:
    size = float(norm(vector))
    return vector * (length / size) if size > length else vector
