"""Closed-loop motion of something by a grasp: the hand goes to it along the approach, moves it, and lets go."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import Pose, Scene
from robocontrast_ros.domain.products import norm
from robocontrast_ros.domain.rotations import between, from_vector, turned
from robocontrast_ros.policies.baselines.tabletop.handling import CLOSED, OPEN
from robocontrast_ros.policies.baselines.tabletop.parameters import HandlingParameters

Vector = NDArray[np.float64]

HELD_BACK = 0.8
"""Share of the leash by which the tool is behind its command when something holds it back."""

MISSED = 0.5
"""Share of a handle's width at which closed fingers have nothing between them."""

OPENING_STEPS = 3
"""Control steps that the fingers have at least, to begin to open."""


class Phase(IntEnum):
    """What the next step is for."""

    RISE = 0
    """The hand goes to the height in which it travels."""
    TRAVEL = 1
    """It goes above the way to the grasp, and turns."""
    LOWER = 2
    """It goes down before the grasp."""
    APPROACH = 3
    """It goes to the grasp."""
    CLOSE = 4
    MOVE = 5
    """It moves what it holds: a handle along its joint, or a thing to where it stands."""
    OPEN = 6
    LEAVE = 7
    """It goes back the way it came."""
    DONE = 8


@dataclass(frozen=True)
class Intent:
    """The purpose of an action.

    Attributes:
        phase: the phase.
        handle: place of the tool at the grasp as that is now.
        above: height in which the hand goes to the grasp, and from it [m].
        commanded: the pose that the action is added to.
    """

    phase: Phase
    handle: Pose
    above: float
    commanded: Pose


