"""What the controllers of an arm's action spaces share: the numbers of an action, the hand, and room to move."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain.channels import COMMANDS, Channel
from robocontrast_ros.domain.products import dot
from robocontrast_ros.robots.commands import JointTrajectoryCommand
from robocontrast_ros.robots.controllers.protocol import Action
from robocontrast_ros.robots.kinematics import Kinematics
from robocontrast_ros.robots.manipulator import ManipulatorProfile

SMALLEST_STEP = 1e-3
"""Resolution of the check along a motion: bound of the tool's motion between two checks [m]."""


class ArmActions:
    """The numbers of an action: those of a channel of the arm, then one for the hand where there is one.

    Attributes:
        channels: the arm's, and `gripper` where there is a hand.
        size: numbers in one action.
        gripper: what a greater number does to the hand, for ``ActionConventions``.
    """

    def __init__(self, profile: ManipulatorProfile, name: str, period: float) -> None:
        """Take the robot, the name of the action space, which is that of its channel, and the control period [s]."""
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
        """Return the command to the joints [rad] and to the hand, with a reason more where it cannot close so far."""
        gripper = None
        if closed is not None:
            possible = min(max(closed, 0.0), 1.0)
            if possible != closed:
                reasons.append("the gripper goes from 0 to 1")
            gripper = self._profile.end_effector.drive(possible)
        return self.hold(joints, gripper)

    def hold(self, joints: NDArray[np.float64], gripper: float | None = None) -> JointTrajectoryCommand:
        """Return the command to the joints [rad]; the hand keeps its command where it is given none."""
        return JointTrajectoryCommand(self._profile.joint_names, tuple(joints.tolist()), self._period, gripper)


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
        kinematics: of the robot.
        start: joint positions [rad].
        motion: displacements of the joints [rad].
        margins: distances at joint positions from what must not be passed [m].
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
    tip = np.asarray(kinematics.tool_pose(positions).position)
    box = kinematics.profile.workspace
    lower, upper = np.array([box.x, box.y, box.z]).T
    return np.concatenate([tip - lower, upper - tip])


def floor_margin(kinematics: Kinematics, positions: NDArray[np.float64]) -> float:
    """Return how far the lowest point of the arm is above its floor [m]."""
    return kinematics.lowest(positions) - kinematics.profile.floor
