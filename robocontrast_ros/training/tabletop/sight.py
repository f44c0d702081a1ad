"""Training of the network that finds things on the table, on drawn images, and its measures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from robocontrast_ros.configuration import record
from robocontrast_ros.objects import ObjectModel
from robocontrast_ros.policies.networks import Batch, joined
from robocontrast_ros.policies.tabletop_bc.cameras import TOP
from robocontrast_ros.policies.tabletop_bc.sight import (
    OFFSET,
    Kinds,
    Look,
    Places,
    Sight,
    pixels_to_cells,
    square_corners,
    squares,
)
from robocontrast_ros.training.epochs import EpochTrainer, Training
from robocontrast_ros.training.tabletop.symmetry import symmetry
from robocontrast_ros.training.tabletop.views import StoredViews

SPREAD = 1.0
"""Standard deviation of the heat around the middle of a thing [cells]."""

MATCHED = 0.04
"""A thing counts as found if one is seen within this distance [m]."""


@record
class SightTraining(Training):
    """Parameters of the network's training."""

    shift: float = Field(ge=0, description="standard deviation of the shift of squares from their things [pixel]")


def kinds_of(names: Sequence[str], library: dict[str, ObjectModel]) -> Kinds:
    """Return the properties of models that the network needs, in the order of their names."""
    models = [library[name] for name in names]
    types = list(dict.fromkeys(model.type for model in models))
    turns = {model.type: symmetry(model) for model in models}
    return Kinds(
        tuple(names),
        tuple(types.index(model.type) for model in models),
        tuple(turns[model.type] for model in models),
        tuple(model.size for model in models),
    )


@dataclass(frozen=True)
class Scenes(Batch):
    """Images and the things in them as tensors; see ``StoredViews``.

    Attributes:
        top: uint8, shape (n, rows, columns, 3).
        front: likewise.
        models: -1 for none, shape (n, s).
        poses: x, y [m], yaw [rad], shape (n, s, 3).
        at_start: shape (n,).
    """

    top: Tensor
    front: Tensor
    models: Tensor
    poses: Tensor
    at_start: Tensor

    @classmethod
    def of(cls, paths: Iterable[Path]) -> tuple[tuple[str, ...], Scenes]:
        """Read shards; also return the names of the models."""
        parts = [vars(StoredViews.load(path)) for path in paths]
        names = [part.pop("names") for part in parts]
        return tuple(names[0].tolist()), cls(*joined(list(part.values()) for part in parts))


class SightTrainer(EpochTrainer[Sight]):
    """Trains both stages at once."""

    CHECKPOINT, SAMPLES = "sight.pt", "scenes"

    def __init__(self, parameters: SightTraining, kinds: Kinds, scenes: Scenes, held_out: Scenes) -> None:
        """Take the parameters, the models, and the images."""
        self._p, self._scenes, self._held_out = parameters, scenes, held_out
        self._types, self._symmetry = torch.tensor(kinds.types), torch.tensor(kinds.symmetry)
        super().__init__(lambda: Sight(kinds).to(memory_format=torch.channels_last), parameters, scenes, held_out)

    def validate(self) -> dict[str, float]:
        """Return measures over held-out images: with the arm at its start, and as ``arm_`` with it over the table."""
        clear = measures(self.network, self._held_out[self._held_out.at_start])
        hidden = measures(self.network, self._held_out[~self._held_out.at_start])
        return clear | {f"arm_{name}": hidden[name] for name in ("found", "model", "median_mm")}

    def _loss(self, index: Tensor, generator: torch.Generator) -> Tensor:
        scenes = self._scenes
        top, front, models, poses = scenes.top[index], scenes.front[index], scenes.models[index], scenes.poses[index]
        image, slot = torch.nonzero(models >= 0, as_tuple=True)
        models, poses = models[image, slot], poses[image, slot].double()
        ground = torch.cat([poses[:, :2], torch.zeros(len(poses), 1)], dim=1)
        middles = TOP.pixels(ground.numpy())
        shift = torch.randn(len(poses), 2, generator=generator) * self._p.shift
        about = np.rint(middles + shift.double().numpy()).astype(np.int64)
        corners = torch.from_numpy(square_corners(about))
        # Half the time on processors with bfloat16; the loss needs single precision.
        with torch.autocast("cpu", torch.bfloat16):
            places = self.network.places(top)
            look = self.network.look(squares(top, corners[0], image), squares(front, corners[1], image))
        cells = torch.from_numpy(pixels_to_cells(middles)).float()
        offset = torch.from_numpy((middles - about) / OFFSET).float()
        turn = turn_of(self._symmetry[models], poses[:, 2])
        chosen = look.turn.float()[torch.arange(len(models)), self._types[models]]
        return place_loss(Places(places.heat.float(), places.offset.float()), image, cells) + look_loss(
            Look(look.models.float(), look.offset.float(), chosen), models, offset, turn
        )


