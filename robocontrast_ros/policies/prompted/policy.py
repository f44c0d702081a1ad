"""The learned policies ``prompted_*`` behind the policy protocol."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from robocontrast_ros.domain import Instruction, Scene, Segment
from robocontrast_ros.policies.baselines.language_table.oracle import Oracle
from robocontrast_ros.policies.baselines.language_table.pushing import Pusher
from robocontrast_ros.policies.prompted.description import describe
from robocontrast_ros.policies.prompted.network import OBJECTS, Objects, Prompted, Prompts
from robocontrast_ros.policies.prompted.prompt import prompt_of
from robocontrast_ros.policies.prompted.structure import instruction_of
from robocontrast_ros.policies.protocol import Observation, PolicyDescription
from robocontrast_ros.policies.segments import one_segment
from robocontrast_ros.policies.sentence_encoder import SentenceEncoder
from robocontrast_ros.policies.threads import one_thread

STAY = np.zeros((1, 2))
"""Displacement of a policy that understood nothing that can be carried out [m]."""


class PromptedPolicy:
    """Understands its prompt in the list of objects of its first observation, then pushes as the oracle does.

    What it is to do follows from the objects' pictures, positions and places in the list alone; their names only tell
    the oracle which ones were chosen. Where the same object is source and target, it stays where it is. The same
    prompt and observations give the same actions on every processor; the trial's seed has no effect.
    """

    def __init__(self, name: str, network: Prompted, encoder: SentenceEncoder, oracle: Oracle) -> None:
        """Take the network, the encoder whose table of tokens it was trained with, and the oracle that pushes."""
        self._name, self._encoder, self._oracle = name, encoder, oracle
        # Matrix products differ in their last bits between processors: in double precision that changes no class.
        self._network = network.eval().double()
        self._prompt: Prompts | None = None
        self._begun = False
        self._pusher: Pusher | None = None

    def describe(self) -> PolicyDescription:
        """Return that it is shown the objects, and takes pictures and masks."""
        return describe(self._name)

    def reset(self, instruction: str, seed: int) -> None:
        """Begin a trial with words alone; the seed has no effect."""
        self.reset_segments(one_segment(instruction), seed)

    def reset_segments(self, segments: tuple[Segment, ...], seed: int) -> None:
        """Begin a trial; the seed has no effect."""
        self._prompt, self._begun, self._pusher = prompt_of(segments, self._encoder), False, None

    def act(self, observation: Observation) -> NDArray[np.float64]:
        """Return the next displacement, shape (1, 2) [m].

        Raises:
            ValueError: reset was not called, the observation has no scene, or objects that it does not know.
        """
        scene = observation.scene
        if self._prompt is None:
            raise ValueError(f"{self._name}: act before reset; call reset(instruction, seed) first")
        if scene is None:
            raise ValueError(f"{self._name}: the observation has no scene; it needs the list of objects")
        if not self._begun:
            meant = self.understood(scene)
            self._pusher = None if meant is None else self._oracle.skill(meant, scene)
            self._begun = True
        if self._pusher is None:
            return STAY.copy()
        return self._pusher.step(np.asarray(observation.tool_pose.xy), scene)[None]

    @one_thread()
    @torch.inference_mode()
    def understood(self, scene: Scene) -> Instruction | None:
        """Return what the prompt asks for among the objects of a scene; None where that is impossible.

        Raises:
            ValueError: reset was not called, or there are objects that it does not know, too many, or none.
        """
        if self._prompt is None:
            raise ValueError(f"{self._name}: no prompt; call reset(instruction, seed) first")
        logits = self._network(_double(self._prompt), self._listed(scene))
        answer = {part: int(values[0].argmax()) for part, values in logits.items()}
        return instruction_of(answer, tuple(item.name for item in scene))

    def _listed(self, scene: Scene) -> Objects:
        names = self._network.names
        unknown = [item.model for item in scene if item.model not in names]
        if unknown:
            raise ValueError(f"{self._name}: it has no picture of {', '.join(unknown)}; it has: {', '.join(names)}")
        if not 1 <= len(scene.objects) <= OBJECTS:
            raise ValueError(f"{self._name}: the scene has {len(scene.objects)} objects; it takes 1 to {OBJECTS}")
        return Objects(
            torch.tensor([[names.index(item.model) for item in scene]]),
            torch.tensor([[item.pose.xy for item in scene]], dtype=torch.float64),
        )


def _double(prompt: Prompts) -> Prompts:
    return Prompts(prompt.words.double(), prompt.picture, prompt.pictures.double(), prompt.visible)
