"""What a policy is: reset with an instruction, then observations in, action chunks out."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import Pose, RobotState, Scene


@dataclass(frozen=True)
class Observation:
    """What the robot senses at one instant.

    Attributes:
        stamp: time of the sensors [s].
        images: camera name -> uint8 array of shape (height, width, 3), RGB.
        joint_names: names of the joints.
        joint_positions: positions in the order of the names [rad or m].
        tool_pose: pose of the tool (or of the base) in the world frame.
        scene: ground truth; None unless the policy's description asks for it (``privileged``).
    """

    stamp: float
    images: dict[str, NDArray[np.uint8]]
    joint_names: tuple[str, ...]
    joint_positions: tuple[float, ...]
    tool_pose: Pose
    scene: Scene | None = None

    @property
    def robot(self) -> RobotState:
        """The robot's own part of it."""
        return RobotState(self.stamp, self.tool_pose, self.joint_names, self.joint_positions)


@dataclass(frozen=True)
class PolicyDescription:
    """What a policy needs and what it answers with.

    Attributes:
        name: for tables and figures.
        action_space: name of the action space, for instance ``planar_delta``; a robot profile that
            does not offer it is refused at start-up.
        action_size: numbers in one action.
        chunk_length: actions in one answer, at most.
        cameras: camera names whose images it must receive.
        privileged: whether it needs the ground-truth scene (an oracle does).
    """

    name: str
    action_space: str
    action_size: int
    chunk_length: int = 1
    cameras: tuple[str, ...] = field(default=())
    privileged: bool = False


class Policy(Protocol):
    """A language-guided policy f(l, s).

    A policy is made by its entry point: ``Policy.from_file(path)`` reads its parameter file.
    """

    @classmethod
    def from_file(cls, path: Path) -> Policy:
        """Load the policy that a parameter file describes.

        Raises:
            ConfigurationError: the file does not fit.
        """

    def describe(self) -> PolicyDescription:
        """Say what it needs and answers with."""

    def reset(self, instruction: str, seed: int) -> None:
        """Begin a trial: the words, and the seed of all its randomness."""

    def act(self, observation: Observation) -> NDArray[np.float64]:
        """Return the next actions, shape (n, action_size), 1 <= n <= chunk_length, SI units."""
