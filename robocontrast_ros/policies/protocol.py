"""The interface of a policy: reset with an instruction, then observations in, action chunks out."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import ActionConventions, Fault, Pose, RobotState, Scene, Segment
from robocontrast_ros.domain.channels import OBSERVATIONS

Case = Literal["any", "lower"]
Referents = Literal["none", "crop"]
Mask = Literal["omit", "native"]
Late = Literal["hold", "chunk", "stop"]


@dataclass(frozen=True)
class Observation:
    """The robot's sensor data of one instant.

    Attributes:
        stamp: time of the sensors, whole nanoseconds of whichever clock stamps them [ns].
        images: camera name -> uint8 array of shape (height, width, 3), RGB.
        joint_names: names of the joints.
        joint_positions: positions in the order of the names [rad or m]; a gripper's joints are not among them.
        tool_pose: pose of the tool (or of the base) in the world frame.
        scene: ground truth; None unless the policy's description asks for it (``privileged``).
        gripper_width: distance between the finger tips [m]; None without a gripper.
        gripper_closed: closure of the gripper, 0 (wide open) to 1 (closed); None without a gripper.
    """

    stamp: int
    images: dict[str, NDArray[np.uint8]]
    joint_names: tuple[str, ...]
    joint_positions: tuple[float, ...]
    tool_pose: Pose
    scene: Scene | None = None
    gripper_width: float | None = None
    gripper_closed: float | None = None

    @property
    def robot(self) -> RobotState:
        """The robot's own state."""
        return RobotState(
            self.stamp,
            self.tool_pose,
            self.joint_names,
            self.joint_positions,
            self.gripper_width,
            self.gripper_closed,
        )


@dataclass(frozen=True)
class PolicyDescription:
    """A policy's inputs and outputs.

    A robot that does not fit is refused at start-up (``sessions.policy_check``).

    Attributes:
        name: for tables and figures.
        action_space: name of the action space, for instance ``planar_delta``.
        action_size: numbers in one action.
        chunk_length: actions in one answer, at most.
        cameras: camera names whose images it must receive.
        privileged: whether it needs the ground-truth scene (an oracle does).
        conventions: meaning of its numbers, if the action space leaves it open.
        rate: control rate that it was made for [Hz]; None for any.
        image_sizes: (width, height) that each camera's images must have [pixel], in the order of ``cameras``; None
            for any. Empty for any size of all.
        joints: number of joints whose positions it reads; None if it reads none, or any number.
        observes: names of the observation channels (``domain.channels.OBSERVATIONS``) that it cannot do without.
        execute: actions of an answer that are carried out before the next request; None for all, or for one with
            ``ensemble``.
        ensemble: temporal ensembling (Zhao et al. 2023, ACT, section IV-A): all answers about an action step
            are averaged with the weights exp(-ensemble * i), i = 0 for the oldest; None without it.
        max_tokens: tokens of an instruction that it reads, those that its tokenizer adds included; None if that is
            not known, or nothing is ever cut off.
        tokenizer: the tokenizer that counts them: ``configuration.minilm.MINILM``, or the path of a
            ``tokenizer.json``; empty if it is not known. Then nothing is counted.
        case: ``lower`` if capital letters reach it as small ones.
        accepts_empty: whether an empty instruction is one that it takes.
        objects: whether it is shown the objects as a list; None for every policy that is ``privileged``.
        referents: ``crop`` if it takes a picture of a referent in place of its words.
        mask: treatment of masked parts of an instruction: ``omit`` if it never gets them, ``native`` if it gets them
            marked as not visible, and masks them itself, such as in its attention.
        late: the robot's behaviour while an answer takes longer than a control period, if the world does not wait:
            ``hold`` its place; go on with the rest of the last answer (``chunk``), then hold; or ``stop``, which ends
            the trial as failed. Actions of a step that has passed are dropped with ``chunk``; with ``hold`` no action
            step passes.
        vocabulary: words that it was trained with, in small letters; empty if it does not say. ``policies.loading``
            reads them from the file that its parameter file names with the key ``vocabulary``.
    """

    name: str
    action_space: str
    action_size: int
    chunk_length: int = 1
    cameras: tuple[str, ...] = field(default=())
    privileged: bool = False
    conventions: ActionConventions = field(default=ActionConventions())
    rate: float | None = None
    image_sizes: tuple[tuple[int, int] | None, ...] = field(default=())
    joints: int | None = None
    execute: int | None = None
    ensemble: float | None = None
    observes: tuple[str, ...] = field(default=())
    max_tokens: int | None = None
    tokenizer: str = ""
    case: Case = "any"
    accepts_empty: bool = True
    objects: bool | None = None
    referents: Referents = "none"
    mask: Mask = "omit"
    late: Late = "hold"
    vocabulary: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse impossible values, because user code also makes descriptions."""
        for key in ("rate", "ensemble"):
            value = getattr(self, key)
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise ValueError(f"policy '{self.name}': {key} of 0 or more, or None, not {value}")
        unknown = [name for name in self.observes if name not in OBSERVATIONS]
        if unknown:
            raise ValueError(
                f"policy '{self.name}': observes {', '.join(unknown)}, expected some of {', '.join(OBSERVATIONS)}"
            )
        if self.chunk_length < 1 or self.action_size < 1:
            raise ValueError(
                f"policy '{self.name}': action_size and chunk_length of at least 1, "
                f"not {self.action_size} and {self.chunk_length}"
            )
        if not 1 <= self.executed <= self.chunk_length:
            raise ValueError(
                f"policy '{self.name}': execute from 1 to chunk_length ({self.chunk_length}), not {self.execute}"
            )
        if self.image_sizes and len(self.image_sizes) != len(self.cameras):
            raise ValueError(f"policy '{self.name}': one of image_sizes for each of cameras, or none")
        if self.max_tokens is not None and self.max_tokens < 1:
            raise ValueError(f"policy '{self.name}': max_tokens of at least 1, or None, not {self.max_tokens}")
        for key, of in (("case", Case), ("referents", Referents), ("mask", Mask), ("late", Late)):
            if (value := getattr(self, key)) not in get_args(of):
                raise ValueError(f"policy '{self.name}': {key} {' or '.join(get_args(of))}, not {value!r}")
        if self.late == "chunk" and self.executed == self.chunk_length:
            raise ValueError(
                f"policy '{self.name}': late chunk only if execute ({self.executed}) is less than chunk_length, "
                "because nothing is left of an answer that was carried out"
            )
        if self.objects and not self.privileged:
            words = "objects only with privileged, because the scene is the list of them"
            raise ValueError(f"policy '{self.name}': {words}")

    @property
    def shows_objects(self) -> bool:
        """Whether it is shown the objects as a list."""
        return self.privileged if self.objects is None else self.objects

    @property
    def takes_segments(self) -> bool:
        """Whether it is given the segments of an instruction in place of the text."""
        return self.referents != "none" or self.mask != "omit"

    @property
    def executed(self) -> int:
        """Actions of a full answer that are carried out before the next request."""
        if self.execute is not None:
            return self.execute
        return self.chunk_length if self.ensemble is None else 1


class PolicyFault(Exception):
    """The policy failed: the robot must stop. The fault's code says whether the trial counts as failed."""

    def __init__(self, fault: Fault, detail: str) -> None:
        super().__init__(f"{fault.name}: {detail}")
        self.fault, self.detail = fault, detail


