"""A robot's state by its own sensors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from typing_extensions import Self

from robocontrast_ros.domain.geometry import Pose


@dataclass(frozen=True)
class RobotState:
    """The robot's state, by its own estimate.

    Attributes:
        stamp: time of the sensors [ns].
        pose: pose of the tool (manipulator) or of the base (mobile robot), in the world frame.
        joint_names: names of the joints; empty if they do not matter.
        joint_positions: positions in the order of the names [rad or m]; a gripper's joints are not among them.
        gripper_width: distance between the finger tips [m]; None without a gripper.
        gripper_closed: closed share of the gripper, 0 (wide open) to 1; None without a gripper.
        force: magnitude of the force at the tool [N]; None if the driver does not report it.
    """

    stamp: int
    pose: Pose
    joint_names: tuple[str, ...] = ()
    joint_positions: tuple[float, ...] = ()
    gripper_width: float | None = None
    gripper_closed: float | None = None
    force: float | None = None


@dataclass(frozen=True)
class JointTracking:
    """An arm's joints at a control step: where they are, where they were commanded to be, and how far a hand is closed.

    Attributes:
        names: names of the arm's joints, without a gripper's; empty for a robot without joints.
        measured: their positions by the robot's sensors, in the order of the names [rad].
        commanded: positions that the trial's commands up to now ask for, in the same order [rad]; NaN for a joint that
            none has named yet.
        gripper_closed: closed share of the gripper, 0 (wide open) to 1; None without a gripper.
    """

    names: tuple[str, ...]
    measured: tuple[float, ...]
    commanded: tuple[float, ...]
    gripper_closed: float | None = None

    def __post_init__(self) -> None:
        """Refuse numbers that belong to no joint."""
        counts = tuple(map(len, (self.names, self.measured, self.commanded)))
        if len(set(counts)) > 1:
            raise ValueError(
                "joint tracking: got {} names, {} measured and {} commanded positions, expected as many of each".format(
                    *counts
                )
            )

    @classmethod
    def of(cls, state: RobotState, targets: Mapping[str, float]) -> Self:
        """Return the joints of a state, and their targets by name [rad], which may be in any order or missing."""
        commanded = tuple(targets.get(name, math.nan) for name in state.joint_names)
        return cls(state.joint_names, state.joint_positions, commanded, state.gripper_closed)
