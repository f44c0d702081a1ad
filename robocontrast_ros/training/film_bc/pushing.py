"""Training of the network that chooses actions, on demonstrations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from robocontrast_ros.configuration import record
from robocontrast_ros.policies.film_bc.model import (
    STEP,
    UNIT,
    FilmBc,
    Sizes,
    Slots,
    direction_loss,
    displacement,
    turns,
)
from robocontrast_ros.policies.networks import Batch, joined
from robocontrast_ros.training.epochs import EpochTrainer, Training
from robocontrast_ros.training.film_bc.demonstrations import Shard
from robocontrast_ros.training.film_bc.wordings import Wordings


@record
class FilmBcTraining(Training):
    """Parameters of the network's training."""

    position_noise: float = Field(ge=0, description="standard deviation added to blocks' positions [m]")
    yaw_noise: float = Field(ge=0, description="standard deviation added to blocks' yaws [rad]")
    word_noise: float = Field(ge=0, description="length of the noise added to an instruction's unit vector")
    held_out: float = Field(gt=0, lt=1, description="share of the sentences kept for validation")
    language: int = Field(default=128, gt=0, description="units that code an instruction")
    trunk: int = Field(default=256, gt=0, description="units of the layers that find the action")


@dataclass(frozen=True)
class Steps(Batch):
    """Steps of demonstrations as tensors; see ``Shard``.

    Attributes:
        tool: shape (n, 2) [m].
        blocks: x, y [m] and yaw [rad], shape (n, b, 3).
        start: the same when the episode began.
        goal: shape (n, 2) [m].
        action: shape (n, 2) [m].
        condition: source and target block, shape (n, 2).
        meaning: index of the instruction's meaning in the wordings, shape (n,).
    """

    tool: Tensor
    blocks: Tensor
    start: Tensor
    goal: Tensor
    action: Tensor
    condition: Tensor
    meaning: Tensor

    @classmethod
    def of(cls, paths: Sequence[Path], wordings: Wordings) -> Steps:
        """Read shards."""
        meaning_of = dict(zip(wordings.texts.tolist(), wordings.meanings.tolist(), strict=True))
        parts = []
        for path in paths:
            s = Shard.load(path)
            meanings = np.array([meaning_of[text] for text in s.texts.tolist()])
            of_steps = s.conditions[s.episode], meanings[s.episode]
            parts.append((s.tool, s.blocks, s.start, s.goal, s.action, *of_steps))
        return cls(*joined(parts))


class Words:
    """Draws a sentence for a meaning, from the training or the validation sentences."""

    def __init__(self, wordings: Wordings, share: float, seed: int, device: torch.device) -> None:
        """Hold out a share of each meaning's sentences, at least one; a meaning's only sentence serves for both."""
        rng = np.random.default_rng(seed)
        kept, held = [], []
        ends = np.flatnonzero(np.diff(wordings.meanings, append=-1)) + 1
        for first, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True):
            order = first + rng.permutation(end - first)
            cut = max(round(share * len(order)), 1 if len(order) > 1 else 0)
            held.append(order[:cut] if cut else order)
            kept.append(order[cut:])
        self._vectors = torch.from_numpy(wordings.vectors).to(device)
        self._pools = {name: _Pool(groups, device) for name, groups in (("kept", kept), ("held", held))}

    def draw(self, meaning: Tensor, pool: str, generator: torch.Generator) -> Tensor:
        """Return a vector for each meaning, from the pool ``kept`` or ``held``."""
        chosen = self._pools[pool]
        share = torch.rand(len(meaning), generator=generator).to(meaning.device)
        place = chosen.first[meaning] + (share * chosen.count[meaning]).long()
        return self._vectors[chosen.order[place]].float()


class _Pool:
    def __init__(self, groups: list[np.ndarray], device: torch.device) -> None:
        count = np.array([len(group) for group in groups])
        self.order = torch.from_numpy(np.concatenate(groups)).to(device)
        self.count = torch.from_numpy(count).to(device)
        self.first = torch.from_numpy(np.cumsum(count) - count).to(device)


