"""Turns a policy's action into a command that the robot may execute."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import RobotState
from robocontrast_ros.robots.commands import JointTrajectoryCommand, RobotCommand
from robocontrast_ros.robots.kinematics import Kinematics
from robocontrast_ros.robots.profile import ManipulatorProfile, PlanarDelta, RobotProfile

LOST_SETPOINT = 0.02
"""How far the tool may be from its set point before the set point starts anew from the tool [m]."""

REACHED = 1e-3
"""How far from its target the tool may end without the step counting as clamped [m]."""


@dataclass(frozen=True)
class ControlStep:
    """What an action becomes in one control period.

    Attributes:
        command: what goes to the robot.
        clamped: whether the robot does less than the action asked for.
        reasons: why, in words; empty when it was not clamped.
    """

    command: RobotCommand
    clamped: bool = False
    reasons: tuple[str, ...] = ()


Action = Sequence[float] | NDArray[np.float64]


class Controller(Protocol):
    """The way from actions of one action space to commands of one robot.

    Attributes:
        action_size: numbers in one action.
    """

    action_size: int

    def reset(self, state: RobotState) -> None:
        """Begin an episode with the robot where it is."""

    def ends_episode(self, action: Action) -> bool:
        """Tell whether the action says that the robot is done; it is then not begun."""

    def begin(self, action: Action, state: RobotState) -> None:
        """Take an action to be carried out; what was left of the one before is dropped.

        Args:
            action: `action_size` numbers, SI units.
            state: where the robot is now.

        Raises:
            ValueError: the action has another size, or a number that is not finite or has no meaning; the
                robot must be stopped with `hold`.
        """

    def step(self, state: RobotState) -> ControlStep | None:
        """Return what the robot is to do during the next control period; None when the action is done.

        An action takes at least one control period.
        """

    def hold(self, state: RobotState) -> RobotCommand:
        """Return the safe stop: stay where the robot is now."""


class PlanarDeltaController:
    """Action space `planar_delta`: (dx, dy) of the tool's tip in the frame `world` [m].

    Deltas add up on a set point of its own, so that the lag of the robot's joint controller does not
    swallow a part of every step; height and vertical axis are kept. When the tool is not where the set
    point says (it was held, or pushed away), the set point starts anew from the tool.
    """

    action_size = 2

    def __init__(self, profile: ManipulatorProfile, space: PlanarDelta, period: float) -> None:
        """Prepare for a robot.

        Args:
            profile: the robot.
            space: its bounds of this action space.
            period: duration of a control step [s].
        """
        self._profile, self._space, self._period = profile, space, period
        self._kinematics = Kinematics(profile)
        self._joints: tuple[float, ...] | None = None
        self._target = (0.0, 0.0)
        self._pending: NDArray[np.float64] | None = None

    def reset(self, state: RobotState) -> None:
        """Begin an episode: the set point is where the tool is."""
        self._joints = tuple(self._kinematics.clamp(state.joint_positions).tolist())
        self._target = self._kinematics.tool_pose(self._joints).xy
        self._pending = None

    def ends_episode(self, action: Action) -> bool:
        """Tell that no displacement ends an episode."""
        return False

    def begin(self, action: Action, state: RobotState) -> None:
        """Take a displacement of the tool."""
        delta = np.asarray(action, dtype=float)
        if delta.shape != (self.action_size,) or not np.isfinite(delta).all():
            raise ValueError(f"planar_delta: got {delta.tolist()}, expected 2 finite numbers (dx, dy) [m]")
        self._pending = delta

    def step(self, state: RobotState) -> ControlStep | None:
        """Return, once an action, the joint motion that moves the tool by it as far as the limits let it."""
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
        reached = self._kinematics.tool_pose(motion.positions).xy
        if math.dist(reached, target[:2]) > REACHED:
            reasons.append("the joints' limits of position or velocity")
        else:
            # Rounding must not add up over an episode.
            reached = target[:2]
        self._joints, self._target = motion.positions, reached
        command = JointTrajectoryCommand(self._profile.joint_names, motion.positions, self._period)
        return ControlStep(command, bool(reasons), tuple(reasons))

    def hold(self, state: RobotState) -> RobotCommand:
        """Return the command to stay where the joints are now; the next action starts from there."""
        self.reset(state)
        return JointTrajectoryCommand(self._profile.joint_names, self._joints, self._period)


_CONTROLLERS: dict[str, Callable[..., Controller]] = {"planar_delta": PlanarDeltaController}


def make_controller(profile: RobotProfile, action_space: str, period: float) -> Controller:
    """Return the controller for a robot and an action space.

    Args:
        profile: the robot.
        action_space: name of the action space that the policy answers in.
        period: duration of a control step [s].

    Raises:
        ConfigurationError: the robot does not offer the action space.
    """
    if action_space not in profile.action_spaces.offered:
        raise ConfigurationError(
            f"robot '{profile.name}'",
            "action_space",
            action_space,
            f"an action space that this robot offers: {', '.join(profile.action_spaces.offered) or '(none)'}",
            "Choose another policy or robot.",
        )
    return _CONTROLLERS[action_space](profile, getattr(profile.action_spaces, action_space), period)
