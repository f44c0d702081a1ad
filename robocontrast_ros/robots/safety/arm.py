"""The safety filter of an arm."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import Intervention, RobotState, seconds
from robocontrast_ros.robots.commands import GripperCommand, JointTrajectoryCommand, RobotCommand
from robocontrast_ros.robots.controllers.arm import workspace_margins
from robocontrast_ros.robots.kinematics import Kinematics
from robocontrast_ros.robots.manipulator import ManipulatorProfile
from robocontrast_ros.robots.readings import FASTER
from robocontrast_ros.robots.safety.filter import AxisMotion, Bound, Checked, greatest_share, stops
from robocontrast_ros.robots.state_estimation import JointReading, Reading

SIDES = ("least x", "least y", "least z", "greatest x", "greatest y", "greatest z")
"""Sides of a workspace, in the order of ``workspace_margins``."""


class ArmFilter:
    """The ``SafetyFilter`` of an arm: targets of its joints.

    A step goes from the target before to the next, straight in joint space; it is shortened as a whole. The tool's
    place is checked at the end of each step. The hand's command is passed on as it is.
    """

    def __init__(self, profile: ManipulatorProfile, period: float) -> None:
        """Take the robot, and the duration of a control step [s]."""
        limits = profile.safety
        self._limits, self._names, self._period = limits, profile.joint_names, period
        self._kinematics = Kinematics(profile)
        count = len(profile.joints)
        self._reach = FASTER * period * np.array([joint.velocity for joint in profile.joints])
        self._motion = AxisMotion(
            self._names,
            [Bound.of(limits.velocity, "rad/s", joint.velocity) for joint in profile.joints],
            [Bound.of(limits.acceleration, "rad/s^2")] * count,
            [Bound.of(limits.jerk, "rad/s^3")] * count,
            limits.reduced_speed,
            period,
        )
        self.begin()

    def begin(self) -> None:
        """Take the arm to be at rest at its place in the next reading."""
        self._motion.rest()
        self._from = self._to = None
        self._stamp, self._duration = 0, self._period

    def held(self, command: RobotCommand) -> None:
        """Take the arm to be at rest at the commanded place."""
        if isinstance(command, JointTrajectoryCommand) and set(command.names) == set(self._names):
            self._motion.rest()
            self._to = self._from = self._ordered(command, np.zeros(len(self._names)))

    def sprung(self, state: RobotState, reading: Reading) -> Intervention | None:
        """Return the jump to its target of a joint that was farther from it than it gets in a control period."""
        if self._to is None or not isinstance(reading, JointReading):
            return None
        away = np.abs(self._to - np.asarray(state.joint_positions, dtype=float))
        worst = int(np.argmax(away - self._reach))
        name, value, limit = self._names[worst], float(away[worst]), float(self._reach[worst])
        after = dict(zip(reading.names, reading.positions, strict=True)).get(name, math.inf)
        if value <= limit or abs(self._to[worst] - after) >= value:
            return None
        return Intervention("jump", name, value, limit, "rad", "stop")

    def homing(self, reading: Reading, person_near: bool) -> tuple[float, Intervention | None]:
        """Return the share of the homing speed, and the force if it is too great: then the arm stops."""
        share = self._limits.reduced_speed if person_near else 1.0
        found = self._force(reading.force) if isinstance(reading, JointReading) else []
        return share, replace(found[0], action="stop", person_near=person_near) if found else None

    def check(self, command: RobotCommand, state: RobotState, person_near: bool) -> Checked:
        """Return the command that may be sent in place of one."""
        if isinstance(command, GripperCommand):
            return Checked(command)
        measured = np.asarray(state.joint_positions, dtype=float)
        here = self._kinematics.clamp(measured)
        start = self._start(state.stamp, here)
        target = self._ordered(command, start)
        if np.array_equal(target, here) or np.array_equal(target, measured):
            self.held(command)
            self._stamp, self._duration = state.stamp, command.duration
            return Checked(command)
        share, found = self._motion.allowed((target - start) / command.duration, person_near)
        found = [*self._jump(target, measured), *self._force(state.force), *found]
        if any(each.kind == "force" for each in found):
            share = 0.0
        inside = self._inside(start, target, share)
        if inside < share:
            found.append(self._outside(start + share * (target - start)))
            share = inside
        found = [replace(each, person_near=person_near) for each in found]
        if stops(found):
            return Checked(None, tuple(found))
        end = start + share * (target - start) if share < 1.0 else target
        self._motion.moved((end - start) / command.duration)
        self._from, self._to, self._stamp, self._duration = start, end, state.stamp, command.duration
        if share < 1.0:
            command = replace(command, names=self._names, positions=tuple(end.tolist()))
        return Checked(command, tuple(found))

    def _start(self, stamp: int, here: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the joints at the end of the commanded motion so far [rad]; forget its speed if it ended by itself."""
        if self._to is None:
            return here
        passed = seconds(stamp - self._stamp)
        if passed > self._duration + 1.5 * self._period:
            self._motion.rest()
        elif self._duration > self._period * (1.0 + 1e-9) and passed < self._duration:
            return self._from + max(passed / self._duration, 0.0) * (self._to - self._from)
        return self._to

    def _ordered(self, command: JointTrajectoryCommand, start: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the targets of all joints [rad], in the profile's order; a joint without one stays."""
        targets = dict(zip(command.names, command.positions, strict=True))
        return np.array([targets.get(name, stay) for name, stay in zip(self._names, start.tolist(), strict=True)])

    def _jump(self, target: NDArray[np.float64], measured: NDArray[np.float64]) -> list[Intervention]:
        away, limit = np.abs(target - measured), self._limits.jump.limit
        worst = int(np.argmax(away))
        value = float(away[worst])
        return [Intervention("jump", self._names[worst], value, limit, "rad", "stop")] if value > limit else []

    def _force(self, force: float | None) -> list[Intervention]:
        given = self._limits.force
        if given.limit is None or force is None or force <= given.limit:
            return []
        return [Intervention("force", "the tool", force, given.limit, "N", given.action)]

    def _inside(self, start: NDArray[np.float64], target: NDArray[np.float64], share: float) -> float:
        """Return a share of a step, up to a given one, after which the tool is inside, or no further out."""
        margin, step = self._limits.workspace.margin, target - start
        end = workspace_margins(self._kinematics, start + share * step if share < 1.0 else target)
        if (end >= -margin).all():
            return share
        least = np.minimum(workspace_margins(self._kinematics, start), -margin)
        return greatest_share(
            share, lambda part: bool((workspace_margins(self._kinematics, start + part * step) >= least).all())
        )

    def _outside(self, target: NDArray[np.float64]) -> Intervention:
        margins, given = workspace_margins(self._kinematics, target), self._limits.workspace
        worst = int(np.argmin(margins))
        where = f"the tool beyond the {SIDES[worst]}"
        return Intervention("workspace", where, float(-margins[worst]), given.margin, "m", given.action)
