"""Training of the network that finds the blocks, on the images of demonstrations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from pydantic import Field
from torch import Tensor

from robocontrast_ros.configuration import record
from robocontrast_ros.policies.film_bc.keypoints import Keypoints, Sighting, keypoint_loss
from robocontrast_ros.policies.film_bc.model import symmetries, turns
from robocontrast_ros.policies.film_bc.tracking import HIDDEN
from robocontrast_ros.policies.networks import Batch, joined
from robocontrast_ros.training.epochs import EpochTrainer, Training
from robocontrast_ros.training.film_bc.demonstrations import Shard


@record
class KeypointTraining(Training):
    """Parameters of the network's training."""

    width: int = Field(default=32, gt=0, description="channels")


@dataclass(frozen=True)
class BlockImages(Batch):
    """Images and the true poses of the blocks.

    Attributes:
        images: uint8, shape (n, 3, height, width).
        blocks: x, y [m] and yaw [rad], shape (n, b, 3).
    """

    images: Tensor
    blocks: Tensor

    @classmethod
    def of(cls, paths: Sequence[Path]) -> BlockImages:
        """Read the images of shards."""
        shards = [Shard.load(path) for path in paths]
        images, blocks = joined((shard.images, shard.blocks[shard.image_step]) for shard in shards)
        return cls(images.permute(0, 3, 1, 2).contiguous(memory_format=torch.channels_last), blocks)


class KeypointTrainer(EpochTrainer[Keypoints]):
    """Trains the network that finds the blocks."""

    CHECKPOINT, SAMPLES = "keypoints.pt", "images"

    def __init__(
        self, parameters: KeypointTraining, names: tuple[str, ...], views: BlockImages, held_out: BlockImages
    ) -> None:
        """Take the parameters, the blocks' names, and the data on the device to train on."""
        self._p, self._views, self._held_out = parameters, views, held_out
        self._symmetry = symmetries(names).to(views.images.device)

        def make() -> Keypoints:
            return Keypoints(names, parameters.width).to(memory_format=torch.channels_last)

        super().__init__(make, parameters, views, held_out, views.images.device)

    @torch.no_grad()
    def validate(self) -> dict[str, float]:
        """Return errors over validation images; ``far`` is the share of errors over 20 mm."""
        self.network.eval()
        found = [self.network.find(images) for images in self._held_out.images.split(self._p.batch)]
        position = torch.cat([f.position for f in found])
        turn = torch.cat([f.turn for f in found])
        seen = torch.cat([f.sure for f in found]) >= HIDDEN
        blocks = self._held_out.blocks
        error = 1e3 * (position - blocks[..., :2]).norm(dim=-1)
        cosine = (turn * turns(blocks[..., 2], self._symmetry)).sum(-1).clamp(-1, 1)
        angle = torch.rad2deg(torch.arccos(cosine)) / self._symmetry
        return {
            "median_mm": float(error.median()),
            "p95_mm": float(error.flatten().quantile(0.95)),
            "far": float((error > 20).float().mean()),
            "hidden": float((~seen).float().mean()),
            "far_of_seen": float((error[seen] > 20).float().mean()),
            "yaw_deg": float(angle.median()),
        }

    def _loss(self, index: Tensor, generator: torch.Generator) -> Tensor:
        blocks = self._views.blocks[index]
        # Half the time on processors with bfloat16; the loss needs single precision.
        with torch.autocast(self._device.type, torch.bfloat16):
            seen = self.network(self._views.images[index])
        seen = Sighting(seen.heat.float(), seen.turn.float())
        return keypoint_loss(seen, blocks[..., :2], turns(blocks[..., 2], self._symmetry))
