"""Action space `joint_positions`: an arm's joints are told where to be."""

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
"""How far a joint may be from its set point before the set point starts anew from the joints, as a multiple of what
it may go in one control step: a driver that is one step late has lost nothing."""

SMALLEST_STEP = 1e-3
"""How finely the way of an action is looked at, as a bound on how far the tool moves meanwhile [m]."""


class JointPositionsController:
    """Action space `joint_positions`: where each joint shall be [rad], in the profile's order.

    A control step goes straight ahead in the space of the joints, from the set point towards the action, as far
    as positions and velocities of the joints let it, and no further than the tool's tip stays inside the
    workspace and the whole arm above its floor. What is already outside may go anywhere but further out.
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
        """Begin an episode: the set point is where the joints are."""
        self._joints = self._kinematics.clamp(state.joint_positions)
        self._pending = None

    def ends_episode(self, action: Action) -> bool:
        """Tell that no joint positions end an episode."""
        return False

    def begin(self, action: Action, state: RobotState) -> None:
        """Take where the joints shall be."""
        target = np.asarray(action, dtype=float)
        if target.shape != (self.action_size,) or not np.isfinite(target).all():
            raise ValueError(
                f"joint_positions: got {target.tolist()}, expected {self.action_size} finite numbers, one for "
                "each joint [rad]"
            )
        self._pending = target

    def step(self, state: RobotState) -> ControlStep | None:
        """Return, once an action, the joint motion towards it as far as the limits let it."""
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
        """Return the command to stay where the joints are now; the next action starts from there."""
        self.reset(state)
        return self._command()

    def _is_lost(self, state: RobotState) -> bool:
        away = np.abs(self._joints - np.asarray(state.joint_positions))
        return bool((away > LOST_STEPS * self._reach).any())

    def _command(self) -> JointTrajectoryCommand:
        return JointTrajectoryCommand(self._profile.joint_names, tuple(self._joints.tolist()), self._period)

    def _free_share(self, start: NDArray[np.float64], motion: NDArray[np.float64]) -> float:
        """Return up to which share of a motion the tool stays inside the workspace and the arm above its floor.

        Where there is room for 5 cm, the motion is free for as long as it moves nothing by more than 5 cm.
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
        """Return how far the tip is inside each side of the workspace, and the arm above its floor [m]."""
        tip = np.asarray(self._kinematics.tool_pose(positions).position)
        box = self._profile.workspace
        lower, upper = np.array([box.x, box.y, box.z]).T
        return np.concatenate([tip - lower, upper - tip, [self._kinematics.lowest(positions) - box.z[0]]])