class MovingHandler(ABC):
    """Takes something along the approach of a grasp, moves it, and lets go, one step at a time.

    Each step uses the tool, the fingers and the scene as they are now.

    Attributes:
        intent: purpose of the last action; None before the first.
    """

    def __init__(self, height: float, width: float, before: float, parameters: HandlingParameters) -> None:
        """Take what is known from the plan.

        Args:
            height: height in which the hand goes to the grasp, and from it [m].
            width: of what is held, between the fingers [m].
            before: distance along the approach from which the hand goes to the grasp, and to which it leaves [m].
            parameters: steps and tolerances.
        """
        self._height, self._width, self._away = height, width, before
        self._p, self._phase = parameters, Phase.RISE
        self._commanded: Pose | None = None
        self._before: tuple[Pose, float, float] | None = None
        self._gripper, self._waited = OPEN, 0
        self._closing_from = math.inf
        self.intent: Intent | None = None

    @abstractmethod
    def _position(self, tool: Pose, scene: Scene) -> float:
        """Return how far it has been moved: the position of a joint [m, or rad], or of a thing's axis [rad]."""

    @abstractmethod
    def _tool(self, position: float, away: float = 0.0) -> Pose:
        """Return the pose of the tool at the grasp, so far back along the approach [m]."""

    @abstractmethod
    def _ahead(self, position: float) -> Pose:
        """Return the tool's place a step further on the way."""

    @abstractmethod
    def _moved(self, position: float) -> bool:
        """Return whether it is where it was to go."""

    @abstractmethod
    def _taken(self, position: float) -> None:
        """Note where it is when the fingers have closed."""

    def is_done(self, tool: Pose) -> bool:
        """Return whether the hand has let go, left, and can begin with something else."""
        return self._phase is Phase.DONE

    def _up(self) -> Pose:
        """Return the place to which the hand rises before it travels."""
        return Pose((*self._commanded.xy, self._height), self._commanded.orientation)

    def _is_up(self, tool: Pose) -> bool:
        return tool.position[2] >= self._height - self._p.funnel

    def _over(self, tool: Pose, before: Pose) -> Pose:
        """Return the place above the one to which the hand leaves."""
        return Pose((*before.position[:2], max(self._height, before.position[2])), before.orientation)

    def step(self, tool: Pose, width: float, scene: Scene) -> Vector:
        """Return the next action: displacement [m], rotation vector [rad], both in `world`, gripper; shape (7,).

        Args:
            tool: pose of the tool.
            width: between the fingers [m].
            scene: the scene as it is.
        """
        position = self._position(tool, scene)
        if self._commanded is None or self._is_still(tool):
            # Where the robot rests is where its set point is, whatever its limits have left of the commands.
            self._commanded = tool
        goal = self._next(tool, width, position)
        action = np.array([*self._towards(goal, tool), self._gripper])
        self._before = tool, width, position
        self.intent = Intent(self._phase, self._tool(position), self._height, self._commanded)
        self.executed(action)
        return action

    def executed(self, action: Sequence[float]) -> None:
        """Take an action as carried out; ``step`` takes its own, and a later call another one in its place.

        Args:
            action: displacement [m], rotation vector [rad], both in `world`, and more; shape (6 or more,).
        """
        start = self.intent.commanded
        x, y, z = (a + float(b) for a, b in zip(start.position, action[:3], strict=True))
        self._commanded = Pose((x, y, z), turned(start.orientation, from_vector(action[3:6])))

    def _next(self, tool: Pose, width: float, position: float) -> Pose:
        """Return the place of the tool to go to, and set the gripper and the phase."""
        before = self._tool(position, self._away)
        over = MovingHandler._over(self, tool, before)
        settled = self._before is not None and abs(width - self._before[1]) <= self._p.settled
        if self._phase is Phase.RISE:
            if not self._is_up(tool):
                return self._up()
            self._phase = Phase.TRAVEL
        if self._phase is Phase.TRAVEL:
            if not self._at(tool, over, self._p.funnel):
                return over
            self._phase = Phase.LOWER
        if self._phase is Phase.LOWER:
            if not self._at(tool, before, self._p.aligned) or not settled:
                return before
            self._phase = Phase.APPROACH
        if self._phase is Phase.APPROACH:
            there = self._tool(position)
            if not self._at(tool, there, self._p.aligned) and not self._stalled(tool):
                return there
            self._phase, self._gripper, self._closing_from = Phase.CLOSE, CLOSED, width
            return there
        if self._phase is Phase.CLOSE:
            # On the wall clock the fingers may not have begun to move.
            if not settled or width > self._closing_from - self._p.settled:
                return self._commanded
            if width < MISSED * self._width:
                self._phase, self._gripper = Phase.LOWER, OPEN
                return before
            self._phase = Phase.MOVE
            self._taken(position)
        if self._phase is Phase.MOVE:
            if not self._moved(position):
                return self._ahead(position)
            self._phase, self._gripper = Phase.OPEN, OPEN
            return self._commanded
        if self._phase is Phase.OPEN:
            self._waited += 1
            if self._waited < OPENING_STEPS or not settled:
                return self._commanded
            self._phase = Phase.LEAVE
        if self._phase is Phase.LEAVE:
            if not self._at(tool, before, self._p.funnel):
                return before
            self._phase = Phase.DONE
        return self._over(tool, before)

    def _is_still(self, tool: Pose) -> bool:
        if self._before is None:
            return False
        before = self._before[0]
        return before.distance_to(tool) <= self._p.still and _angle(before, tool) <= self._p.still_turn

    def _at(self, tool: Pose, place: Pose, within: float) -> bool:
        return tool.distance_to(place) + self._p.turn_weight * _angle(tool, place) <= within

    def _stalled(self, tool: Pose) -> bool:
        if self._before is None:
            return False
        near = self._commanded.distance_to(tool) >= self._p.leash * HELD_BACK
        return near and self._before[0].distance_to(tool) <= self._p.stalled

    def _towards(self, goal: Pose, tool: Pose) -> Vector:
        """Return a step of the commanded pose towards a goal: displacement [m], rotation vector [rad], shape (6,)."""
        p, commanded = self._p, self._commanded
        near = self._phase in (Phase.APPROACH, Phase.MOVE)
        shift = _at_most(np.subtract(goal.position, commanded.position), p.slow_step if near else p.step)
        # A tool that is held back is not pressed ever harder.
        ahead = np.add(commanded.position, shift) - np.asarray(tool.position)
        shift = np.asarray(tool.position) + _at_most(ahead, p.leash) - np.asarray(commanded.position)
        return np.array([*shift, *_at_most(np.asarray(between(commanded.orientation, goal.orientation)), p.turn)])


def _angle(start: Pose, end: Pose) -> float:
    """Return the angle by which two orientations differ [rad]."""
    return float(norm(np.asarray(between(start.orientation, end.orientation))))


def _at_most(vector: Vector, length: float) -> Vector:
    size = float(norm(vector))
    return vector * (length / size) if size > length else vector
