"""The model card of policies for the tabletop: their training data and validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robocontrast_ros.tasks.tabletop.parameters import FAMILIES
from robocontrast_ros.training.card import Card
from robocontrast_ros.training.tabletop.demonstrations import Shard

TRAINED_ON = """\
Demonstrations of the oracle in the embedded world, with noise and drifts in what was executed, not in what was
learned; the first twentieth of the shards, at least one, was kept for validation."""


@dataclass(frozen=True)
class Data:
    """Numbers of the data for the networks' training and validation.

    Attributes:
        kept: episodes of each skill that succeeded, in the order of ``FAMILIES``.
        tried: episodes of each skill that were begun.
        steps: control steps of the episodes kept.
        models: number of models of objects in them.
        things: least and greatest number of objects in a scene.
        instructions: number in scenes without physics, 0 if the network that understands was given; then of those
            held out.
        images: number by each camera of scenes without physics, 0 for none; then of those held out.
    """

    kept: tuple[int, ...]
    tried: tuple[int, ...]
    steps: int
    models: int
    things: tuple[int, int]
    instructions: tuple[int, int]
    images: tuple[int, int]

    @classmethod
    def of(cls, demonstrations: Sequence[Path], instructions: tuple[int, int], images: tuple[int, int]) -> Data:
        """Count the content of the shards of demonstrations."""
        shards = [Shard.load(path) for path in demonstrations]
        kept = np.sum([np.bincount(shard.skill, minlength=len(FAMILIES)) for shard in shards], axis=0)
        tried = np.sum([shard.tried for shard in shards], axis=0)
        counts = np.concatenate([(shard.models >= 0).sum(axis=1) for shard in shards])
        return cls(
            tuple(kept.tolist()),
            tuple(tried.tolist()),
            sum(len(shard.episode) for shard in shards),
            len(np.unique(np.concatenate([shard.models[shard.models >= 0] for shard in shards]))),
            (int(counts.min()), int(counts.max())),
            instructions,
            images,
        )

    def described(self) -> str:
        """Return it as a list in Markdown."""
        least, most = self.things
        by_skill = ", ".join(
            f"{family} {kept} of {tried}" for family, kept, tried in zip(FAMILIES, self.kept, self.tried, strict=True)
        )
        lines = [
            f"{sum(self.kept)} episodes, {self.steps} control steps; those that succeeded, of those tried: {by_skill}",
            f"{self.models} models of objects, {least} to {most} of them in a scene",
            "{} instructions in scenes drawn without physics, and {} held out".format(*self.instructions)
            if self.instructions[0]
            else "no instructions: the network that understands them was given, trained before",
        ]
        if self.images[0]:
            lines.append(
                "{} images by each camera of scenes drawn without physics, and {} held out".format(*self.images)
            )
        return "\n".join(f"- {line}" for line in lines)


def model_card(names: Sequence[str], data: Data) -> Card:
    """Return the card of policies with their training data."""
    return Card(
        names=tuple(names),
        task=f"tabletop, skills {', '.join(FAMILIES)}",
        action="tool_delta, displacement [m] and rotation vector [rad] of the tool a step, and the gripper",
        format="PyTorch state dicts with sizes and the catalogue of objects",
        encoder="tokens of all-MiniLM-L6-v2",
        trained_on=f"{TRAINED_ON}\n\n{data.described()}",
        validated_on="On steps, instructions and images that were not trained on.",
        session="tabletop_contrast",
    )
