"""The model card of policies for the kitchen and the suite: their training data and validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robocontrast_ros.training.card import Card
from robocontrast_ros.training.kitchen.demonstrations import Shard
from robocontrast_ros.training.kitchen.sight import KitchenScenes

TRAINED_ON = """\
Demonstrations of the oracle in the embedded world, with noise and drifts in what was executed, not in what was
learned; the first twentieth of the shards, at least one, was kept for validation."""


@dataclass(frozen=True)
class Data:
    """Numbers of the data for the network's training and validation.

    Attributes:
        kept: demonstrated problem -> its trials that succeeded.
        tried: demonstrated problem -> its trials that were begun.
        modified: those of them whose scene was modified.
        steps: control steps of the trials kept.
        models: number of models of things in them.
        things: least and greatest number of things in a scene; each moving part is one.
        held_out: problems that were not demonstrated.
    """

    kept: dict[str, int]
    tried: dict[str, int]
    modified: int
    steps: int
    models: int
    things: tuple[int, int]
    held_out: tuple[str, ...] = ()

    @classmethod
    def of(cls, demonstrations: Sequence[Path]) -> Data:
        """Count the content of the shards of demonstrations."""
        shards = [Shard.load(path) for path in demonstrations]
        names = shards[0].problems.tolist()
        own = np.concatenate([shard.problem[shard.part == 0] for shard in shards])
        kept, tried = np.bincount(own, minlength=len(names)), np.sum([shard.tried for shard in shards], axis=0)
        numbers = [dict(zip(names, each.tolist(), strict=True)) for each in (kept, tried)]
        begun = [name for name in names if numbers[1][name]]
        counts = np.concatenate([(shard.models >= 0).sum(axis=1) for shard in shards])
        return cls(
            *({name: each[name] for name in begun} for each in numbers),
            int(sum(shard.altered.sum() for shard in shards)),
            sum(len(shard.episode) for shard in shards),
            len(np.unique(np.concatenate([shard.models[shard.models >= 0] for shard in shards]))),
            (int(counts.min()), int(counts.max())),
            tuple(name for name in names if name not in begun),
        )

    def described(self) -> str:
        """Return it as a list in Markdown."""
        tried, kept = sum(self.tried.values()), sum(self.kept.values())
        least = min(self.kept, key=lambda name: self.kept[name] / max(self.tried[name], 1))
        lines = [
            f"{kept} episodes of {tried} that were begun, {self.steps} control steps, of {len(self.kept)} problems; "
            f"fewest succeeded of {least}, {self.kept[least]} of {self.tried[least]}",
            f"{self.modified} of those begun in a scene with one modification"
            if self.modified
            else "no modified scenes",
            "{} models of things, {} to {} things in a scene, each moving part counted".format(
                self.models, *self.things
            ),
        ]
        if self.held_out:
            lines.append(f"{len(self.held_out)} problems were not demonstrated: {', '.join(self.held_out)}")
        return "\n".join(f"- {line}" for line in lines)


def model_card(name: str, task: str, session: str, data: Data) -> Card:
    """Return the card of a policy with its training data.

    Args:
        name: of the policy.
        task: name of its task.
        session: name of the session that measures success.
        data: numbers of its training data.
    """
    return Card(
        names=(name,),
        task=f"{task}, {len(data.kept)} of its problems",
        action="tool_delta, displacement [m] and rotation vector [rad] of the tool a step, and the gripper",
        format="PyTorch state dict with sizes and the catalogue of things",
        encoder="sentences by all-MiniLM-L6-v2",
        trained_on=f"{TRAINED_ON}\n\n{data.described()}",
        validated_on="On episodes that were not trained on; `_near` 10 mm from a grasp, 20 mm from a place, 0.1 rad.",
        session=session,
    )


@dataclass(frozen=True)
class SightData:
    """Numbers of the images for the training and validation of the network that sees.

    Attributes:
        images: number of images to train on, and held out.
        at_start: number of those to train on with the arm at its start.
        models: number of models of things and fixtures in them.
    """

    images: tuple[int, int]
    at_start: int
    models: int

    @classmethod
    def of(cls, scenes: KitchenScenes, held_out: KitchenScenes) -> SightData:
        """Count images."""
        models = len(scenes.models[scenes.models >= 0].unique())
        return cls((len(scenes), len(held_out)), int(scenes.at_start.sum()), models)

    def described(self) -> str:
        """Return it as a list in Markdown."""
        trained_on, held_out = self.images
        lines = [
            f"{trained_on} images of scenes drawn without physics, {self.at_start} of them with the arm at its start, "
            f"and {held_out} held out",
            f"{self.models} models of things and fixtures; no modified scenes",
        ]
        return "\n".join(f"- {line}" for line in lines)


def sight_card(name: str, data: SightData) -> Card:
    """Return the card of a policy that sees, with the training data of its sight."""
    return Card(
        names=(name,),
        task="kitchen",
        action="tool_delta, displacement [m] and rotation vector [rad] of the tool a step, and the gripper",
        format="PyTorch state dict with the kinds of things",
        encoder="sentences by all-MiniLM-L6-v2",
        trained_on=data.described(),
        validated_on="On images that were not trained on; `arm_` with the arm over the table, 95 % are below `_p95`, "
        "`fixed_mm`, `slide_mm` and `hinge_deg`.",
        session="kitchen_skills",
    )
