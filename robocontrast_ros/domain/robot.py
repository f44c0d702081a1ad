"""What a robot's own sensors say about itself."""

from __future__ import annotations

from dataclasses import dataclass

from robocontrast_ros.domain.geometry import Pose


@dataclass(frozen=True)
class RobotState:
    """Where the robot believes that it is.

    Attributes:
        stamp: time of the sensors [s].
        pose: of the tool (manipulator) or of the base (mobile robot), in the world frame.
        joint_names: names of the joints; none where the robot has no joints that matter.
        joint_positions: positions in the order of the names [rad or m].
    """

    stamp: float
    pose: Pose
    joint_names: tuple[str, ...] = ()
    joint_positions: tuple[float, ...] = ()
