"""Controllers by action space."""

from __future__ import annotations

from collections.abc import Callable

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.robots.controllers.discrete_navigation import DiscreteNavigationController
from robocontrast_ros.robots.controllers.joint_positions import JointPositionsController
from robocontrast_ros.robots.controllers.planar_delta import PlanarDeltaController
from robocontrast_ros.robots.controllers.protocol import Controller, ControlStep
from robocontrast_ros.robots.profile import RobotProfile

__all__ = ["ControlStep", "Controller", "make_controller"]

_CONTROLLERS: dict[str, Callable[..., Controller]] = {
    "discrete_navigation": DiscreteNavigationController,
    "joint_positions": JointPositionsController,
    "planar_delta": PlanarDeltaController,
}


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
