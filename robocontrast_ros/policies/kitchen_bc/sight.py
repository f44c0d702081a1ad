"""The network that finds things and fixtures of the kitchen in an image of ``agent``, in two stages.

It is the network of the tabletop's policy (``tabletop_bc.sight``) for one camera: the second stage looks at a place
closely, and at twice the width around it. Of a fixture it also estimates where its drawers, its door or its knob are.
Things are taken as standing on the table. Several things may be of one model; a fixture there is once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from robocontrast_ros.domain import PART
from robocontrast_ros.policies.kitchen_bc.cameras import on_table
from robocontrast_ros.policies.tabletop_bc.sight import (
    ABOVE,
    MOST,
    OFFSET,
    SQUARE,
    Kinds,
    Look,
    Sight,
    Thing,
    peaks,
    squares,
    yaw_seen,
)

SEARCHED = (60, 36, 136, 200)
"""First row, first column, rows and columns of the part of ``AGENT``'s window that is searched [pixel]."""

Span = tuple[str, float, float]
"""Name of a part, least and greatest position of its joint [m, or rad]."""


@dataclass(frozen=True)
class KitchenKinds(Kinds):
    """Properties of the models that the network distinguishes.

    Attributes:
        parts: of each model its parts, in the order of its file; none of what is no fixture.
    """

    parts: tuple[tuple[Span, ...], ...]

    @property
    def models(self) -> frozenset[str]:
        """The models of all things and parts."""
        parts = (f"{name}{PART}{part}" for name, own in zip(self.names, self.parts, strict=True) for part, *_ in own)
        return frozenset(self.names).union(parts)


@dataclass(frozen=True)
class Seen(Thing):
    """A thing or a fixture that was found; ``joints`` are the positions of its parts [m, or rad]."""

    joints: tuple[float, ...] = ()


@dataclass(frozen=True)
class KitchenLook(Look):
    """Output of the second stage; ``joints`` are the shares of the parts' ranges, shape (k, p)."""

    joints: Tensor


class KitchenSight(Sight):
    """The network; see the module's text."""

    PARTS: ClassVar = {"kinds": KitchenKinds}
    SEARCHED: ClassVar = SEARCHED

    kinds: KitchenKinds

    def __init__(self, kinds: KitchenKinds) -> None:
        """Make a network, with random weights, for things of some kinds."""
        super().__init__(kinds)
        self.joints_head = nn.Linear(self.offset_head.in_features, max(map(len, kinds.parts), default=0))

    def look(self, near: Tensor, far: Tensor) -> KitchenLook:
        """Return the things in the middle of squares of an image and of its ``half``, uint8, (k, SQUARE, SQUARE, 3)."""
        seen = self.both(torch.cat([self.from_top(self._cells(near)), self.from_front(self._cells(far))], dim=1))
        turn = self.turn_head(seen).unflatten(1, (-1, 4))
        return KitchenLook(self.models_head(seen), self.offset_head(seen), turn, self.joints_head(seen))

    @torch.no_grad()
    def find(self, agent: NDArray[np.uint8]) -> tuple[Seen, ...]:
        """Return the things in an image, by row and column of their places.

        Args:
            agent: window of ``AGENT``, shape (rows, columns, 3).
        """
        image = torch.from_numpy(np.ascontiguousarray(agent))[None]
        middles, heat = peaks(self.places(image), MOST, SEARCHED)
        if not len(heat):
            return ()
        corners = torch.from_numpy(square_corners(middles))
        look = self.look(squares(image, corners[0]), squares(half(image), corners[1]))
        likely = look.models.double().softmax(-1).numpy()
        offset, turn, joints = (part.double().numpy() for part in (look.offset, look.turn, look.joints))
        positions = on_table(middles + OFFSET * offset)
        found: dict[tuple[int, int], Seen] = {}
        for index, model in enumerate(likely.argmax(-1).tolist()):
            parts = self.kinds.parts[model]
            shares = np.clip(joints[index, : len(parts)], 0.0, 1.0).tolist()
            seen = Seen(
                model,
                *(float(value) for value in positions[index]),
                yaw_seen(turn[index, self.kinds.types[model]], self.kinds.symmetry[model]),
                float(heat[index]),
                float(likely[index, model]),
                tuple(low + share * (high - low) for share, (_, low, high) in zip(shares, parts, strict=True)),
            )
            # A fixture with parts there is once: where it is hottest.
            key = model, (0 if parts else index + 1)
            if key not in found or found[key].sure < seen.sure:
                found[key] = seen
        return tuple(found.values())


def half(images: Tensor) -> Tensor:
    """Return images of half the size, each pixel the mean of four, uint8, shape (n, rows / 2, columns / 2, 3)."""
    wide = images.to(torch.int16)
    tall = wide[:, 0::2] + wide[:, 1::2]
    return ((tall[:, :, 0::2] + tall[:, :, 1::2]) // 4).to(torch.uint8)


def square_corners(middles: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first column and row of the squares in an image and in its ``half``, shape (2, k, 2).

    Args:
        middles: column and row of places in ``AGENT``'s window [whole pixels], shape (k, 2).
    """
    return np.stack([middles, middles // 2]) - (SQUARE // 2, ABOVE)
