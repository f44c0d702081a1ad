"""The learned policies ``prompted_*`` behind the policy protocol."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from robocontrast_ros.domain import Crop, Instruction, Scene, Segment
from robocontrast_ros.policies.baselines.language_table.oracle import Oracle
from robocontrast_ros.policies.baselines.language_table.pushing import Pusher
from robocontrast_ros.policies.networks import one_thread
from robocontrast_ros.policies.prompted import LONGEST
from robocontrast_ros.policies.prompted.network import OBJECTS, PICTURE, Objects, Prompted, Prompts, as_input
from robocontrast_ros.policies.prompted.structure import instruction_of
from robocontrast_ros.policies.protocol import Observation, PolicyDescription
from robocontrast_ros.policies.segments import one_segment
from robocontrast_ros.policies.sentence_encoder import SentenceEncoder

STAY = np.zeros((1, 2))
"""Displacement if the prompt cannot be carried out [m]."""


class PromptedPolicy:
    """Understands its prompt in the list of objects of its first observation, then pushes as the oracle does.

    Its choices follow from the prompt and the objects' pictures, positions and places in the list alone; their names
    only serve to name the chosen ones to the oracle. If the same object is source and target, the tool stays. The same
    prompt and observations give the same actions on every processor; the trial's seed has no effect.
    """

    def __init__(
        self, description: PolicyDescription, network: Prompted, encoder: SentenceEncoder, oracle: Oracle
    ) -> None:
        """Take the network, the encoder whose table of tokens it was trained with, and the oracle that pushes."""
        self._description, self._name = description, description.name
        self._encoder, self._oracle = encoder, oracle
        # Matrix products differ in their last bits between processors: in double precision that changes no class.
        self._network = network.eval().double()
        self._prompt: Prompts | None = None
        self._begun = False
        self._pusher: Pusher | None = None

    def describe(self) -> PolicyDescription:
        """Return the description: it is shown the objects, and takes pictures and masks."""
        return self._description

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
        """Return the prompt's instruction among the objects of a scene; None if source and target are the same.

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


def prompt_of(segments: Sequence[Segment], encoder: SentenceEncoder) -> Prompts:
    """Return a prompt, a batch of one, in the default precision of PyTorch.

    A segment with a picture is one token, whatever its words; the words of the others are tokens of the sentence
    encoder, without its marks. Masked tokens keep their places. Tokens after the first LONGEST are left out.
    """
    tokens: list[tuple[int, Crop | None, bool]] = []
    for segment in segments:
        if segment.crop is not None:
            tokens.append((0, segment.crop, segment.visible))
        else:
            tokens += [(token, None, segment.visible) for token in encoder.tokens(segment.text)[1:-1]]
    tokens = tokens[:LONGEST]
    crops = [crop for _, crop, _ in tokens if crop is not None]
    ids = np.array([token for token, _, _ in tokens], dtype=np.int64)
    numbers = iter(range(len(crops)))
    picture = [-1 if crop is None else next(numbers) for _, crop, _ in tokens]
    return Prompts(
        torch.from_numpy(encoder.token_vectors(ids)).to(torch.get_default_dtype())[None],
        torch.tensor([picture], dtype=torch.long),
        as_input(torch.stack([_fitted(crop) for crop in crops])) if crops else torch.zeros(0, 3, PICTURE, PICTURE),
        torch.tensor([[visible for _, _, visible in tokens]], dtype=torch.bool),
    )


def _fitted(crop: Crop) -> torch.Tensor:
    """Return a picture of any size in PICTURE rows and columns, uint8."""
    pixels = torch.from_numpy(crop.pixels.copy())
    if pixels.shape[:2] == (PICTURE, PICTURE):
        return pixels
    means = functional.adaptive_avg_pool2d(pixels.permute(2, 0, 1).double(), PICTURE)
    return means.round().to(torch.uint8).permute(1, 2, 0)
