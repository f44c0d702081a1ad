"""Whether a policy fits a robot, by its description; all differences are reported at once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain.channels import GRIPPER_OBSERVATIONS
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.robots.controllers.protocol import Controller
from robocontrast_ros.robots.kinds import make_controller
from robocontrast_ros.robots.profile import RobotProfile

Cameras = Mapping[str, tuple[int, int] | None]
"""Camera in use -> (width, height) of its images [pixel]; None if the size is not known."""

RATE_TOLERANCE = 1e-3
"""Relative difference up to which two rates count as equal: a period such as 1/30 s is rounded."""


@dataclass(frozen=True)
class Difference:
    """One difference between a policy and a robot.

    Attributes:
        what: field of the description, or of its conventions.
        text: the policy's value and the robot's, with the cure if the session can solve it.
        brief: the same in a few words, for tables.
    """

    what: str
    text: str
    brief: str

    def __str__(self) -> str:
        return f"{self.what}: {self.text}"


def find_differences(
    description: PolicyDescription, robot: RobotProfile, control_rate: float | None, cameras: Cameras
) -> tuple[Difference, ...]:
    """Return all differences between a policy and a robot; none if it fits.

    Fields that the description leaves open fit.

    Args:
        description: the policy's, loaded here or received from a policy server.
        robot: the robot.
        control_rate: of actions [Hz]; None if unknown.
        cameras: the cameras in use.
    """
    return tuple(
        Difference(what, text, brief)
        for what, text, brief in (
            *_in_hands(description, robot),
            *_in_actions(description, robot),
            *_in_time(description, control_rate),
            *_in_sight(description, robot, cameras),
            *_in_state(description, robot),
        )
    )


def check_fit(
    description: PolicyDescription, robot: RobotProfile, control_rate: float, cameras: Cameras, source: str
) -> None:
    """Refuse a policy that does not fit a robot.

    Args:
        description: the policy's, loaded here or received from a policy server.
        robot: the robot.
        control_rate: of actions [Hz].
        cameras: the cameras in use.
        source: the policy's parameter file, or a name for it in the error.

    Raises:
        ConfigurationError: they differ; its text has one line for each difference.
    """
    differences = find_differences(description, robot, control_rate, cameras)
    if differences:
        lines = "".join(f"\n  {difference}" for difference in differences)
        raise ConfigurationError(
            source,
            "",
            description.name,
            f"a policy that fits robot '{robot.name}'",
            f"`robocontrast policies` lists the robots that each policy fits. Differences:{lines}",
        )


Found = Iterable[tuple[str, str, str]]

ANY_PERIOD = 0.1
"""A controller's action size and conventions do not depend on the control period [s]."""


def _in_hands(description: PolicyDescription, robot: RobotProfile) -> Found:
    reads = any(name in GRIPPER_OBSERVATIONS for name in description.observes)
    if (reads or _moves_gripper(description)) and not _has_hand(robot):
        yield "gripper", f"the policy has a gripper, robot '{robot.name}' has none", "no gripper"


def _moves_gripper(description: PolicyDescription) -> bool:
    return description.conventions.gripper not in (None, "none")


def _has_hand(robot: RobotProfile) -> bool:
    return all(name in robot.observations for name in GRIPPER_OBSERVATIONS)


def _in_actions(description: PolicyDescription, robot: RobotProfile) -> Found:
    space, offered = description.action_space, robot.action_spaces.offered
    if space not in offered:
        takes = ", ".join(offered) or "no actions"
        yield (
            "action_space",
            f"the policy answers in {space}, robot '{robot.name}' takes {takes}",
            f"takes {takes}",
        )
        return
    controller: Controller = make_controller(robot, space, ANY_PERIOD)
    size, wanted = description.action_size, controller.action_size
    without_hand = _moves_gripper(description) and not _has_hand(robot)
    if size not in (wanted, wanted + without_hand):
        yield (
            "action_size",
            f"the policy answers {size} numbers, the robot's {space} takes {wanted}",
            f"{wanted} numbers, not {size}",
        )
    for what, answers, takes in description.conventions.differences(controller.conventions):
        if what == "gripper" and without_hand:
            continue
        yield (
            what,
            f"the policy answers {answers}, the robot's {space} takes {takes}",
            f"{what} {takes}, not {answers}",
        )
    if description.ensemble is not None and controller.conventions.reference == "discrete":
        yield (
            "ensemble",
            f"the policy's answers are to be averaged, the moves of {space} cannot be",
            "moves are not averaged",
        )


def _in_time(description: PolicyDescription, control_rate: float | None) -> Found:
    rate = description.rate
    if rate is None or control_rate is None or math.isclose(rate, control_rate, rel_tol=RATE_TOLERANCE):
        return
    yield (
        "rate",
        f"the policy was made for {rate:g} Hz, the task's control_rate is {control_rate:g} Hz",
        f"{control_rate:g} Hz, not {rate:g}",
    )


def _in_sight(description: PolicyDescription, robot: RobotProfile, cameras: Cameras) -> Found:
    mounted = [camera.name for camera in robot.cameras]
    for name in description.cameras:
        if name not in cameras:
            cure = "; the robot has it: name it in the session's `cameras`" if name in mounted else ""
            yield (
                "cameras",
                f"the policy needs '{name}', in use are {', '.join(cameras) or 'none'}{cure}",
                f"no camera '{name}'",
            )
    for name, wanted in zip(description.cameras, description.image_sizes, strict=False):
        size = cameras.get(name)
        if wanted and size and tuple(wanted) != tuple(size):
            yield (
                "image_sizes",
                f"the policy needs '{name}' with {_pixels(wanted)}, it has {_pixels(size)}; the session's "
                "`cameras` sets them",
                f"{name} has {_pixels(size)}",
            )


def _in_state(description: PolicyDescription, robot: RobotProfile) -> Found:
    for name in description.observes:
        if name not in (*robot.observations, *GRIPPER_OBSERVATIONS):
            shows = ", ".join(robot.observations)
            yield "observes", f"the policy reads {name}, robot '{robot.name}' shows {shows}", f"no {name}"
    reads, shown = description.joints, robot.observed_joints
    if reads is not None and reads != shown:
        yield (
            "joints",
            f"the policy reads {reads} joints, robot '{robot.name}' shows {shown}",
            f"{shown} joints, not {reads}",
        )


def _pixels(size: tuple[int, int]) -> str:
    return "{}x{} pixels".format(*size)
