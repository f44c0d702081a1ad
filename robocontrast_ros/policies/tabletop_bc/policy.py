"""The learned policies ``tabletop_state`` and ``tabletop_camera`` behind the policy protocol."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from robocontrast_ros.domain import Scene
from robocontrast_ros.objects import load_library
from robocontrast_ros.policies.networks import one_thread
from robocontrast_ros.policies.protocol import Observation, PolicyDescription
from robocontrast_ros.policies.sentence_encoder import SentenceEncoder
from robocontrast_ros.policies.tabletop_bc.grounding import Grounding, Things, token_vectors
from robocontrast_ros.policies.tabletop_bc.motion import STEP, TURN, Motion, Situation
from robocontrast_ros.policies.tabletop_bc.sight import Sight
from robocontrast_ros.policies.tabletop_bc.things import Catalogue
from robocontrast_ros.policies.tabletop_bc.tracking import Watcher
from robocontrast_ros.tasks.tabletop.parameters import FAMILIES

DECIMALS = 6
"""Decimals of an action [m, rad]; see ``film_bc.policy.DECIMALS``."""

STILL, STILL_TURN = 0.001, 0.005
"""A tool that goes less than this in a step rests [m], [rad]: then its set point is its pose, as in training."""

OPEN, CLOSED = 0.0, 1.0

PICK = FAMILIES.index("pick")
"""The skill that names no other thing."""


class TabletopBc:
    """Handles one thing as the oracle does, given its instruction and the things' true or estimated poses.

    The same instruction and observations give the same actions on every processor; the trial's seed has no effect.
    """

    def __init__(
        self,
        description: PolicyDescription,
        grounding: Grounding,
        motion: Motion,
        encoder: SentenceEncoder,
        sight: Sight | None = None,
    ) -> None:
        """Take the networks and the sentence encoder; without a network that sees, the ground truth is used."""
        self._description, self._name, self._encoder = description, description.name, encoder
        self._sight = None if sight is None else sight.eval().double()
        self._grounding, self._motion = grounding.eval().double(), motion.eval().double()
        self._text: str | None = None
        self._begin()

    def _begin(self) -> None:
        self._watcher = None if self._sight is None else Watcher(self._sight)
        self._asked: tuple[Tensor, Tensor, Tensor] | None = None
        self._stood: Tensor | None = None
        self._grasped: Tensor | None = None
        self._before: tuple[Tensor, float] | None = None
        self._commanded: Tensor | None = None
        self._gripper = self._handled = OPEN

    def describe(self) -> PolicyDescription:
        """Return the description: it answers with displacements of the tool, and needs cameras or the ground truth."""
        return self._description

    def reset(self, instruction: str, seed: int) -> None:
        """Begin a trial; the seed has no effect."""
        self._text = instruction
        self._begin()

    @one_thread()
    @torch.inference_mode()
    def act(self, observation: Observation) -> NDArray[np.float64]:
        """Return the next displacement [m], rotation vector [rad] and gripper command, shape (1, 7).

        Raises:
            ValueError: reset was not called, the scene, an image or the gripper is missing, or a thing is unknown.
        """
        if self._text is None:
            raise ValueError(f"{self._name}: act before reset; call reset(instruction, seed) first")
        width = observation.gripper_width
        if width is None:
            raise ValueError(f"{self._name}: the observation has no gripper width; it needs a robot with a hand")
        things = self._things(observation)
        if self._asked is None:
            self._asked = self._understood(things)
        skill, target, reference = self._asked
        tool = _row(observation.tool_pose.position, observation.tool_pose.yaw)
        if self._commanded is None or self._rests(tool):
            self._commanded = tool
        if self._gripper == OPEN or self._stood is None:
            self._stood, self._grasped = things.poses[:, int(target)], tool
        before, last = (tool, width) if self._before is None else self._before
        moved = tool - before
        moved[:, 3] = torch.remainder(moved[:, 3] + math.pi, math.tau) - math.pi
        situation = Situation(
            skill,
            target,
            reference,
            things,
            self._stood,
            self._grasped,
            tool,
            moved,
            self._commanded,
            torch.tensor([[width, width - last]], dtype=torch.float64),
            torch.tensor([self._gripper], dtype=torch.float64),
            torch.tensor([self._handled], dtype=torch.float64),
        )
        action = self._motion(situation)[0]
        shift, turn = _at_most(action[:3], STEP), action[3].clamp(-TURN, TURN)
        step = torch.cat([shift, turn[None]]).round(decimals=DECIMALS)
        self._gripper = CLOSED if action[4] > 0 else OPEN
        self._handled = max(self._handled, self._gripper)
        # The next answer depends on this one, so it is kept as rounded.
        self._commanded = self._commanded + step
        self._before = tool, width
        dx, dy, dz, spin = step.tolist()
        return np.array([[dx, dy, dz, 0.0, 0.0, spin, self._gripper]])

    def _understood(self, things: Things) -> tuple[Tensor, Tensor, Tensor]:
        """Return skill, target and reference, the likeliest ones; the reference is another thing than the target."""
        words, spoken = token_vectors(self._encoder, [self._text])
        answer = self._grounding(words.double(), spoken, things)
        skill, target = answer.skill.argmax(-1), answer.target.argmax(-1)
        others = answer.reference.scatter(-1, target[:, None], -torch.inf)
        none = torch.full_like(target, -1)
        return skill, target, torch.where(skill == PICK, none, others.argmax(-1))

    def _rests(self, tool: Tensor) -> bool:
        if self._before is None:
            return False
        moved = (tool - self._before[0])[0].abs()
        return float(moved[:3].norm()) <= STILL and float(moved[3]) <= STILL_TURN

    def _things(self, observation: Observation) -> Things:
        try:
            if self._watcher is not None:
                return self._watcher.update(observation, self._gripper == CLOSED)
            if observation.scene is None:
                raise ValueError("the observation has no scene; it needs the ground truth")
            return true_things(observation.scene, self._motion.catalogue)
        except ValueError as error:
            raise ValueError(f"{self._name}: {error}") from None


@cache
def shipped_fixtures() -> frozenset[str]:
    """Return the tables, backgrounds and lights of the library: a scene may have others than those of the training."""
    return frozenset(name for name, model in load_library().items() if model.fixed)


def true_things(scene: Scene, catalogue: Catalogue) -> Things:
    """Return a scene's things, a batch of one, in the scene's order, without tables, backgrounds and lights.

    Raises:
        ValueError: the scene has none, or one whose model is not in the catalogue.
    """
    found = [o for o in scene if o.model not in catalogue.fixtures and o.model not in shipped_fixtures()]
    unknown = [o.model for o in found if o.model not in catalogue.names]
    if unknown or not found:
        named = f"the scene has {', '.join(unknown)}" if unknown else "the scene has none"
        raise ValueError(f"it knows the {len(catalogue.names)} things that it was trained with; {named}")
    models = torch.tensor([[catalogue.names.index(o.model) for o in found]])
    poses = [(*o.pose.position, o.pose.yaw) for o in found]
    return Things(models, torch.tensor([poses], dtype=torch.float64))


def _row(position: tuple[float, float, float], yaw: float) -> Tensor:
    return torch.tensor([[*position, yaw]], dtype=torch.float64)


def _at_most(vector: Tensor, length: float) -> Tensor:
    size = vector.norm()
    return vector * (length / size) if size > length else vector
