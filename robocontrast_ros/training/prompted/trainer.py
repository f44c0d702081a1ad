"""Training of the network that understands prompts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from robocontrast_ros.configuration import record
from robocontrast_ros.policies.networks import Batch
from robocontrast_ros.policies.prompted.network import (
    Conditioning,
    Objects,
    Prompted,
    PromptedSizes,
    Prompts,
    as_input,
)
from robocontrast_ros.policies.prompted.structure import CLASSES, ROLES
from robocontrast_ros.policies.sentence_encoder import SentenceEncoder
from robocontrast_ros.tasks.language_table.blocks import Reference
from robocontrast_ros.training.epochs import EpochTrainer, Training
from robocontrast_ros.training.prompted.scenes import PARTS, Instances, Portraits
from robocontrast_ros.training.prompted.sentences import Meaning, Pattern, Wordings

BATCH = 500
"""Prompts that are validated at a time."""


@record
class PromptedTraining(Training):
    """Parameters of the training of each variant's network."""

    word_noise: float = Field(ge=0, description="standard deviation added to words, in units of the table's")
    picture_noise: float = Field(ge=0, description="standard deviation of a picture's brightness and of its pixels")
    position_noise: float = Field(ge=0, description="standard deviation added to x and y of objects [m]")
    pictured: float = Field(ge=0, le=1, description="share of the prompts with pictures in place of descriptors")
    width: int = Field(default=48, gt=0, multiple_of=PromptedSizes.heads, description="units of a token")
    layers: int = Field(default=3, gt=0, description="layers of each transformer")
    narrow: int = Field(default=8, gt=0, description="numbers that a prompt becomes in late conditioning")


@record
class Variant:
    """The differences of one policy from the others."""

    conditioning: Conditioning = Field(description="early or late")
    paraphrases: bool = Field(description="whether any sentence of the grammar is said, or one for each meaning")
    permuted: bool = Field(
        description="whether objects are listed in an order that is drawn, or as the task lists them"
    )


@dataclass(frozen=True)
class Material:
    """The training data of all variants.

    Attributes:
        instances: the instances to train on.
        held_out: the instances to validate with.
        portraits: pictures of the instances' blocks.
        album: a picture of every block that may be on the board.
        wordings: the sentences of each meaning.
    """

    instances: Instances
    held_out: Instances
    portraits: Portraits
    album: Portraits
    wordings: Mapping[Meaning, Wordings]


@dataclass(frozen=True)
class Drawn(Batch):
    """n prompts with their lists of s objects, as indices.

    Attributes:
        tokens: index of a word, -1 without one, shape (n, l).
        pictures: index of a picture, -1 without one, shape (n, l).
        models: shape (n, s).
        positions: shape (n, s, 2).
        labels: shape (n, len(PARTS)).
    """

    tokens: Tensor
    pictures: Tensor
    models: Tensor
    positions: Tensor
    labels: Tensor


