"""Kinds of robots: all differences between an arm and a base, in one record for each.

The key `type` of a robot's file names its kind, which is found by entry point.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from robocontrast_ros.configuration import ConfigurationError, load_plugin

if TYPE_CHECKING:
    from robocontrast_ros.domain import Pose
    from robocontrast_ros.robots.commands import RobotCommand
    from robocontrast_ros.robots.controllers.protocol import Controller
    from robocontrast_ros.robots.profile_base import RobotProfile
    from robocontrast_ros.robots.readings import Axes, CheckedEstimator
    from robocontrast_ros.robots.safety.filter import SafetyFilter
    from robocontrast_ros.robots.state_estimation import Reading, StateEstimator


def _no_axes(_: Any) -> Axes:
    from robocontrast_ros.robots.readings import Axes

    return Axes()


@dataclass(frozen=True)
class RobotKind:
    """A kind of robot.

    Attributes:
        profile: the record of its files.
        estimator: makes the state estimator from the profile.
        controllers: action space -> function that makes its controller from the profile, the profile's record of the
            action space, and the control period [s].
        stop: returns the command to stop at the robot's place in a reading, given the profile, the reading, and the
            control period [s].
        way: returns the commands to go to the start of an episode, one by one, given profile, reading and start, or to
            the posture of rest if the start is None, and the height above which nothing stands on the table [m], 0 if
            it is unknown; raises ``kinematics.Unreachable``. None if the robot does not go
            there by itself.
        safety: returns the safety filter, given the profile and the control period [s].
        check_reach: checks that a robot's tool reaches a region, given the profile and least and greatest x, y and z in
            `world` [m]; raises ``kinematics.Unreachable``. None if it has no tool.
        embodiment: `module:Class` of its ``worlds.mujoco.embodiment.Embodiment``, made from the profile and the start.
        axes: returns the numbers of its readings that are used, and so checked before any computation, given the
            profile; none by default.
    """

    profile: type[RobotProfile]
    estimator: Callable[[Any], StateEstimator]
    controllers: Mapping[str, Callable[[Any, Any, float], Controller]]
    stop: Callable[[Any, Any, float], RobotCommand]
    way: Callable[[Any, Any, Pose | None, float], Sequence[RobotCommand]] | None
    safety: Callable[[Any, float], SafetyFilter]
    check_reach: Callable[..., None] | None
    embodiment: str
    axes: Callable[[Any], Axes] = _no_axes


def kind_of(profile: RobotProfile) -> RobotKind:
    """Return the kind of a robot."""
    return _kind(profile.type)


@cache
def _kind(name: str) -> RobotKind:
    return load_plugin("robot_kinds", name, "a robot", "type")


def make_state_estimator(profile: RobotProfile) -> CheckedEstimator:
    """Return the state estimator of a robot, which refuses impossible readings."""
    from robocontrast_ros.robots.readings import CheckedEstimator

    kind = kind_of(profile)
    return CheckedEstimator(kind.estimator(profile), kind.axes(profile))


def stop_command(profile: RobotProfile, reading: Reading, period: float) -> RobotCommand:
    """Return the command to stop at the robot's place in a reading, within a control period [s]."""
    return kind_of(profile).stop(profile, reading, period)


def make_safety_filter(profile: RobotProfile, period: float) -> SafetyFilter:
    """Return the safety filter between a policy's commands and a robot, for a control period [s]."""
    return kind_of(profile).safety(profile, period)


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
    space = getattr(profile.action_spaces, action_space)
    return kind_of(profile).controllers[action_space](profile, space, period)
