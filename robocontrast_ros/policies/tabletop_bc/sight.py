"""The network that finds things on the table in the images of ``top`` and ``front``, in two stages.

The first finds places: a heat map over the region as ``top`` sees it, with a cell for every 4 x 4 pixels, and from each
cell the way to the middle of the thing. The second takes a square around each place in both images, and estimates the
thing's model among all, its exact place and its yaw. A scene has at most one thing of each model, so two places that
look alike get different ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from robocontrast_ros.policies.networks import Network
from robocontrast_ros.policies.tabletop_bc.cameras import FRONT, TOP, on_table

STRIDE = 4
SEARCHED = (12, 24, 104, 192)
"""First row, first column, rows and columns of the part of ``TOP``'s window that is searched [pixel]."""

ROWS, COLUMNS = SEARCHED[2] // STRIDE, SEARCHED[3] // STRIDE

SQUARE = 64
"""Side of the squares that the second stage looks at [pixel]."""

ABOVE = 44
"""Rows of the square in ``front`` that are above the place, because things are higher than the table."""

OFFSET = 8.0
"""Scale of offsets within a square [pixel]."""

FOUND = 0.3
"""Least heat of a place."""

MOST = 24
"""Limit of the places that are looked at: the hottest ones."""


@dataclass(frozen=True)
class Kinds:
    """Properties of the models that the network distinguishes.

    Attributes:
        names: of the models.
        types: index of each model's type, shape (m,).
        symmetry: number of equal turns about the vertical of each, 0 for a round one, shape (m,).
        sizes: of the boxes around them along x, y, z [m], shape (m, 3).
    """

    names: tuple[str, ...]
    types: tuple[int, ...]
    symmetry: tuple[int, ...]
    sizes: tuple[tuple[float, float, float], ...]


@dataclass(frozen=True)
class Thing:
    """A thing that was found.

    Attributes:
        model: index into the names of ``Kinds``.
        x, y: [m].
        yaw: [rad], one of those that are equal by symmetry; 0 for a round thing.
        sure: heat of its place, 0 to 1.
        likely: probability of the model.
    """

    model: int
    x: float
    y: float
    yaw: float
    sure: float
    likely: float


@dataclass(frozen=True)
class Places:
    """Output of the first stage for n images.

    Attributes:
        heat: logits, shape (n, ROWS, COLUMNS).
        offset: column and row from a cell's middle to that of the thing [cells], shape (n, 2, ROWS, COLUMNS).
    """

    heat: Tensor
    offset: Tensor


@dataclass(frozen=True)
class Look:
    """Output of the second stage for k places and t types.

    Attributes:
        models: logits, shape (k, m).
        offset: column and row from the middle of the square to that of the thing [OFFSET pixels], shape (k, 2).
        turn: cosine and sine of yaw times symmetry, and the same of twice that, for each type, shape (k, t, 4).
    """

    models: Tensor
    offset: Tensor
    turn: Tensor


def _layer(inputs: int, outputs: int, stride: int = 1) -> list[nn.Module]:
    return [
        nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
    ]


def _tower() -> nn.Sequential:
    return nn.Sequential(
        *_layer(STRIDE**2 * 3, 64),
        *_layer(64, 128, stride=2),
        *_layer(128, 128),
        *_layer(128, 128, stride=2),
        nn.Flatten(),
    )


