"""The ports of an episode: the parts that differ between the graph, one process and a real robot.

An episode is put together from them by ``episodes.assembly``, for all of these in the same way.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import Intervention, Pose, Progress, RobotState, Scene, Segment
from robocontrast_ros.policies.protocol import Observation, PolicyDescription
from robocontrast_ros.policies.serving.runner import Answer
from robocontrast_ros.robots.commands import RobotCommand
from robocontrast_ros.robots.state_estimation import Reading

Images = Mapping[str, Any]
"""Camera's name -> its image, in the form that surroundings and policy connection of one bench share."""


class RobotPort(Protocol):
    """A robot's driver. Each method may raise BenchFault.

    Attributes:
        homes: whether it has to be sent to an episode's start; else the world brings it there, or a person.
    """

    homes: bool

    def prepare(self) -> None:
        """Check the driver, and have it ready to move the robot, before an episode's first motion, or one to rest."""

    def state(self, after: int) -> Reading:
        """Return the first reading later than a time [ns], in the clock of the stamps; wait for it."""

    def command(self, command: RobotCommand, stamp: int) -> None:
        """Send a command for the coming control period, which answers the observation of a time [ns]."""

    def hold(self, command: RobotCommand, stamp: int) -> None:
        """End a motion: send the controller's command to stop and stay; a driver that follows goals cancels them."""

    def way(self, start: Pose | None, after: int) -> Sequence[RobotCommand]:
        """Return the commands, each with its duration, that bring the robot to an episode's start, one by one.

        Args:
            start: pose of its tool; None for its posture of rest, out of the way of a person who sets up the next
                scene.
            after: the way begins at its first reading later than this time [ns].

        Raises:
            BenchFault: ROBOT_NOT_READY if there is no checked way: somebody has to move it by hand.
        """

    def stop(self) -> None:
        """Have the robot stop at the place of its newest reading, without waiting for another."""


class DriverPort(RobotPort, Protocol):
    """A robot's driver in the graph. Its entry point names the class, made as ``nodes.rollout.robot.TopicRobot`` is.

    Attributes:
        topic: of the robot's state, which the inbox receives.
    """

    topic: str

    def stop_sending(self) -> None:
        """Send nothing more without a new command."""


class FullDriverPort(DriverPort, Protocol):
    """Optional parts of the port of a driver, independent of each other.

    Attributes:
        stop_answered: whether the driver has answered a ``stop``; without this attribute, a ``stop`` that was sent
            counts.
        limits: limits that slow or hold the robot from outside, a
            ``nodes.rollout.drivers.outside_limits.OutsideLimits``.
        pose_source: source of a base's pose, in words.
    """

    stop_answered: bool
    limits: Any
    pose_source: str

    def check(self) -> None:
        """Check the driver, and move and switch nothing, when a session on the wall clock begins, before any set-up."""

    def close(self) -> None:
        """Release the driver in its original state."""


class Pacer(Protocol):
    """Lets time pass: a simulator is stepped, or the wall clock waited for.

    Attributes:
        errors: excess length of each control period since ``begin`` [s]; empty if that has no meaning, because the
            world waits.
    """

    errors: Sequence[float]

    def begin(self) -> None:
        """Begin an episode: the next control period starts now."""

    def step(self) -> None:
        """Let one control period pass.

        Raises:
            BenchFault: the simulator is lost.
        """

    def answered(self, pending: PendingAnswer, wait: bool) -> bool:
        """Return whether the robot need not go on without an answer of the policy.

        Args:
            pending: the answer.
            wait: whether to wait for it until the present control period ends.
        """


class NamedPacer(Pacer, Protocol):
    """A pacer that a session names. Its entry point names the class, made as ``pacing.Lockstep`` is.

    Attributes:
        steps_world: whether it needs a world that can be stepped.
    """

    steps_world: ClassVar[bool]


class Surroundings(Protocol):
    """An episode's access to the world besides the robot. Each method may raise BenchFault.

    Attributes:
        movable: names of the cameras that can be moved for an episode.
        person_near: whether a person is known to be near the robot now, so that it has to be slower.
    """

    movable: Collection[str]
    person_near: bool

    def move_cameras(self, offsets: Mapping[str, Pose]) -> None:
        """Move cameras, by name -> pose in the optical frame at its place [m], until the next scene is set up."""

    def located(self, state: RobotState, targets: Mapping[str, float]) -> None:
        """Take the robot's own estimate of its state.

        Args:
            state: with the pose of the tool (or of the base), and its stamp.
            targets: joint -> position that the episode's commands up to now ask for [rad]; it changes with the next
                command.
        """

    def scene(self, stamp: int) -> Scene:
        """Return the ground truth of a time [ns] for privileged policies."""

    def images(self, stamp: int) -> Images:
        """Return an image of each camera that the policy asks for, of a time [ns]."""

    def shown(self, observation: Observation, images: Images) -> None:
        """Take the policy's input if filters change it: the observation, which has no images, and these."""

    def intervened(self, stamp: int, interventions: Sequence[Intervention]) -> None:
        """Take the safety filter's interventions in the command that answers the observation of a time [ns]."""

    def progress(self, stamp: int) -> Progress:
        """Return the judge's progress and the scores of a time [ns]; ``located`` was called with it."""


class PendingAnswer(Protocol):
    """Actions that were requested."""

    def arrived(self, timeout: float) -> bool:
        """Wait up to a time [s], and return whether ``result`` would return at once."""

    def result(self) -> Answer:
        """Wait for them.

        Raises:
            PolicyFault: the policy failed.
            BenchFault: the policy server is lost.
        """


class PolicyConnection(Protocol):
    """A policy, here or on a server. Each method may raise PolicyFault, and BenchFault if the server is lost.

    Attributes:
        description: its inputs and outputs.
    """

    description: PolicyDescription

    def reset(self, instruction: str, seed: int, segments: tuple[Segment, ...]) -> None:
        """Begin a trial; there are segments only for a policy that takes them."""

    def shown(self, images: Images) -> dict[str, NDArray[np.uint8]]:
        """Return those of the images that the policy is shown, as it receives them: shape (height, width, 3), RGB."""

    def packed(self, images: Mapping[str, NDArray[np.uint8]], like: Images) -> Images:
        """Return images of shape (height, width, 3), RGB, in the form of others of the same cameras."""

    def request_actions(self, observation: Observation, images: Images) -> PendingAnswer:
        """Ask for actions, without waiting for them; the observation has no images yet."""
