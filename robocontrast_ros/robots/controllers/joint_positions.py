"""Controllers of the action spaces `joint_positions` and `joint_velocities` of an arm."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import ActionConventions, RobotState
from robocontrast_ros.robots.action_spaces import JointPositions, JointVelocities
from robocontrast_ros.robots.commands import RobotCommand
from robocontrast_ros.robots.controllers.arm import ArmActions, floor_margin, free_share, workspace_margins
from robocontrast_ros.robots.controllers.protocol import Action, ControlStep
from robocontrast_ros.robots.kinematics import Kinematics
from robocontrast_ros.robots.manipulator import ManipulatorProfile

LOST_STEPS = 2.0
"""The set point is reset to the measured joints when one of them is farther from it than this multiple of its
greatest motion in one control step; a driver may lag by one step."""


class JointPositionsController:
    """Action space `joint_positions`: the target of each joint [rad], in the profile's order; then the gripper.

    A control step goes straight in joint space from the set point towards the action, as far as the limits of
    position and velocity allow, the tool's tip stays inside the workspace, and the whole arm above its floor. An arm
    that is already outside may move, but not further out.
    """

    name, reference = "joint_positions", "absolute"

    def __init__(self, profile: ManipulatorProfile, space: JointPositions | JointVelocities, period: float) -> None:
        """Prepare for a robot.

        Args:
            profile: the robot.
            space: its bounds of this action space.
            period: duration of a control step [s].
        """
        self._actions = ArmActions(profile, self.name, period)
        self.channels, self.action_size = self._actions.channels, self._actions.size
        self.conventions = ActionConventions(self.reference, "joint", "none", self._actions.gripper)
        self._profile, self._period = profile, period
        self._kinematics = Kinematics(profile)
        self._reach = space.speed * period * np.array([joint.velocity for joint in profile.joints])
        self._joints: NDArray[np.float64] | None = None
        self._pending: tuple[NDArray[np.float64], float | None] | None = None

    def reset(self, state: RobotState) -> None:
        """Begin an episode with the set point at the measured joints."""
        self._joints = self._kinematics.clamp(state.joint_positions)
        self._pending = None

    def ends_episode(self, action: Action) -> bool:
        """Return False: no action ends an episode."""
        return False

    def begin(self, action: Action, state: RobotState) -> None:
        """Take the numbers of joints and gripper."""
        self._pending = self._actions.split(action)

    def step(self, state: RobotState) -> ControlStep | None:
        """Return, once per action, the motion towards it within the limits."""
        pending, self._pending = self._pending, None
        if pending is None:
            return None
        numbers, gripper = pending
        reasons: list[str] = []
        if self._joints is None or self._is_lost(state):
            if self._joints is not None:
                reasons.append("the joints were not at their set point")
            self.reset(state)
        wanted = self._target(numbers)
        target = self._kinematics.clamp(wanted)
        if (beyond := target != wanted).any():
            names = np.array(self._profile.joint_names)[beyond]
            reasons.append(f"the limits of position of {', '.join(names)}")
        motion = target - self._joints
        faster = float((np.abs(motion) / self._reach).max())
        if faster > 1.0:
            motion /= faster
            reasons.append("the limits of velocity")
        share = free_share(self._kinematics, self._joints, motion, self._margins)
        if share < 1.0:
            reasons.append("the workspace ends there")
        self._joints = self._kinematics.clamp(self._joints + share * motion)
        command = self._actions.command(self._joints, gripper, reasons)
        return ControlStep(command, bool(reasons), tuple(reasons))

    def hold(self, state: RobotState) -> RobotCommand:
        """Return the command to hold the measured joints, from where the next action starts."""
        self.reset(state)
        return self._actions.hold(self._joints)

    def _target(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the target of the joints [rad] that an action's numbers mean."""
        return numbers

    def _margins(self, positions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return those of the tool from the workspace's sides, and of the arm from its floor [m]."""
        sides = workspace_margins(self._kinematics, positions)
        return np.concatenate([sides, [floor_margin(self._kinematics, positions)]])

    def _is_lost(self, state: RobotState) -> bool:
        away = np.abs(self._joints - np.asarray(state.joint_positions))
        return bool((away > LOST_STEPS * self._reach).any())


class JointVelocitiesController(JointPositionsController):
    """Action space `joint_velocities`: the velocity of each joint [rad/s], in the profile's order; then the gripper.

    In a control step a joint goes as far as its velocity says, from the set point; the limits are those of
    `joint_positions`.
    """

    name, reference = "joint_velocities", "velocity"

    def _target(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return where the joints are after one control step [rad]."""
        return self._joints + self._period * numbers
