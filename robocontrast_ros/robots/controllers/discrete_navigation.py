"""Controller of the action space `discrete_navigation`: drives and turns of a set amount, closed on odometry."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from robocontrast_ros.domain import ActionConventions, RobotState
from robocontrast_ros.domain.channels import COMMANDS
from robocontrast_ros.robots.action_spaces import DiscreteNavigation, Move
from robocontrast_ros.robots.commands import RobotCommand, TwistCommand
from robocontrast_ros.robots.controllers.protocol import Action, ControlStep
from robocontrast_ros.robots.differential_drive import DifferentialDriveProfile

LOST_POSITION = 0.05
"""The set point is reset to the base when the base is farther from it than this [m]."""

LOST_HEADING = math.radians(5.0)
"""The same for the heading [rad]."""

BRAKING = 0.9
"""Share of the driver's deceleration that the approach counts on."""

RESPONSE = 0.02
"""Response time of the wheels [s]."""

STALLED = 0.8
"""Time without progress after which the base counts as blocked [s]."""

NEARER = 0.04
"""Least progress that counts, as a share of the whole motion."""

REST_SPEED, REST_TURN = 0.03, 0.1
"""Speeds below which the base counts as at rest [m/s], [rad/s]."""

STEERING, LOOK_AHEAD = 2.0, 0.3
"""Gain of the heading while driving [1/s]; distance over which an error across the path is corrected [m]."""


@dataclass(frozen=True)
class _Target:
    """Target of the base: x, y [m] and heading [rad], in the world frame."""

    x: float
    y: float
    heading: float

    @classmethod
    def of(cls, state: RobotState) -> _Target:
        return cls(*state.pose.xy, state.pose.yaw)


@dataclass(frozen=True)
class _Ramp:
    """Limits of speed, acceleration and deceleration: in m or rad, and s."""

    speed: float
    acceleration: float
    braking: float


