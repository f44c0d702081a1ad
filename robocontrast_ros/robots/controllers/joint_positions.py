"""Controllers of the action spaces `joint_positions` and `joint_velocities` of an arm."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import RobotState
from robocontrast_ros.robots.action_spaces import JointPositions, JointVelocities
from robocontrast_ros.robots.controllers.arm import ArmController, floor_margin, free_share, workspace_margins
from robocontrast_ros.robots.manipulator import ManipulatorProfile

LOST_STEPS = 2.0
"""The set point is reset to the measured joints when one of them is farther from it than this multiple of its
greatest motion in one control step; a driver may lag by one step."""


class JointPositionsController(ArmController):
    """Action space `joint_positions`: the target of each joint [rad], in the profile's order; then the gripper.

    A control step goes straight in joint space from the set point towards the action, as far as the limits of
    position and velocity allow, the tool's tip stays inside the workspace, and the whole arm above its floor. An arm
    that is already outside may move, but not further out.
    """

    name, reference, frame, rotation = "joint_positions", "absolute", "joint", "none"
    lost = "the joints were not at their set point"

    def __init__(self, profile: ManipulatorProfile, space: JointPositions | JointVelocities, period: float) -> None:
        """Prepare for a robot.

        Args:
            profile: the robot.
            space: its bounds of this action space.
            period: duration of a control step [s].
        """
        super().__init__(profile, period)
        self._reach = space.speed * period * np.array([joint.velocity for joint in profile.joints])

    def _move(self, numbers: NDArray[np.float64], reasons: list[str]) -> None:
        """Move the joints straight towards their targets."""
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

    def _target(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the target of the joints from an action's numbers [rad]."""
        return numbers

    def _margins(self, positions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the margins of the tool from the workspace's sides, and of the arm from its floor [m]."""
        sides = workspace_margins(self._kinematics, positions)
        return np.concatenate([sides, [floor_margin(self._kinematics, positions)]])

    def _is_lost(self, state: RobotState) -> bool:
        away = np.abs(self._joints - np.asarray(state.joint_positions))
        return bool((away > LOST_STEPS * self._reach).any())


class JointVelocitiesController(JointPositionsController):
    """Action space `joint_velocities`: the velocity of each joint [rad/s], in the profile's order; then the gripper.

    In a control step a joint goes from the set point as far as its velocity takes it; the limits are those of
    `joint_positions`.
    """

    name, reference = "joint_velocities", "velocity"

    def _target(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the joint positions after one control step [rad]."""
        return self._joints + self._period * numbers
