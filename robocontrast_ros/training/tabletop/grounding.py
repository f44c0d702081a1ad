"""Training of the network that understands instructions in scenes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from robocontrast_ros.configuration import record
from robocontrast_ros.policies.sentence_encoder import SentenceEncoder
from robocontrast_ros.policies.tabletop_bc.grounding import Grounding, GroundingSizes, Things, Understood
from robocontrast_ros.policies.tabletop_bc.things import Catalogue
from robocontrast_ros.training.epochs import EpochTrainer, Training
from robocontrast_ros.training.tabletop.sentences import Sentences

BUCKET = 16
"""Number of batches that are sorted by length together."""


@record
class GroundingTraining(Training):
    """Parameters of the training of the network that understands."""

    position_noise: float = Field(ge=0, description="standard deviation added to things' x and y [m]")
    word_noise: float = Field(ge=0, description="standard deviation added to tokens, in units of the table's")
    width: int = Field(default=96, gt=0, multiple_of=GroundingSizes.heads, description="units of a token")
    layers: int = Field(default=4, gt=0, description="layers of the transformer")


@dataclass(frozen=True)
class Told:
    """Instructions in scenes as tensors; n instructions, m scenes.

    Attributes:
        scene: of each instruction, shape (n,).
        tokens: index into the vectors, -1 without a token, shape (n, l).
        vectors: of the different tokens, shape (v, 384).
        things: of the scenes, shape (m, s).
        skill: shape (n,).
        target: shape (n,).
        reference: -1 for none, shape (n,).
    """

    scene: Tensor
    tokens: Tensor
    vectors: Tensor
    things: Things
    skill: Tensor
    target: Tensor
    reference: Tensor

    def __len__(self) -> int:
        return len(self.scene)

    @classmethod
    def of(cls, paths: Sequence[Path], catalogue: Catalogue, encoder: SentenceEncoder) -> Told:
        """Read files of sentences."""
        parts = [Sentences.load(path) for path in paths]
        index = {name: number for number, name in enumerate(catalogue.names)} | {"": -1}
        models = np.concatenate([np.vectorize(index.__getitem__)(part.models) for part in parts])
        used = int((models >= 0).sum(-1).max())
        models, poses = models[:, :used], np.concatenate([part.poses for part in parts])[:, :used]
        texts = np.concatenate([part.texts for part in parts])
        ids = [encoder.tokens(text) for text in texts.ravel().tolist()]
        different = sorted({token for own in ids for token in own})
        place = {token: number for number, token in enumerate(different)}
        tokens = np.full((len(ids), max(map(len, ids))), -1)
        for row, own in zip(tokens, ids, strict=True):
            row[: len(own)] = [place[token] for token in own]
        columns = (np.concatenate([getattr(part, name) for part in parts]) for name in ("skill", "target", "reference"))
        return cls(
            torch.arange(len(models)).repeat_interleave(texts.shape[1]),
            torch.from_numpy(tokens),
            torch.from_numpy(encoder.token_vectors(np.array(different))),
            Things(torch.from_numpy(models), torch.from_numpy(poses)),
            *(torch.from_numpy(column.ravel()) for column in columns),
        )


class GroundingTrainer(EpochTrainer[Grounding]):
    """Trains the network that understands."""

    CHECKPOINT, SAMPLES = "grounding.pt", "instructions"
    CLIP = 1.0

    def __init__(self, parameters: GroundingTraining, catalogue: Catalogue, told: Told, held_out: Told) -> None:
        self._p, self._told, self._held_out, self._shifted = parameters, told, held_out, told.things
        sizes = GroundingSizes(width=parameters.width, layers=parameters.layers)
        super().__init__(lambda: Grounding(catalogue, sizes), parameters, told, held_out)

    @torch.no_grad()
    def validate(self) -> dict[str, float]:
        """Return the shares of instructions in scenes not trained on that are understood."""
        self.network.eval()
        told, right = self._held_out, []
        for index in torch.arange(len(told)).split(1024):
            answer = self._answer(told, index, told.things)
            skill = answer.skill.argmax(-1) == told.skill[index]
            target = answer.target.argmax(-1) == told.target[index]
            none = told.reference[index] < 0
            reference = none | (answer.reference.argmax(-1) == told.reference[index])
            right.append(torch.stack([skill, target, reference, skill & target & reference], -1))
        names = ("skill", "target", "reference", "all")
        return dict(zip(names, torch.cat(right).float().mean(0).tolist(), strict=True))

    def _answer(self, told: Told, index: Tensor, things: Things, noise: Tensor | None = None) -> Understood:
        tokens = told.tokens[index]
        spoken = tokens >= 0
        length = int(spoken.sum(-1).max())
        words = told.vectors[tokens[:, :length]]
        if noise is not None:
            words = words + noise[:, :length]
        scene = told.scene[index]
        return self.network(words, spoken[:, :length], things[scene])

    def _batches(self, generator: torch.Generator) -> list[Tensor]:
        """Return batches in an order that is drawn, of instructions of about the same length; shift the things."""
        told, batch = self._told, self._p.batch
        shift = torch.randn(*told.things.poses.shape[:2], 2, generator=generator) * self._p.position_noise
        poses = told.things.poses.clone()
        poses[..., :2] += shift
        self._shifted = Things(told.things.models, poses)
        order = torch.randperm(len(told), generator=generator)
        lengths = (told.tokens >= 0).sum(-1)
        batches: list[Tensor] = []
        for part in order.split(BUCKET * batch):
            batches += part[lengths[part].argsort()].split(batch)
        return [batches[index] for index in torch.randperm(len(batches), generator=generator).tolist()]

    def _loss(self, index: Tensor, generator: torch.Generator) -> Tensor:
        told = self._told
        scale = self._p.word_noise * float(told.vectors.std())
        noise = torch.randn(len(index), told.tokens.shape[1], told.vectors.shape[1], generator=generator) * scale
        answer = self._answer(told, index, self._shifted, noise)
        loss = functional.cross_entropy(answer.skill, told.skill[index])
        loss = loss + functional.cross_entropy(answer.target, told.target[index])
        reference = told.reference[index]
        missing = functional.cross_entropy(answer.reference, reference.clamp_min(0), reduction="none")
        return loss + (missing * (reference >= 0)).mean()