class Policy(Protocol):
    """A language-guided policy f(l, s).

    A policy is made by its entry point: ``Policy.from_file(path)`` reads its parameter file. ``FullPolicy`` has its
    optional methods.
    """

    @classmethod
    def from_file(cls, path: Path) -> Policy:
        """Load the policy that a parameter file describes.

        Raises:
            ConfigurationError: the file does not fit, or a file or server that it names cannot be loaded or reached.
        """

    def describe(self) -> PolicyDescription:
        """Return its inputs and outputs."""

    def reset(self, instruction: str, seed: int) -> None:
        """Begin a trial: the words, and the seed of all its randomness."""

    def act(self, observation: Observation) -> NDArray[np.float64]:
        """Return the next actions, shape (n, action_size), 1 <= n <= chunk_length, SI units; or one, (action_size,).

        Raises:
            PolicyFault: it failed in a way that has a code; any other exception is POLICY_RAISED.
        """


class FullPolicy(Policy, Protocol):
    """Optional methods of a policy, independent of each other; each is called if it exists."""

    @classmethod
    def describe_file(cls, path: Path) -> PolicyDescription:
        """Return its description by the parameter file, without loading weights or connecting to a server; for lists.

        Raises:
            ConfigurationError: the file does not fit.
        """

    @classmethod
    def needs(cls, path: Path) -> tuple[str, ...]:
        """Return requirements besides the robot, in a few words each, such as the address of a server; for lists."""

    def warm_up(self) -> None:
        """Answer once to made-up input, so that no trial waits for the first, slow answer; it changes no later one."""

    def reset_segments(self, segments: tuple[Segment, ...], seed: int) -> None:
        """Begin a trial, in place of ``reset``, with the segments that ``policies.segments.as_told`` returns.

        A policy that declares ``referents: crop`` or ``mask: native`` must have it.
        """

    def close(self) -> None:
        """Free memory, connections and processes; the policy is not used again."""
