"""What the watchdog reads from its ROS parameters."""

from __future__ import annotations

from pydantic import Field

from robocontrast_ros.configuration import record
from robocontrast_ros.nodes.rollout.parameters import PortParameters


@record
class WatchdogParameters(PortParameters):
    """Parameters of the watchdog: those of the robot's port, and its limits."""

    loop_limit: float = Field(
        default=1.0, gt=0.0, description="Standstill of the control loop after which the robot is stopped [s]."
    )
    policy_limit: float = Field(
        default=16.0, gt=0.0, description="Wait for the policy's answer after which the robot is stopped [s]."
    )
    state_limit: float = Field(
        default=0.5, gt=0.0, description="Silence of the robot's state after which a moving robot is stopped [s]."
    )
    camera_limit: float = Field(
        default=1.0, gt=0.0, description="Silence of a camera's info after which a moving robot is stopped [s]."
    )
    watched_cameras: tuple[str, ...] = Field(
        default=(), description="Cameras whose silence stops the robot, as the robot's profile names them."
    )
