"""A robot's state by its own sensors."""

from __future__ import annotations

from dataclasses import dataclass

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
