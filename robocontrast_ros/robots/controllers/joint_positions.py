"""Controller of the action space `joint_positions`: targets of an arm's joints."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import ActionConventions, RobotState
from robocontrast_ros.domain.products import dot
from robocontrast_ros.robots.action_spaces import JointPositions
from robocontrast_ros.robots.commands import JointTrajectoryCommand, RobotCommand
from robocontrast_ros.robots.controllers.protocol import Action, ControlStep
from robocontrast_ros.robots.kinematics import Kinematics
from robocontrast_ros.robots.manipulator import ManipulatorProfile

LOST_STEPS = 2.0
"""The set point is reset to the measured joints when one of them is farther from it than this multiple of its
greatest motion in one control step; a driver may lag by one step."""

SMALLEST_STEP = 1e-3
"""Resolution of the workspace check along a motion: bound of the tool's motion between two checks [m]."""


class JointPositionsController:
    """Action space `joint_positions`: the target of each joint [rad], in the profile's order.

    A control step goes straight in joint space from the set point towards the action, as far as the limits of
    position and velocity allow, the tool's tip stays inside the workspace, and the whole arm above its floor. An arm
    that is already outside may move, but not further out.
    """

    conventions = ActionConventions(reference="absolute", frame="joint", rotation="none", gripper="none")

    def __init__(self, profile: ManipulatorProfile, space: JointPositions, period: float) -> None:
        """Prepare for a robot.

        Args:
            profile: the robot.
            space: its bounds of this action space.
            period: duration of a control step [s].
        """
        self.action_size = len(profile.joints)
        self._profile, self._period = profile, period
        self._kinematics = Kinematics(profile)
        self._reach = space.speed * period * np.array([joint.velocity for joint in profile.joints])
        self._joints: NDArray[np.float64] | None = None
        self._pending: NDArray[np.float64] | None = None

    def reset(self, state: RobotState) -> None:
        """Begin an episode with the set point at the measured joints."""
        self._joints = self._kinematics.clamp(state.joint_positions)
        self._pending = None

    def ends_episode(self, action: Action) -> bool:
        """Return False: no action ends an episode."""
        return False

    def begin(self, action: Action, state: RobotState) -> None:
        """Take the targets of the joints."""
        target = np.asarray(action, dtype=float)
        if target.shape != (self.action_size,) or not np.isfinite(target).all():
            raise ValueError(
                f"joint_positions: got {target.tolist()}, expected {self.action_size} finite numbers, one for "
                "each joint [rad]"
            )
        self._pending = target

    def step(self, state: RobotState) -> ControlStep | None:
        """Return, once per action, the motion towards it within the limits."""
        wanted, self._pending = self._pending, None
        if wanted is None:
            return None
        reasons = []
        if self._joints is None or self._is_lost(state):
            if self._joints is not None:
                reasons.append("the joints were not at their set point")
            self.reset(state)
        target = self._kinematics.clamp(wanted)
        if (beyond := target != wanted).any():
            names = np.array(self._profile.joint_names)[beyond]
            reasons.append(f"the limits of position of {', '.join(names)}")
        motion = target - self._joints
        faster = float((np.abs(motion) / self._reach).max())
        if faster > 1.0:
            motion /= faster
            reasons.append("the limits of velocity")
        share = self._free_share(self._joints, motion)
        if share < 1.0:
            reasons.append("the workspace ends there")
        self._joints = self._kinematics.clamp(self._joints + share * motion)
        return ControlStep(self._command(), bool(reasons), tuple(reasons))

    def hold(self, state: RobotState) -> RobotCommand:
        """Return the command to hold the measured joints, from where the next action starts."""
        self.reset(state)
        return self._command()

    def _is_lost(self, state: RobotState) -> bool:
        away = np.abs(self._joints - np.asarray(state.joint_positions))
        return bool((away > LOST_STEPS * self._reach).any())

    def _command(self) -> JointTrajectoryCommand:
        return JointTrajectoryCommand(self._profile.joint_names, tuple(self._joints.tolist()), self._period)

    def _free_share(self, start: NDArray[np.float64], motion: NDArray[np.float64]) -> float:
        """Return the share of a motion up to which the tool stays inside the workspace and the arm above its floor.

        With a margin of 5 cm, for example, everything is free until something has moved by 5 cm.
        """
        travel = float(dot(self._kinematics.levers, np.abs(motion)))
        if travel == 0.0:
            return 1.0
        first = self._margins(start)
        least = np.minimum(first, 0.0)
        share, room = 0.0, float((first - least).min())
        while share < 1.0:
            ahead = min(share + max(room, SMALLEST_STEP) / travel, 1.0)
            room = float((self._margins(start + ahead * motion) - least).min())
            if room < 0.0:
                return share
            share = ahead
        return share

    def _margins(self, positions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the margins of the tip from the workspace's sides, and of the arm from its floor [m]."""
        tip = np.asarray(self._kinematics.tool_pose(positions).position)
        box = self._profile.workspace
        lower, upper = np.array([box.x, box.y, box.z]).T
        return np.concatenate([tip - lower, upper - tip, [self._kinematics.lowest(positions) - self._profile.floor]])