class Trainer(EpochTrainer[FilmBc]):
    """Trains the network that chooses actions."""

    CHECKPOINT, SAMPLES = "network.pt", "steps"
    CLIP = 1.0

    def __init__(
        self, parameters: FilmBcTraining, names: tuple[str, ...], steps: Steps, held_out: Steps, words: Words
    ) -> None:
        """Take the parameters, the blocks' names, and the data on the device to train on."""
        self._p, self._steps, self._held_out, self._words = parameters, steps, held_out, words
        sizes = Sizes(language=parameters.language, trunk=parameters.trunk)
        super().__init__(lambda: FilmBc(names, sizes), parameters, steps, held_out, steps.tool.device)

    def start_from(self, network: FilmBc) -> None:
        """Begin with another network's weights."""
        self.network.load_state_dict(network.state_dict())

    @torch.no_grad()
    def validate(self) -> dict[str, float]:
        """Return measures over validation steps and sentences."""
        self.network.eval()
        generator = torch.Generator().manual_seed(0)
        steps = self._held_out
        words = self._words.draw(steps.meaning, "held", generator)
        answer = self.network(self._slots(steps), words)
        action = displacement(answer)
        moving = steps.action.norm(dim=-1) > 1e-4
        cosine = functional.cosine_similarity(action, steps.action, dim=-1)[moving].clamp(-1, 1)
        angle = torch.rad2deg(torch.arccos(cosine))
        _, target = _condition(steps, len(self.network.names))
        return {
            "source": float((answer.source.argmax(-1) == steps.condition[:, 0]).float().mean()),
            "target": float((answer.target.argmax(-1) == target).float().mean()),
            "goal_mm": 1e3 * float((answer.goal - steps.goal).norm(dim=-1).median()),
            "angle_deg": float(angle.median()),
            "angle_under_30": float((angle < 30).float().mean()),
            "direction": float(direction_loss(answer, steps.action)[moving].mean()),
        }

    def _loss(self, index: Tensor, generator: torch.Generator) -> Tensor:
        batch = self._steps[index]
        words = self._words.draw(batch.meaning, "kept", generator)
        noise = torch.randn(words.shape, generator=generator).to(self._device)
        words = words + noise * (self._p.word_noise / words.shape[-1] ** 0.5)
        answer = self.network(self._noisy(batch, generator), words)
        source, target = _condition(batch, len(self.network.names))
        moving = (batch.action.norm(dim=-1) > 1e-4).float()
        direction = (direction_loss(answer, batch.action) * moving).sum() / moving.sum()
        length = functional.smooth_l1_loss(answer.length / STEP, batch.action.norm(dim=-1) / STEP, beta=0.2)
        goal = functional.smooth_l1_loss(answer.goal / UNIT, batch.goal / UNIT, beta=0.1)
        read = functional.cross_entropy(answer.source, source) + functional.cross_entropy(answer.target, target)
        return direction + length + 2 * goal + 0.5 * read

    def _noisy(self, batch: Steps, generator: torch.Generator) -> Slots:
        p = self._p
        if not p.position_noise and not p.yaw_noise:
            return self._slots(batch)

        def normal(like: Tensor, scale: float) -> Tensor:
            return torch.randn(like.shape, generator=generator).to(self._device) * scale

        def shaken(blocks: Tensor) -> Tensor:
            places, yaws = blocks[..., :2], blocks[..., 2:]
            return torch.cat([places + normal(places, p.position_noise), yaws + normal(yaws, p.yaw_noise)], -1)

        return self._slots(replace(batch, blocks=shaken(batch.blocks), start=shaken(batch.start)))

    def _slots(self, steps: Steps) -> Slots:
        return Slots(
            steps.tool,
            steps.blocks[..., :2],
            turns(steps.blocks[..., 2], self.network.symmetry),
            steps.start[..., :2],
        )


def _condition(steps: Steps, none: int) -> tuple[Tensor, Tensor]:
    """Return source and target; no target is the class after the last block."""
    source, target = steps.condition.unbind(-1)
    return source, torch.where(target < 0, none, target)
