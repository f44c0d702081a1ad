"""The learned policies ``kitchen_state``, ``kitchen_camera`` and ``suite_state`` behind the policy protocol."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from robocontrast_ros.policies.kitchen_bc.network import (
    LEAVE,
    STEP,
    TURN,
    Choices,
    KitchenNetwork,
    Situation,
    executed,
    meant,
)
from robocontrast_ros.policies.kitchen_bc.rotations import between
from robocontrast_ros.policies.kitchen_bc.sight import KitchenSight
from robocontrast_ros.policies.kitchen_bc.things import Things, things_of
from robocontrast_ros.policies.kitchen_bc.tracking import Watcher
from robocontrast_ros.policies.networks import one_thread
from robocontrast_ros.policies.protocol import Observation, PolicyDescription
from robocontrast_ros.policies.sentence_encoder import SentenceEncoder
from robocontrast_ros.policies.tabletop_bc.policy import CLOSED, DECIMALS, OPEN, STILL, STILL_TURN, shipped_fixtures

NOTHING, NOTHING_TURN = 0.0015, 0.015
"""A displacement and a turn of less than this [m], [rad] are not carried out while the tool is behind its commands: it
comes to rest, and where it rests is where its limits have left the commands."""

RISEN = 0.02
"""A hand that leaves a thing, and is at most so far below the height in which it leaves [m], has done its subtask."""

PAUSE = 10
"""So has one that leaves a thing, and has rested for so many steps."""


class KitchenBc:
    """Moves a joint or carries a thing as the oracle does, given its instruction and the things' true or seen poses.

    What the instruction means is decided in the first scene of a trial; by a policy that is chained, again in the scene
    that each subtask leaves. The same instruction and observations give the same actions on every processor; the
    trial's seed has no effect.
    """

    def __init__(
        self,
        description: PolicyDescription,
        network: KitchenNetwork,
        encoder: SentenceEncoder,
        sight: KitchenSight | None = None,
        chained: bool = False,
    ) -> None:
        """Take the network and the sentence encoder; without a network that sees, the ground truth is used."""
        self._chained = chained
        self._description, self._name, self._encoder = description, description.name, encoder
        self._sight = None if sight is None else sight.eval().double()
        self._network = network.eval().double()
        self._text: str | None = None
        self._begin()

    def _begin(self) -> None:
        self._watcher = None if self._sight is None else Watcher(self._sight, self._network.catalogue)
        self._begin_subtask()

    def _begin_subtask(self) -> None:
        self._asked: tuple[Tensor, Tensor, Tensor] | None = None
        self._stood: Tensor | None = None
        self._grasped: Tensor | None = None
        self._before: tuple[Tensor, float] | None = None
        self._commanded: Tensor | None = None
        self._choices: Choices | None = None
        self._gripper = self._handled = OPEN
        self._leaves: float | None = None
        self._rested = 0

    def describe(self) -> PolicyDescription:
        """Return the description: it answers with displacements of the tool, and needs a camera or the ground truth."""
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
            ValueError: reset was not called, the scene, the image or the gripper is missing, or a thing is unknown.
        """
        if self._text is None:
            raise ValueError(f"{self._name}: act before reset; call reset(instruction, seed) first")
        width = observation.gripper_width
        if width is None:
            raise ValueError(f"{self._name}: the observation has no gripper width; it needs a robot with a hand")
        things, pose = self._things(observation), observation.tool_pose
        if self._leaves is not None and (self._leaves - pose.position[2] <= RISEN or self._rested >= PAUSE):
            self._begin_subtask()
        if self._asked is None:
            words = torch.from_numpy(self._encoder.encode([self._text]))
            self._asked = meant(self._network.understand(words, things))
        skill, target, reference = self._asked
        tool = torch.tensor([[*pose.position, *pose.orientation]], dtype=torch.float64)
        before, last = (tool, width) if self._before is None else self._before
        moved = torch.cat([tool[:, :3] - before[:, :3], between(before[:, 3:], tool[:, 3:])], -1)
        rests = self._before is not None and moved[0, :3].norm() <= STILL and moved[0, 3:].norm() <= STILL_TURN
        self._rested = self._rested + 1 if rests else 0
        if self._commanded is None or rests:
            # The set point of a robot at rest is its pose, whatever its limits have left of the commands.
            self._commanded = tool
        if self._gripper == OPEN or self._stood is None:
            self._stood, self._grasped = things.poses[:, int(target)], tool
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
        action = self._answer(situation)[0]
        lag, twist = self._commanded[:, :3] - tool[:, :3], between(tool[:, 3:], self._commanded[:, 3:])
        behind = bool(lag.norm() > STILL or twist.norm() > STILL_TURN)
        shift = _limited(action[:3], NOTHING * behind, STEP).round(decimals=DECIMALS)
        turn = _limited(action[3:6], NOTHING_TURN * behind, TURN).round(decimals=DECIMALS)
        self._gripper = CLOSED if action[6] > 0 else OPEN
        self._handled = max(self._handled, self._gripper)
        # The next answer depends on this one, so it is kept as rounded.
        step = torch.cat([shift, turn])
        self._commanded = executed(self._commanded, step[None])
        self._before = tool, width
        return np.array([[*step.tolist(), self._gripper]])

    def _answer(self, situation: Situation) -> Tensor:
        """Return the network's action; where a thing is put is chosen when the hand closes, until it opens."""
        network, known = self._network, self._network.known(situation)
        choices = self._choices or network.choices(situation, known)
        self._choices = choices if self._gripper == CLOSED else None
        phase = network.phase(situation, known)
        goal = network.goal(situation, choices, phase)
        self._leaves = float(goal.above) if self._chained and int(phase) == LEAVE else None
        return network.act(situation, known, goal, phase)

    def _things(self, observation: Observation) -> Things:
        try:
            if self._watcher is not None:
                return self._watcher.update(observation, self._gripper == CLOSED)
            if observation.scene is None:
                raise ValueError("the observation has no scene; it needs the ground truth")
            return things_of(observation.scene, self._network.catalogue, shipped_fixtures())
        except ValueError as error:
            raise ValueError(f"{self._name}: {error}") from None


def _limited(vector: Tensor, least: float, most: float) -> Tensor:
    """Return a vector of at most a length, or none if it is shorter than another."""
    size = vector.norm()
    if size < least:
        return torch.zeros_like(vector)
    return vector * (most / size) if size > most else vector
