"""Controller of the action space `planar_delta`: displacements of an arm's tool in a plane."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import ActionConventions, RobotState
from robocontrast_ros.domain.channels import COMMANDS
from robocontrast_ros.robots.action_spaces import PlanarDelta
from robocontrast_ros.robots.commands import JointTrajectoryCommand, RobotCommand
from robocontrast_ros.robots.controllers.protocol import Action, ControlStep
from robocontrast_ros.robots.kinematics import Kinematics
from robocontrast_ros.robots.manipulator import ManipulatorProfile

LOST_SETPOINT = 0.02
"""The set point is reset to the tool when the tool is farther from it than this [m]."""

REACHED = 1e-3
"""A step that ends farther from its target than this counts as clamped [m]."""


class PlanarDeltaController:
    """Action space `planar_delta`: (dx, dy) of the tool's tip in the frame `world` [m].

    Deltas add up on a set point, so that the lag of the robot's joint controller does not shorten every
    step; height and vertical axis are kept. When the tool is not at the set point (it was held, or pushed
    away), the set point is reset to the tool.
    """

    channels = (COMMANDS["planar_delta"],)
    action_size = 2
    conventions = ActionConventions(reference="delta", frame="world", rotation="none", gripper="none")

    def __init__(self, profile: ManipulatorProfile, space: PlanarDelta, period: float) -> None:
        """Prepare for a robot.

        Args:
            profile: the robot.
            space: its bounds of this action space.
            period: duration of a control step [s].
        """
        self._profile, self._space, self._period = profile, space, period
        self._joints: tuple[float, ...] | None = None
        self._target = (0.0, 0.0)
        self._pending: NDArray[np.float64] | None = None

    @cached_property
    def _kinematics(self) -> Kinematics:
        """Kinematics of the robot, made at first use: size and conventions need none."""
        return Kinematics(self._profile)

    def reset(self, state: RobotState) -> None:
        """Begin an episode with the set point at the tool."""
        self._joints = tuple(self._kinematics.clamp(state.joint_positions).tolist())
        self._target = self._kinematics.tool_pose(self._joints).xy
        self._pending = None

    def ends_episode(self, action: Action) -> bool:
        """Return False: no action ends an episode."""
        return False

    def begin(self, action: Action, state: RobotState) -> None:
        """Take a displacement of the tool."""
        delta = np.asarray(action, dtype=float)
        if delta.shape != (self.action_size,) or not np.isfinite(delta).all():
            raise ValueError(f"planar_delta: got {delta.tolist()}, expected 2 finite numbers (dx, dy) [m]")
        self._pending = delta

    def step(self, state: RobotState) -> ControlStep | None:
        """Return, once per action, the joint motion that displaces the tool, within the limits."""
        delta, self._pending = self._pending, None
        if delta is None:
            return None
        reasons = []
        measured = self._kinematics.tool_pose(state.joint_positions).xy
        if self._joints is None or math.dist(measured, self._target) > LOST_SETPOINT:
            if self._joints is not None:
                reasons.append("the tool was not at its set point")
            self.reset(state)
        bounded = np.clip(delta, -self._space.max_step, self._space.max_step)
        if (bounded != delta).any():
            reasons.append(f"|dx| and |dy| are at most {self._space.max_step} m")
        wanted = (
            self._target[0] + float(bounded[0]),
            self._target[1] + float(bounded[1]),
            self._space.height,
        )
        target = self._profile.workspace.clamp(wanted)
        if target != wanted:
            reasons.append("the workspace ends there")
        motion = self._kinematics.step(self._joints, target, self._period)
        reached = motion.tool[:2]
        if math.dist(reached, target[:2]) > REACHED:
            reasons.append("the joints' limits of position or velocity")
        else:
            # Rounding must not add up over an episode.
            reached = target[:2]
        self._joints, self._target = motion.positions, reached
        command = JointTrajectoryCommand(self._profile.joint_names, motion.positions, self._period)
        return ControlStep(command, bool(reasons), tuple(reasons))

    def hold(self, state: RobotState) -> RobotCommand:
        """Return the command to hold the measured joints, from which the next action starts."""
        self.reset(state)
        return JointTrajectoryCommand(self._profile.joint_names, self._joints, self._period)