class PromptedTrainer(EpochTrainer[Prompted]):
    """Trains the network of one variant; sentences, pictures and orders are drawn anew in each epoch."""

    CHECKPOINT, SAMPLES = "network.pt", "instances"
    CLIP = 1.0

    def __init__(
        self, parameters: PromptedTraining, variant: Variant, material: Material, encoder: SentenceEncoder
    ) -> None:
        self._p, self._variant, self._material = parameters, variant, material
        known = tuple(material.album.names.tolist())
        names = material.instances.names.tolist()
        shown = material.portraits.of(names)
        self._yaws = shown.shape[1]
        self._shown = torch.from_numpy(shown.reshape(-1, *shown.shape[2:]))
        self._models = np.array([known.index(name) for name in names])
        self._said = [encoder.tokens(Reference(*name.split("_")).words)[1:-1] for name in names]
        patterns = {
            part
            for wordings in material.wordings.values()
            for pattern in (*wordings.spoken, *wordings.held_out)
            for part in pattern
        }
        self._parts = {part: encoder.tokens(part)[1:-1] for part in sorted(patterns) if part not in ROLES}
        ids = sorted({token for own in (*self._said, *self._parts.values()) for token in own})
        self._vectors = torch.from_numpy(encoder.token_vectors(np.array(ids)))
        place = {token: number for number, token in enumerate(ids)}
        self._said = [[place[token] for token in own] for own in self._said]
        self._parts = {part: [place[token] for token in own] for part, own in self._parts.items()}
        self._drawn: Drawn | None = None
        sizes = PromptedSizes(
            variant.conditioning, width=parameters.width, layers=parameters.layers, narrow=parameters.narrow
        )
        album = torch.from_numpy(material.album.pictures[:, 0])
        held_out = material.held_out
        super().__init__(lambda: Prompted(known, album, sizes), parameters, material.instances, held_out)

    @torch.no_grad()
    def validate(self) -> dict[str, float]:
        """Return the shares of prompts that are understood in all parts, about instances not trained on.

        The four shares are with words in the original sentences, with words in held-out sentences, with pictures in
        the original sentences, and with words in the original sentences and the objects in another order.
        """
        self.network.eval()
        held, wordings = self._material.held_out, self._material.wordings
        original = {meaning: (own.original,) for meaning, own in wordings.items()}
        unheard = {meaning: own.held_out or (own.original,) for meaning, own in wordings.items()}
        cases = {
            "original": (original, 0.0, False),
            "held_out": (unheard, 0.0, False),
            "pictures": (original, 1.0, False),
            "permuted": (original, 0.0, True),
        }
        found = {}
        for number, (name, (sentences, pictured, permuted)) in enumerate(cases.items()):
            drawn = self._draw(held, sentences, pictured, permuted, np.random.default_rng([self._p.seed, number]))
            right = [self._right(drawn, index) for index in torch.arange(len(held)).split(BATCH)]
            found[name] = torch.cat(right).float().mean().item()
        return found

    def _right(self, drawn: Drawn, index: Tensor) -> Tensor:
        drawn = drawn[index]
        logits = self.network(*self._inputs(drawn))
        right = torch.ones(len(index), dtype=torch.bool)
        for part, label in zip(PARTS, drawn.labels.T, strict=True):
            right &= (label < 0) | (logits[part].argmax(-1) == label)
        return right

    def _batches(self, generator: torch.Generator) -> Sequence[Tensor]:
        """Draw a sentence, the kind of referents and an order for each instance; return the batches."""
        said = {
            meaning: own.spoken if self._variant.paraphrases else (own.original,)
            for meaning, own in self._material.wordings.items()
        }
        rng = np.random.default_rng(int(torch.randint(2**31, (1,), generator=generator)))
        self._drawn = self._draw(self._material.instances, said, self._p.pictured, self._variant.permuted, rng)
        return tuple(super()._batches(generator))

    def _loss(self, index: Tensor, generator: torch.Generator) -> Tensor:
        drawn, p = self._drawn[index], self._p
        prompts, objects = self._inputs(drawn)

        def noise(like: Tensor, scale: float) -> Tensor:
            return scale * torch.randn(like.shape, generator=generator)

        def seen(pictures: Tensor) -> Tensor:
            brightness = 1.0 + noise(pictures[:, :1, :1, :1], p.picture_noise)
            return brightness * pictures + noise(pictures, p.picture_noise)

        words = prompts.words + noise(prompts.words, p.word_noise * float(self._vectors.std()))
        prompts = replace(prompts, words=words, pictures=seen(prompts.pictures))
        objects = replace(objects, positions=objects.positions + noise(objects.positions, p.position_noise))
        logits = self.network(prompts, objects, seen(as_input(self.network.album)))
        loss = torch.zeros(())
        for part, label in zip(PARTS, drawn.labels.T, strict=True):
            own = functional.cross_entropy(logits[part], label.clamp_min(0), reduction="none")
            loss = loss + (own * (label >= 0)).mean()
        return loss

    def _inputs(self, drawn: Drawn) -> tuple[Prompts, Objects]:
        tokens, pictures = drawn.tokens, drawn.pictures
        visible = (tokens >= 0) | (pictures >= 0)
        length = int(visible.sum(-1).max())
        tokens, pictures, visible = tokens[:, :length], pictures[:, :length], visible[:, :length]
        different, inverse = torch.unique(pictures, return_inverse=True)
        # The first of the different ones is -1 if there is a word.
        words = int(len(different) > 0 and different[0] < 0)
        prompts = Prompts(
            self._vectors[tokens.clamp_min(0)], inverse - words, as_input(self._shown[different[words:]]), visible
        )
        return prompts, Objects(drawn.models, drawn.positions)

    def _draw(
        self,
        instances: Instances,
        sentences: Mapping[Meaning, Sequence[Pattern]],
        pictured: float,
        permuted: bool,
        rng: np.random.Generator,
    ) -> Drawn:
        """Draw a prompt for each instance, and the order in which its objects are listed."""
        count, objects = instances.poses.shape[:2]
        by_class = {_classes(meaning): patterns for meaning, patterns in sentences.items()}
        shown = rng.random(count) < pictured
        yaws = np.rint(instances.poses[..., 2] / math.tau * self._yaws).astype(int) % self._yaws
        rows: list[list[tuple[int, int]]] = []
        for labels, picture, turned in zip(instances.labels.tolist(), shown.tolist(), yaws.tolist(), strict=True):
            patterns = by_class[tuple(labels[len(ROLES) :])]
            pattern = patterns[int(rng.integers(len(patterns)))]
            row: list[tuple[int, int]] = []
            for part in pattern:
                if part not in ROLES:
                    row += [(token, -1) for token in self._parts[part]]
                    continue
                block = labels[PARTS.index(part)]
                if picture:
                    row.append((-1, block * self._yaws + turned[block]))
                else:
                    row += [(token, -1) for token in self._said[block]]
            rows.append(row)
        prompts = np.full((2, count, max(map(len, rows))), -1)
        for number, row in enumerate(rows):
            prompts[:, number, : len(row)] = np.array(row).T
        order = np.tile(np.arange(objects), (count, 1))
        if permuted:
            order = rng.permuted(order, axis=1)
        return Drawn(
            torch.from_numpy(prompts[0]),
            torch.from_numpy(prompts[1]),
            torch.from_numpy(self._models[order]),
            torch.from_numpy(np.take_along_axis(instances.poses[..., :2], order[..., None], axis=1)),
            torch.from_numpy(_listed(instances.labels, order)),
        )


def _classes(meaning: Meaning) -> tuple[int, ...]:
    said = dict(meaning)
    return tuple(values.index(said[part]) if part in said else -1 for part, values in CLASSES.items())


def _listed(labels: NDArray[np.int64], order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the labels with the places that objects have in a new order, of shape (n, s)."""
    places = np.argsort(order, axis=1)
    listed = labels.copy()
    for column in range(len(ROLES)):
        there = labels[:, column] >= 0
        listed[there, column] = places[there, labels[there, column]]
    return listed
