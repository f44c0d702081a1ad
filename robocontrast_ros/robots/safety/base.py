"""The safety filter of a mobile base."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from robocontrast_ros.domain import Intervention, RobotState, seconds
from robocontrast_ros.robots.commands import RobotCommand, TwistCommand
from robocontrast_ros.robots.differential_drive import DifferentialDriveProfile
from robocontrast_ros.robots.safety.filter import AxisMotion, Bound, Checked, greatest_share, stops
from robocontrast_ros.robots.safety_limits import Area
from robocontrast_ros.robots.state_estimation import Reading

PLACES = 10
"""Places on the way ahead that are compared with the forbidden areas; at most 8 cm apart for the LoCoBot."""


class BaseFilter:
    """The ``SafetyFilter`` of a base: velocities, which are reduced as a whole, so that its path keeps its curve."""

    def __init__(self, profile: DifferentialDriveProfile, period: float) -> None:
        """Take the robot, and the duration of a control step [s]."""
        limits = profile.safety
        self._limits, self._period = limits, period
        self._radius, self._braking = profile.body.radius, profile.limits.linear_deceleration
        self._motion = AxisMotion(
            ("linear", "angular"),
            [
                Bound.of(limits.linear_velocity, "m/s", profile.limits.linear_speed),
                Bound.of(limits.angular_velocity, "rad/s", profile.limits.angular_speed),
            ],
            [Bound.of(limits.linear_acceleration, "m/s^2"), Bound.of(limits.angular_acceleration, "rad/s^2")],
            [Bound.of(limits.linear_jerk, "m/s^3"), Bound.of(limits.angular_jerk, "rad/s^3")],
            limits.reduced_speed,
            period,
        )
        self.begin()

    def begin(self) -> None:
        """Take the base to be at rest."""
        self._motion.rest()
        self._stamp = 0

    def held(self, command: RobotCommand) -> None:
        """Take the base to be at rest."""
        self._motion.rest()

    def sprung(self, state: RobotState, reading: Reading) -> Intervention | None:
        """Return None: a base is driven by velocities."""
        return None

    def homing(self, reading: Reading, person_near: bool) -> tuple[float, Intervention | None]:
        """Return the share of its speed while a person is near; nothing else limits it on its way."""
        return self._limits.reduced_speed if person_near else 1.0, None

    def check(self, command: RobotCommand, state: RobotState, person_near: bool) -> Checked:
        """Return the command that may be sent in place of one."""
        passed, self._stamp = seconds(state.stamp - self._stamp), state.stamp
        if command == TwistCommand():
            self._motion.rest()
            return Checked(command)
        if passed > 2.5 * self._period:
            self._motion.rest()
        share, found = self._motion.allowed(np.array([command.linear, command.angular]), person_near)
        out = greatest_share(share, lambda part: self._is_out(command, state, part))
        if out < share:
            found.append(self._too_near(command, state, share, person_near))
            share = out
        if stops(found):
            return Checked(None, tuple(found))
        if share < 1.0:
            command = replace(command, linear=share * command.linear, angular=share * command.angular)
        self._motion.moved(np.array([command.linear, command.angular]))
        return Checked(command, tuple(found))

    def _is_out(self, command: TwistCommand, state: RobotState, share: float) -> bool:
        """Return whether the base stays out of the forbidden areas until it has come to rest, or gets no further in."""
        if not self._limits.keep_out.areas:
            return True
        now, ahead = self._distances(command, state, share)
        return ahead >= min(now, 0.0)

    def _distances(self, command: TwistCommand, state: RobotState, share: float) -> tuple[float, float]:
        """Return the base's distance from the forbidden areas [m], now and the least until it has come to rest."""
        speed = share * command.linear
        way = speed * self._period + math.copysign(speed * speed / (2 * self._braking), speed)
        heading = state.pose.yaw + 0.5 * share * command.angular * self._period
        x, y = state.pose.xy
        places = [
            (x + way * k / PLACES * math.cos(heading), y + way * k / PLACES * math.sin(heading))
            for k in range(PLACES + 1)
        ]
        kept = self._radius + self._limits.keep_out.margin
        least = [min(_distance(area, place) for area in self._limits.keep_out.areas) - kept for place in places]
        return least[0], min(least[1:])

    def _too_near(self, command: TwistCommand, state: RobotState, share: float, person_near: bool) -> Intervention:
        given = self._limits.keep_out
        _, ahead = self._distances(command, state, share)
        where = "the base in what is kept free"
        return Intervention("keep_out", where, given.margin - ahead, given.margin, "m", given.action, person_near)


def _distance(area: Area, place: tuple[float, float]) -> float:
    """Return the distance of a place from a rectangle [m]; negative inside."""
    beside = [max(low - at, at - high) for at, (low, high) in zip(place, (area.x, area.y), strict=True)]
    outside = math.hypot(*(max(value, 0.0) for value in beside))
    return outside or max(beside)