def turn_of(times: Tensor, yaw: Tensor) -> Tensor:
    """Return cosine and sine of yaw times symmetry, and of twice that; 0 for round things, shape (k, 4)."""
    angle = times * yaw
    turn = torch.stack([angle.cos(), angle.sin(), (2 * angle).cos(), (2 * angle).sin()], dim=-1)
    return (turn * (times > 0)[:, None]).float()


def place_loss(places: Places, image: Tensor, cells: Tensor) -> Tensor:
    """Return the loss of the first stage.

    The heat has the penalty-reduced focal loss of CenterNet (Zhou et al. 2019, Objects as Points).

    Args:
        places: output for n images.
        image: index of the image of each of k things, shape (k,).
        cells: column and row of its middle [cells], shape (k, 2).
    """
    rows, columns = (torch.arange(size) for size in places.heat.shape[1:])
    off = cells[:, None, None, :] - torch.stack(torch.meshgrid(columns, rows, indexing="xy"), dim=-1)
    nearest = (off.abs() <= 0.5).all(dim=-1)
    around = (-(off**2).sum(-1) / (2 * SPREAD**2)).exp()
    index = image[:, None, None].expand_as(around)
    heat = torch.zeros_like(places.heat).scatter_reduce_(0, index, around.to(places.heat.dtype), "amax")
    peak = torch.zeros_like(places.heat).scatter_reduce_(0, index, nearest.to(heat.dtype), "amax")
    likely = places.heat.sigmoid()
    positive = peak * (1 - likely) ** 2 * functional.logsigmoid(places.heat)
    negative = (1 - peak) * (1 - heat) ** 4 * likely**2 * functional.logsigmoid(-places.heat)
    close = (off.abs() < 1.5).all(dim=-1)
    which, row, column = torch.nonzero(close, as_tuple=True)
    predicted = places.offset[image[which], :, row, column]
    offset = functional.smooth_l1_loss(predicted, off[which, row, column])
    return -(positive + negative).sum() / max(len(image), 1) + offset


def look_loss(look: Look, models: Tensor, offset: Tensor, turn: Tensor) -> Tensor:
    """Return the loss of the second stage; ``look.turn`` is that of the true types, shape (k, 4)."""
    of_turn = functional.smooth_l1_loss(look.turn, turn, beta=0.2, reduction="none") * (turn != 0).any(-1, keepdim=True)
    return (
        functional.cross_entropy(look.models, models)
        + 4.0 * functional.smooth_l1_loss(look.offset, offset, beta=0.1)
        + 2.0 * of_turn.mean()
    )


def measures(network: Sight, scenes: Scenes) -> dict[str, float]:
    """Return measures of the things that are found, each image on its own.

    Returns:
        ``found``: share of things with one seen nearby; ``extra``: number seen that match no thing, per image;
        ``model``, ``type``: shares of those found with the right one; ``median_mm``, ``p95_mm``: of their distances;
        ``yaw_deg``, ``yaw_p95_deg``: of the angles of those that are not round and of the right type. NaN of nothing.
    """
    network.eval()
    kinds, rows, extra, things = network.kinds, [], 0, 0
    for index in range(len(scenes)):
        seen = network.find(scenes.top[index].numpy(), scenes.front[index].numpy())
        standing = scenes.models[index] >= 0
        models, poses = scenes.models[index][standing].tolist(), scenes.poses[index][standing].double().numpy()
        things += len(models)
        taken: set[int] = set()
        for model, pose in zip(models, poses, strict=True):
            off = [math.dist(pose[:2], (thing.x, thing.y)) for thing in seen]
            nearest = int(np.argmin(off)) if off else -1
            if nearest < 0 or off[nearest] > MATCHED or nearest in taken:
                continue
            taken.add(nearest)
            thing, times = seen[nearest], kinds.symmetry[model]
            same_type = kinds.types[thing.model] == kinds.types[model]
            angle = math.nan
            if times and same_type:
                angle = math.degrees(abs(math.remainder(times * (thing.yaw - pose[2]), math.tau))) / times
            rows.append((thing.model == model, same_type, 1e3 * off[nearest], angle))
        extra += len(seen) - len(taken)
    right, types, off, angles = np.array(rows, dtype=float).reshape(-1, 4).T
    angles = angles[~np.isnan(angles)]
    return {
        "found": len(rows) / things if things else math.nan,
        "extra": extra / len(scenes) if len(scenes) else math.nan,
        "model": _quantile(right),
        "type": _quantile(types),
        "median_mm": _quantile(off, 0.5),
        "p95_mm": _quantile(off, 0.95),
        "yaw_deg": _quantile(angles, 0.5),
        "yaw_p95_deg": _quantile(angles, 0.95),
    }


def _quantile(values: NDArray[np.float64], share: float | None = None) -> float:
    """Return a quantile, or the mean without a share; NaN of nothing."""
    if not len(values):
        return math.nan
    return float(values.mean() if share is None else np.quantile(values, share))
