"""The common part of the controllers of an arm's action spaces: numbers of an action, the hand, room to move."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import ActionConventions, RobotState
from robocontrast_ros.domain.action import Frame, Reference, Rotation
from robocontrast_ros.domain.channels import COMMANDS, Channel
from robocontrast_ros.domain.products import dot
from robocontrast_ros.robots.commands import JointTrajectoryCommand, RobotCommand
from robocontrast_ros.robots.controllers.protocol import Action, ControlStep
from robocontrast_ros.robots.kinematics import Kinematics
from robocontrast_ros.robots.manipulator import ManipulatorProfile

SMALLEST_STEP = 1e-3
"""Resolution of the check along a motion: bound of the tool's motion between two checks [m]."""


class ArmActions:
    """The numbers of an action: those of a channel of the arm, then one for the hand if there is one.

    Attributes:
        channels: the arm's, and `gripper` if there is a hand.
        size: numbers in one action.
        gripper: effect of a greater number on the hand, for ``ActionConventions``.
    """

    def __init__(self, profile: ManipulatorProfile, name: str, period: float) -> None:
        """Take the robot, the name of the action space and its channel, and the control period [s]."""
        channel = COMMANDS[name]
        self.channels: tuple[Channel, ...] = (channel, COMMANDS["gripper"]) if profile.has_hand else (channel,)
        self.arm_size = channel.numbers(len(profile.joints))
        self.size = self.arm_size + profile.has_hand
        self.gripper = "closes" if profile.has_hand else "none"
        self._profile, self._channel, self._period = profile, channel, period

    def split(self, action: Action) -> tuple[NDArray[np.float64], float | None]:
        """Return the numbers of the arm, and that of the hand; None without one.

        Raises:
            ValueError: it has another size, or a number is not finite.
        """
        numbers = np.asarray(action, dtype=float)
        if numbers.shape != (self.size,) or not np.isfinite(numbers).all():
            what = "one for each joint" if self._channel.size is None else self._channel.meaning
            hand = f", and for the gripper ({COMMANDS['gripper'].meaning})" if self._profile.has_hand else ""
            raise ValueError(
                f"{self._channel.name}: got {numbers.tolist()}, expected {self.size} finite numbers: {what} "
                f"[{self._channel.unit}]{hand}"
            )
        return numbers[: self.arm_size], float(numbers[-1]) if self._profile.has_hand else None

    def command(self, joints: NDArray[np.float64], closed: float | None, reasons: list[str]) -> JointTrajectoryCommand:
        """Return the command to the joints [rad] and to the hand, and add a reason if it cannot close so far."""
        gripper = None
        if closed is not None:
            possible = min(max(closed, 0.0), 1.0)
            if possible != closed:
                reasons.append("the gripper goes from 0 to 1")
            gripper = self._profile.end_effector.drive(possible)
        return self.hold(joints, gripper)

    def hold(self, joints: NDArray[np.float64], gripper: float | None = None) -> JointTrajectoryCommand:
        """Return the command to the joints [rad]; the hand keeps its command if none is given."""
        return JointTrajectoryCommand(self._profile.joint_names, tuple(joints.tolist()), self._period, gripper)


class ArmController(ABC):
    """Carries out an action in one control step, from a set point of the joints; each action space derives from it.

    Attributes:
        name: name of the action space and of its channel.
        reference: reference of its numbers, for ``ActionConventions``, as frame and rotation.
        lost: the reason if the robot was not at the set point, in words.
    """

    name: str
    reference: Reference
    frame: Frame
    rotation: Rotation
    lost: str

    def __init__(self, profile: ManipulatorProfile, period: float) -> None:
        """Take the robot, and the duration of a control step [s]."""
        self._actions = ArmActions(profile, self.name, period)
        self.channels, self.action_size = self._actions.channels, self._actions.size
        self.conventions = ActionConventions(self.reference, self.frame, self.rotation, self._actions.gripper)
        self._profile, self._period = profile, period
        self._joints: NDArray[np.float64] | None = None
        self._pending: tuple[NDArray[np.float64], float | None] | None = None

    @cached_property
    def _kinematics(self) -> Kinematics:
        """Kinematics of the robot, made at first use: size and conventions need none."""
        return Kinematics(self._profile)

    @abstractmethod
    def _is_lost(self, state: RobotState) -> bool:
        """Return whether the robot is too far from the set point."""

    @abstractmethod
    def _move(self, numbers: NDArray[np.float64], reasons: list[str]) -> None:
        """Move the set point towards the target of an action's numbers, and add the reasons if it stops before."""

    def reset(self, state: RobotState) -> None:
        """Begin an episode with the set point at the measured joints."""
        self._joints = self._kinematics.clamp(state.joint_positions)
        self._pending = None

    def ends_episode(self, action: Action) -> bool:
        """Return False: no action ends an episode."""
        return False

    def begin(self, action: Action, state: RobotState) -> None:
        """Take the numbers of the arm and of the gripper."""
        self._pending = self._actions.split(action)

    def step(self, state: RobotState) -> ControlStep | None:
        """Return, once per action, the joint motion towards it within the limits."""
        pending, self._pending = self._pending, None
        if pending is None:
            return None
        numbers, gripper = pending
        reasons: list[str] = []
        if self._joints is None or self._is_lost(state):
            if self._joints is not None:
                reasons.append(self.lost)
            self.reset(state)
        self._move(numbers, reasons)
        command = self._actions.command(self._joints, gripper, reasons)
        return ControlStep(command, bool(reasons), tuple(reasons))

    def hold(self, state: RobotState) -> RobotCommand:
        """Return the command to hold the measured joints, from which the next action starts; the hand is left alone."""
        self.reset(state)
        return self._actions.hold(self._joints)


def free_share(
    kinematics: Kinematics,
    start: NDArray[np.float64],
    motion: NDArray[np.float64],
    margins: Callable[[NDArray[np.float64]], NDArray[np.float64]],
) -> float:
    """Return the share of a motion up to which no margin becomes negative.

    With a margin of 5 cm, for example, everything is free until something has moved by 5 cm. An arm that is outside
    already may move, but not further out.

    Args:
        kinematics: those of the robot.
        start: joint positions [rad].
        motion: displacements of the joints [rad].
        margins: function of joint positions: distances from the bounds [m].
    """
    travel = float(dot(kinematics.levers, np.abs(motion)))
    if travel == 0.0:
        return 1.0
    first = margins(start)
    least = np.minimum(first, 0.0)
    share, room = 0.0, float((first - least).min())
    while share < 1.0:
        ahead = min(share + max(room, SMALLEST_STEP) / travel, 1.0)
        room = float((margins(start + ahead * motion) - least).min())
        if room < 0.0:
            return share
        share = ahead
    return share


def workspace_margins(kinematics: Kinematics, positions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the margins of the tool from the workspace's sides [m]: three lower ones, three upper ones."""
    box = kinematics.profile.workspace
    sides = tuple(zip(kinematics.tool_pose(positions).position, (box.x, box.y, box.z), strict=True))
    return np.array([*(at - low for at, (low, _) in sides), *(high - at for at, (_, high) in sides)])


def floor_margin(kinematics: Kinematics, positions: NDArray[np.float64]) -> float:
    """Return the height of the arm's lowest point above its floor [m]."""
    return kinematics.lowest(positions) - kinematics.profile.floor