class DiscreteNavigationController:
    """0 STOP, 1 FORWARD, 2 LEFT, 3 RIGHT, each carried out to its end and to rest.

    Each action moves a set point by exactly its amount, and the base goes there, so that the next action
    corrects the error of the last and errors do not add up. When the base is blocked, or is not at the set
    point (it was moved by hand), the set point is reset to the base.
    """

    channels = (COMMANDS["move"],)
    action_size = 1
    conventions = ActionConventions(reference="discrete", frame="base", rotation="none", gripper="none")

    def __init__(self, profile: DifferentialDriveProfile, space: DiscreteNavigation, period: float) -> None:
        """Prepare for a robot.

        Args:
            profile: the robot.
            space: its amounts, speeds and tolerances of this action space.
            period: duration of a control step [s].
        """
        limits = profile.limits
        self._driving = _Ramp(space.forward_speed, limits.linear_acceleration, limits.linear_deceleration)
        self._turning = _Ramp(space.turn_speed, limits.angular_acceleration, limits.angular_deceleration)
        self._space, self._period = space, period
        self._target: _Target | None = None
        self._move: Move | None = None

    def reset(self, state: RobotState) -> None:
        """Begin an episode with the set point at the base."""
        self._target = _Target.of(state)
        self._move = None

    def ends_episode(self, action: Action) -> bool:
        """Return whether the action is STOP."""
        return np.array_equal(np.asarray(action, dtype=float), [Move.STOP])

    def begin(self, action: Action, state: RobotState) -> None:
        """Take FORWARD, LEFT or RIGHT; STOP, which ends an episode, keeps the base at rest."""
        move = _move(action)
        self._lost = self._target is None or self._is_lost(self._target, state)
        start = _Target.of(state) if self._target is None or self._lost else self._target
        self._target = self._ahead(start, move)
        self._move, self._before = move, state
        self._whole = self._nearest = self._remaining(state)
        self._periods = self._since_nearest = 0
        self._speed = self._moving = 0.0

    def step(self, state: RobotState) -> ControlStep | None:
        """Return the velocity for the next control period; None if the action is done.

        A blocked action ends with a clamped step whose reason has the distance covered.
        """
        if self._move is None or self._target is None:
            return None
        if self._periods and self._speed == 0.0 and self._is_there(state) and self._is_at_rest(state):
            self._move = None
            return None
        remaining = self._remaining(state)
        if self._nearest - remaining > NEARER * self._whole:
            self._nearest, self._since_nearest = remaining, 0
        blocked = not self._is_there(state) and (
            (self._periods + 1) * self._period > self._space.time_limit or self._since_nearest * self._period >= STALLED
        )
        reasons = ("the base was not at its set point",) if self._lost and not self._periods else ()
        if blocked:
            reasons = (*reasons, self._how_far(remaining))
            command = TwistCommand()
            self._restart(state)
        else:
            command = self._approach(state)
        self._before = state
        self._periods += 1
        self._since_nearest += 1
        return ControlStep(command, bool(reasons), reasons)

    def hold(self, state: RobotState) -> RobotCommand:
        """Return the command to stop; the next action starts from the base's place then."""
        self._target = self._move = None
        return TwistCommand()

    def _ahead(self, start: _Target, move: Move) -> _Target:
        distance = self._space.distance if move is Move.FORWARD else 0.0
        turn = {Move.LEFT: self._space.angle, Move.RIGHT: -self._space.angle}.get(move, 0.0)
        return _Target(
            start.x + distance * math.cos(start.heading),
            start.y + distance * math.sin(start.heading),
            _wrapped(start.heading + turn),
        )

    def _errors(self, state: RobotState) -> tuple[float, float, float]:
        """Return the errors along the set heading [m], across it to the left [m], and of the heading [rad]."""
        x, y = self._target.x - state.pose.xy[0], self._target.y - state.pose.xy[1]
        cos, sin = math.cos(self._target.heading), math.sin(self._target.heading)
        return x * cos + y * sin, y * cos - x * sin, _wrapped(self._target.heading - state.pose.yaw)

    def _remaining(self, state: RobotState) -> float:
        along, _, turn = self._errors(state)
        return abs(along) if self._move is Move.FORWARD else abs(turn)

    def _approach(self, state: RobotState) -> TwistCommand:
        along, across, turn = self._errors(state)
        space = self._space
        if self._move is not Move.FORWARD:
            self._speed = self._profile(turn, space.angle_tolerance / 2, self._turning)
            return TwistCommand(0.0, self._speed)
        self._speed = self._profile(along, space.distance_tolerance / 2, self._driving)
        if self._speed == 0.0:
            # A small error of the heading is left to the next action.
            self._speed = STEERING * turn if abs(turn) > space.angle_tolerance else 0.0
            return TwistCommand(0.0, self._speed)
        aim = turn + math.copysign(1.0, along) * math.atan2(across, LOOK_AHEAD)
        steering = min(max(STEERING * aim, -space.turn_speed), space.turn_speed)
        return TwistCommand(self._speed, steering)

    def _profile(self, remaining: float, tolerance: float, ramp: _Ramp) -> float:
        """Return the greatest speed from which the base can still brake after the coming period.

        The base is assumed to follow the driver's ramp from the speeds commanded before.
        """
        now = self._moving * math.copysign(1.0, remaining)
        half = self._period / 2
        wanted = 0.0
        if abs(remaining) > tolerance:
            left = max(abs(remaining) - now * (half + RESPONSE), 0.0)
            braking = BRAKING * ramp.braking
            wanted = min(braking * (math.sqrt(half * half + 2 * left / braking) - half), ramp.speed)
        faster, slower = ramp.acceleration * self._period, ramp.braking * self._period
        self._moving = math.copysign(1.0, remaining) * min(max(wanted, now - slower), now + faster)
        return math.copysign(wanted, remaining)

    def _is_there(self, state: RobotState) -> bool:
        along, _, turn = self._errors(state)
        far = abs(along) > self._space.distance_tolerance and self._move is Move.FORWARD
        return not far and abs(turn) <= self._space.angle_tolerance

    def _is_at_rest(self, state: RobotState) -> bool:
        moved = math.dist(state.pose.xy, self._before.pose.xy)
        turned = abs(_wrapped(state.pose.yaw - self._before.pose.yaw))
        return moved <= REST_SPEED * self._period and turned <= REST_TURN * self._period

    @staticmethod
    def _is_lost(target: _Target, state: RobotState) -> bool:
        away = math.dist((target.x, target.y), state.pose.xy)
        return away > LOST_POSITION or abs(_wrapped(target.heading - state.pose.yaw)) > LOST_HEADING

    def _restart(self, state: RobotState) -> None:
        """Reset the set point to the base, except for a heading that the base has kept."""
        x, y = state.pose.xy
        kept = abs(_wrapped(self._target.heading - state.pose.yaw)) <= LOST_HEADING
        self._target = _Target(x, y, self._target.heading if kept else state.pose.yaw)
        self._move = None

    def _how_far(self, remaining: float) -> str:
        done = self._whole - remaining
        if self._move is Move.FORWARD:
            return f"blocked: moved {done:.2f} of {self._space.distance:g} m"
        return f"blocked: turned {math.degrees(done):.0f} of {math.degrees(self._space.angle):.0f} degrees"


def _move(action: Action) -> Move:
    values = np.asarray(action, dtype=float)
    if values.shape == (1,) and values[0] in set(Move):
        return Move(int(values[0]))
    known = ", ".join(f"{move.value} {move.name}" for move in Move)
    raise ValueError(f"discrete_navigation: got {values.tolist()}, expected one number: {known}")


def _wrapped(angle: float) -> float:
    """Return the angle in [-pi, pi]."""
    return math.remainder(angle, math.tau)
