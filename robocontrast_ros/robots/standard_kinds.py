"""The kinds of robots of this package."""

from __future__ import annotations

from robocontrast_ros.robots.commands import TwistCommand
from robocontrast_ros.robots.controllers.discrete_navigation import DiscreteNavigationController
from robocontrast_ros.robots.controllers.joint_positions import JointPositionsController, JointVelocitiesController
from robocontrast_ros.robots.controllers.planar_delta import PlanarDeltaController
from robocontrast_ros.robots.controllers.tool import ToolDeltaController, ToolPoseController
from robocontrast_ros.robots.differential_drive import DifferentialDriveProfile
from robocontrast_ros.robots.homing import way_of_arm
from robocontrast_ros.robots.kinds import RobotKind
from robocontrast_ros.robots.manipulator import ManipulatorProfile
from robocontrast_ros.robots.reach import check_reach
from robocontrast_ros.robots.readings import joints, odometry
from robocontrast_ros.robots.rest import stop_arm
from robocontrast_ros.robots.safety.arm import ArmFilter
from robocontrast_ros.robots.safety.base import BaseFilter
from robocontrast_ros.robots.state_estimation import ArmState, BaseState

DIFFERENTIAL_DRIVE = RobotKind(
    profile=DifferentialDriveProfile,
    estimator=BaseState,
    controllers={"discrete_navigation": DiscreteNavigationController},
    stop=lambda profile, reading, period: TwistCommand(),
    way=None,  # a base may not find its way: a person brings it there
    safety=BaseFilter,
    check_reach=None,
    embodiment="robocontrast_ros.worlds.mujoco.base:Base",
    axes=lambda profile: odometry(profile.limits.linear_speed, profile.limits.angular_speed),
)

MANIPULATOR = RobotKind(
    profile=ManipulatorProfile,
    estimator=ArmState,
    controllers={
        "joint_positions": JointPositionsController,
        "joint_velocities": JointVelocitiesController,
        "planar_delta": PlanarDeltaController,
        "tool_delta": ToolDeltaController,
        "tool_pose": ToolPoseController,
    },
    stop=stop_arm,
    way=way_of_arm,
    safety=ArmFilter,
    check_reach=check_reach,
    embodiment="robocontrast_ros.worlds.mujoco.arm:Arm",
    axes=lambda profile: joints(profile.joint_speeds, profile.hand_joint_names),
)
