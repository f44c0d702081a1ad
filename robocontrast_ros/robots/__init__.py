"""Embodiments: robot profiles, kinematics with limits, and controllers found by action space."""

from robocontrast_ros.robots.commands import JointTrajectoryCommand, RobotCommand
from robocontrast_ros.robots.controllers import (
    Controller,
    ControlStep,
    PlanarDeltaController,
    make_controller,
)
from robocontrast_ros.robots.kinematics import Kinematics, Unreachable
from robocontrast_ros.robots.profile import RobotProfile, load_profile

__all__ = [
    "ControlStep",
    "Controller",
    "JointTrajectoryCommand",
    "Kinematics",
    "PlanarDeltaController",
    "RobotCommand",
    "RobotProfile",
    "Unreachable",
    "load_profile",
    "make_controller",
]