class Sight(Network):
    """The network; see the module's text."""

    PARTS: ClassVar = {"kinds": Kinds}
    HALF = True
    SEARCHED: ClassVar = SEARCHED

    def __init__(self, kinds: Kinds) -> None:
        """Make a network, with random weights, for things of some kinds."""
        super().__init__()
        self.kinds = kinds
        self.near = nn.Sequential(*_layer(STRIDE**2 * 3, 48))
        self.far = nn.Sequential(
            *_layer(48, 96, stride=2), *_layer(96, 96), *_layer(96, 96), *_layer(96, 96), nn.PixelShuffle(2)
        )
        self.places_head = nn.Sequential(*_layer(48 + 24, 32), nn.Conv2d(32, 3, 1))
        self.from_top, self.from_front = _tower(), _tower()
        cells = 128 * (SQUARE // 16) ** 2
        self.both = nn.Sequential(nn.Linear(2 * cells, 256), nn.ReLU(inplace=True))
        self.models_head = nn.Linear(256, len(kinds.names))
        self.offset_head = nn.Linear(256, 2)
        self.turn_head = nn.Linear(256, 4 * (max(kinds.types) + 1))
        with torch.no_grad():
            self.places_head[-1].bias[0] = -4.0  # few cells have a thing in their middle

    def places(self, top: Tensor) -> Places:
        """Return the places of things in windows of ``TOP``, uint8, shape (n, rows, columns, 3)."""
        row, column, rows, columns = self.SEARCHED
        near = self.near(self._cells(top[:, row : row + rows, column : column + columns]))
        out = self.places_head(torch.cat([near, self.far(near)], dim=1))
        return Places(out[:, 0], out[:, 1:])

    def look(self, top: Tensor, front: Tensor) -> Look:
        """Return the things in the middle of squares of both images, uint8, shape (k, SQUARE, SQUARE, 3)."""
        seen = self.both(torch.cat([self.from_top(self._cells(top)), self.from_front(self._cells(front))], dim=1))
        return Look(self.models_head(seen), self.offset_head(seen), self.turn_head(seen).unflatten(1, (-1, 4)))

    @torch.no_grad()
    def find(self, top: NDArray[np.uint8], front: NDArray[np.uint8]) -> tuple[Thing, ...]:
        """Return the things in one image of each camera, by column and row of their places.

        Args:
            top: window of ``TOP``, shape (rows, columns, 3).
            front: window of ``FRONT``, likewise.
        """
        tops, fronts = (torch.from_numpy(np.ascontiguousarray(image))[None] for image in (top, front))
        middles, heat = peaks(self.places(tops), min(MOST, len(self.kinds.names)))
        if not len(heat):
            return ()
        corners = torch.from_numpy(square_corners(middles))
        seen = self.look(squares(tops, corners[0]), squares(fronts, corners[1]))
        likely = seen.models.double().softmax(-1).numpy()
        offset, turn = seen.offset.double().numpy(), seen.turn.double().numpy()
        positions = on_table(middles + OFFSET * offset)
        models = distinct(likely)
        return tuple(
            Thing(
                int(model),
                *(float(value) for value in positions[index]),
                yaw_seen(turn[index, self.kinds.types[model]], self.kinds.symmetry[model]),
                float(heat[index]),
                float(likely[index, model]),
            )
            for index, model in enumerate(models)
        )

    def _cells(self, images: Tensor) -> Tensor:
        """Return images with the pixels of each cell as its channels, shape (n, channels, rows, columns)."""
        count, rows, columns, _ = images.shape
        cells = images.reshape(count, rows // STRIDE, STRIDE, columns // STRIDE, STRIDE, 3).transpose(2, 3)
        cells = cells.reshape(count, rows // STRIDE, columns // STRIDE, STRIDE**2 * 3).permute(0, 3, 1, 2)
        return cells.to(self.offset_head.weight.dtype) / 127.5 - 1.0


def yaw_seen(turn: NDArray[np.float64], symmetry: int) -> float:
    """Return the yaw [rad] of a thing from the numbers that ``Look`` has of its turn, shape (4,)."""
    if symmetry == 0:
        return 0.0
    # Head and tail may look alike although the axis is clear, so twice the angle gives the axis.
    axis = np.arctan2(turn[3], turn[2]) / 2.0
    forward = turn[0] * np.cos(axis) + turn[1] * np.sin(axis)
    return float((axis if forward >= 0.0 else axis - np.copysign(np.pi, axis)) / symmetry)


def peaks(
    places: Places, most: int, searched: tuple[int, int, int, int] = SEARCHED
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the middles of things in one image and their heat, the hottest ones if there are more than ``most``.

    Returns:
        Column and row [whole pixels of the window], shape (k, 2), and heat, 0 to 1, shape (k,).
    """
    heat = places.heat[:1].double().sigmoid()
    highest = functional.max_pool2d(heat, 3, stride=1, padding=1)
    row, column = torch.nonzero((heat == highest)[0] & (heat[0] >= FOUND), as_tuple=True)
    hot = heat[0, row, column]
    if len(hot) > most:
        kept = hot.argsort(descending=True, stable=True)[:most].sort().values
        row, column, hot = row[kept], column[kept], hot[kept]
    offset = places.offset[0, :, row, column].double().T
    cells = torch.stack([column, row], -1) + offset
    pixels = cells_to_pixels(cells.numpy(), searched)
    return np.rint(pixels).astype(np.int64), hot.numpy()


def cells_to_pixels(cells: NDArray[np.float64], searched: tuple[int, int, int, int] = SEARCHED) -> NDArray[np.float64]:
    """Return columns and rows of a window [pixel] at columns and rows of cells of what is searched, shape (..., 2)."""
    return cells * STRIDE + (STRIDE - 1) / 2 + np.array([searched[1], searched[0]])


def pixels_to_cells(pixels: NDArray[np.float64], searched: tuple[int, int, int, int] = SEARCHED) -> NDArray[np.float64]:
    """Return the inverse of ``cells_to_pixels``."""
    return (pixels - np.array([searched[1], searched[0]]) - (STRIDE - 1) / 2) / STRIDE


def square_corners(middles: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first column and row of the squares in ``TOP``'s and in ``FRONT``'s window, shape (2, k, 2).

    Args:
        middles: column and row of places in ``TOP``'s window [whole pixels], shape (k, 2).
    """
    ground = np.concatenate([on_table(middles.astype(float)), np.zeros((len(middles), 1))], axis=-1)
    in_front = np.rint(FRONT.pixels(ground)).astype(np.int64)
    corners = np.stack([middles - SQUARE // 2, in_front - (SQUARE // 2, ABOVE)])
    for view, corner in zip((TOP, FRONT), corners, strict=True):
        # Squares at the edge of an image are shifted inside.
        np.clip(corner, 0, (view.window[3] - SQUARE, view.window[2] - SQUARE), out=corner)
    return corners


def squares(images: Tensor, corners: Tensor, index: Tensor | None = None) -> Tensor:
    """Return squares of images, shape (k, SQUARE, SQUARE, 3); beyond an image its edge goes on.

    Args:
        images: shape (n, rows, columns, 3).
        corners: first column and row of each square, shape (k, 2).
        index: of the image of each, shape (k,); None for the first.
    """
    side = torch.arange(SQUARE)
    rows = (corners[:, 1, None] + side).clamp(0, images.shape[1] - 1)[:, :, None]
    columns = (corners[:, 0, None] + side).clamp(0, images.shape[2] - 1)[:, None, :]
    index = torch.zeros(len(corners), dtype=torch.int64) if index is None else index
    return images[index[:, None, None], rows, columns]


def distinct(likely: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return a model for each place, no model twice, the most probable pairs first, shape (k,).

    Args:
        likely: probabilities, shape (k, m), with k <= m.
    """
    left = likely.copy()
    models = np.full(len(left), -1)
    for _ in range(len(left)):
        place, model = divmod(int(left.argmax()), left.shape[1])
        models[place] = model
        left[place], left[:, model] = -1.0, -1.0
    return models
