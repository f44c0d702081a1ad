"""Training of the network that finds things in the kitchen, on drawn images, and its measures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from robocontrast_ros.objects import ObjectModel
from robocontrast_ros.policies.kitchen_bc.cameras import AGENT
from robocontrast_ros.policies.kitchen_bc.sight import SEARCHED, KitchenKinds, KitchenSight, half, square_corners
from robocontrast_ros.policies.networks import Batch, joined
from robocontrast_ros.policies.tabletop_bc.sight import OFFSET, Look, pixels_to_cells, squares
from robocontrast_ros.training.epochs import EpochTrainer
from robocontrast_ros.training.kitchen.views import StoredKitchenViews
from robocontrast_ros.training.tabletop.sight import MATCHED, SightTraining, look_loss, place_loss, turn_of
from robocontrast_ros.training.tabletop.symmetry import symmetry


def kinds_of(names: Sequence[str], models: Mapping[str, ObjectModel]) -> KitchenKinds:
    """Return the properties of models that the network needs, in the order of their names."""
    known = [models[name] for name in names]
    types = list(dict.fromkeys(model.type for model in known))
    # Places in and on a fixture are relative to its front, so it has no equal turns.
    turns = {model.type: 1 if model.fixed else symmetry(model) for model in known}
    return KitchenKinds(
        tuple(names),
        tuple(types.index(model.type) for model in known),
        tuple(turns[model.type] for model in known),
        tuple(model.size for model in known),
        tuple(tuple((part.name, *part.joint.range) for part in model.joints) for model in known),
    )


@dataclass(frozen=True)
class KitchenScenes(Batch):
    """Images and the things in them as tensors; see ``StoredKitchenViews``.

    Attributes:
        agent: uint8, shape (n, rows, columns, 3).
        models: -1 for none, shape (n, s).
        poses: x, y [m], yaw [rad], shape (n, s, 3).
        joints: positions of parts [m, or rad], shape (n, s, p).
        at_start: shape (n,).
    """

    agent: Tensor
    models: Tensor
    poses: Tensor
    joints: Tensor
    at_start: Tensor

    @classmethod
    def of(cls, paths: Iterable[Path]) -> tuple[tuple[str, ...], KitchenScenes]:
        """Read shards; also return the names of the models."""
        parts = [vars(StoredKitchenViews.load(path)) for path in paths]
        names = [part.pop("names") for part in parts]
        return tuple(names[0].tolist()), cls(*joined(list(part.values()) for part in parts))


class KitchenSightTrainer(EpochTrainer[KitchenSight]):
    """Trains both stages at once."""

    CHECKPOINT, SAMPLES = "sight.pt", "scenes"

    def __init__(
        self, parameters: SightTraining, kinds: KitchenKinds, scenes: KitchenScenes, held_out: KitchenScenes
    ) -> None:
        """Take the parameters, the models, and the images."""
        self._p, self._scenes, self._held_out = parameters, scenes, held_out
        self._types, self._symmetry = torch.tensor(kinds.types), torch.tensor(kinds.symmetry)
        count = max(map(len, kinds.parts))
        self._low, self._span = torch.zeros(len(kinds.parts), count), torch.zeros(len(kinds.parts), count)
        for model, parts in enumerate(kinds.parts):
            for index, (_, low, high) in enumerate(parts):
                self._low[model, index], self._span[model, index] = low, high - low
        super().__init__(
            lambda: KitchenSight(kinds).to(memory_format=torch.channels_last), parameters, scenes, held_out
        )

    def validate(self) -> dict[str, float]:
        """Return measures over held-out images: with the arm at its start, and as ``arm_`` with it over the table."""
        clear = measures(self.network, self._held_out[self._held_out.at_start])
        hidden = measures(self.network, self._held_out[~self._held_out.at_start])
        return clear | {f"arm_{name}": hidden[name] for name in ("found", "model", "median_mm") if name in hidden}

    def _loss(self, index: Tensor, generator: torch.Generator) -> Tensor:
        scenes = self._scenes
        agent, models, poses, joints = (
            part[index] for part in (scenes.agent, scenes.models, scenes.poses, scenes.joints)
        )
        image, slot = torch.nonzero(models >= 0, as_tuple=True)
        models, poses, joints = models[image, slot], poses[image, slot].double(), joints[image, slot]
        ground = torch.cat([poses[:, :2], torch.zeros(len(poses), 1)], dim=1)
        middles = AGENT.pixels(ground.numpy())
        shift = torch.randn(len(poses), 2, generator=generator) * self._p.shift
        about = np.rint(middles + shift.double().numpy()).astype(np.int64)
        corners = torch.from_numpy(square_corners(about))
        places = self.network.places(agent)
        look = self.network.look(squares(agent, corners[0], image), squares(half(agent), corners[1], image))
        cells = torch.from_numpy(pixels_to_cells(middles, SEARCHED)).float()
        offset = torch.from_numpy((middles - about) / OFFSET).float()
        turn = turn_of(self._symmetry[models], poses[:, 2])
        chosen = look.turn[torch.arange(len(models)), self._types[models]]
        span = self._span[models]
        shares = (joints - self._low[models]) / span.clamp_min(1e-6)
        off = functional.smooth_l1_loss(look.joints, shares, beta=0.05, reduction="none") * (span > 0)
        return (
            place_loss(places, image, cells)
            + look_loss(Look(look.models, look.offset, chosen), models, offset, turn)
            + 4.0 * off.sum() / max(len(models), 1)
        )


def measures(network: KitchenSight, scenes: KitchenScenes) -> dict[str, float]:
    """Return measures of the things that are found, each image on its own.

    Returns:
        ``found``: share of things with one seen nearby; ``extra``: number seen that match no thing, per image;
        ``model``: share of those found with the right one; ``median_mm``, ``p95_mm``: of their distances; ``fixed_mm``:
        the latter of fixtures; ``yaw_deg``, ``yaw_p95_deg``: of those that are not round; ``slide_mm``, ``hinge_deg``:
        95 % of the positions of parts are off by less. Those without any are left out.
    """
    network.eval()
    kinds, rows, extra, things = network.kinds, [], 0, 0
    slides, hinges = [], []
    for index in range(len(scenes)):
        seen = network.find(scenes.agent[index].numpy())
        standing = scenes.models[index] >= 0
        models, poses = scenes.models[index][standing].tolist(), scenes.poses[index][standing].double().numpy()
        joints = scenes.joints[index][standing].double().numpy()
        things += len(models)
        taken: set[int] = set()
        for model, pose, positions in zip(models, poses, joints, strict=True):
            off = [math.dist(pose[:2], (thing.x, thing.y)) for thing in seen]
            nearest = int(np.argmin(off)) if off else -1
            if nearest < 0 or off[nearest] > MATCHED or nearest in taken:
                continue
            taken.add(nearest)
            thing, times = seen[nearest], kinds.symmetry[model]
            right = thing.model == model
            angle = math.nan
            if times and right:
                angle = math.degrees(abs(math.remainder(times * (thing.yaw - pose[2]), math.tau))) / times
            rows.append((right, 1e3 * off[nearest], angle, bool(kinds.parts[model])))
            if right:
                for (_, low, high), true, got in zip(kinds.parts[model], positions, thing.joints, strict=False):
                    if high - low < 0.5:
                        slides.append(1e3 * abs(true - got))
                    else:
                        hinges.append(math.degrees(abs(true - got)))
        extra += len(seen) - len(taken)
    right, off, angles, fixed = np.array(rows, dtype=float).reshape(-1, 4).T
    quantiles = {
        "median_mm": (off, 0.5),
        "p95_mm": (off, 0.95),
        "fixed_mm": (off[fixed > 0], 0.95),
        "yaw_deg": (angles[~np.isnan(angles)], 0.5),
        "yaw_p95_deg": (angles[~np.isnan(angles)], 0.95),
        "slide_mm": (np.array(slides), 0.95),
        "hinge_deg": (np.array(hinges), 0.95),
    }
    counts = {"found": len(rows) / max(things, 1), "extra": extra / max(len(scenes), 1)}
    counts |= {"model": float(right.mean())} if len(right) else {}
    return counts | {
        key: float(np.quantile(values, share)) for key, (values, share) in quantiles.items() if len(values)
    }
