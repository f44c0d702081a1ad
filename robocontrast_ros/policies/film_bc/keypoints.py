"""The network that finds the blocks in an image of the camera ``board``, with one heat map each.

A heat map has a cell for every 4 x 4 pixels and shares a block between the four cells around it, so the mean
over the cells around its peak is finer than a cell. Image and board are related by the perspective of a plane
seen from the camera's nominal pose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from robocontrast_ros.policies.networks import Network

HEIGHT, WIDTH = 90, 160
"""Size of the images that the network sees [pixel]."""

STRIDE = 4
ROWS, COLUMNS = -(-HEIGHT // STRIDE), -(-WIDTH // STRIDE)

CAMERA = (0.75, 0.0, 0.485)
"""The camera's nominal x and y, and its height above the middle of a block [m]; it looks down 53 degrees."""

FOCAL = 0.8 * WIDTH


@dataclass(frozen=True)
class Sighting:
    """Output for b blocks in a batch of n images.

    Attributes:
        heat: logits of each block's place, shape (n, b, ROWS * COLUMNS).
        turn: cosine and sine of yaw times symmetry at each place, shape (n, b, 2, ROWS * COLUMNS).
    """

    heat: Tensor
    turn: Tensor


@dataclass(frozen=True)
class Found:
    """Poses of the blocks.

    Attributes:
        position: x, y [m], shape (n, b, 2).
        turn: unit vectors, cosine and sine of yaw times symmetry, shape (n, b, 2).
        sure: share of the heat around the peak, shape (n, b); low if the block is hidden.
    """

    position: Tensor
    turn: Tensor
    sure: Tensor


def _layer(inputs: int, outputs: int, size: int, stride: int = 1) -> tuple[nn.Module, ...]:
    return nn.Conv2d(inputs, outputs, size, stride, size // 2), nn.BatchNorm2d(outputs), nn.ReLU()


class Keypoints(Network):
    """The network; see the module's text."""

    PARTS: ClassVar = {"width": int, "names": tuple}

    def __init__(self, names: tuple[str, ...], width: int = 32) -> None:
        """Make a network, with random weights, for blocks of these names; ``width`` channels."""
        super().__init__()
        self.names, self.width = names, width
        self.features = nn.Sequential(
            *_layer(3, width // 2, 5, stride=2),
            *_layer(width // 2, width, 3, stride=2),
            *_layer(width, width, 3),
            *_layer(width, width, 3),
        )
        self.heat = nn.Conv2d(width, len(names), 1)
        self.turn = nn.Conv2d(width, 2 * len(names), 1)

    def forward(self, images: Tensor) -> Sighting:
        """Return the output for uint8 images, shape (n, 3, HEIGHT, WIDTH)."""
        x = self.features(images.to(self.heat.weight.dtype) / 127.5 - 1.0)
        return Sighting(self.heat(x).flatten(2), self.turn(x).flatten(2).unflatten(1, (len(self.names), 2)))

    def find(self, images: Tensor) -> Found:
        """Return the blocks' poses in uint8 images, shape (n, 3, HEIGHT, WIDTH)."""
        seen = self(images)
        likely = seen.heat.softmax(-1)
        maps = likely.unflatten(-1, (ROWS, COLUMNS))
        # The peak of sums over 2 x 2 cells: a block lies between four.
        sums = functional.avg_pool2d(functional.pad(maps, (0, 1, 0, 1)), 2, stride=1).flatten(2)
        peak = sums.argmax(-1)
        row, column = peak // COLUMNS, peak % COLUMNS
        rows = torch.arange(ROWS, device=images.device)
        columns = torch.arange(COLUMNS, device=images.device)
        near_row = ((rows - row[..., None] - 0.5).abs() < 2).to(maps.dtype)
        near_column = ((columns - column[..., None] - 0.5).abs() < 2).to(maps.dtype)
        near = maps * near_row[..., :, None] * near_column[..., None, :]
        sure = near.sum((-1, -2))
        share = near / sure[..., None, None].clamp_min(1e-9)
        v = (share.sum(-1) * rows).sum(-1)
        u = (share.sum(-2) * columns).sum(-1)
        turn = (seen.turn * share.flatten(2)[:, :, None]).sum(-1)
        return Found(to_board(torch.stack([u, v], -1)), functional.normalize(turn, dim=-1), sure)


def to_board(cells: Tensor) -> Tensor:
    """Return the points on the board, x and y [m], of positions in cells (column, row)."""
    u = (cells[..., 0] * STRIDE - (WIDTH - 1) / 2) / FOCAL
    v = (cells[..., 1] * STRIDE - (HEIGHT - 1) / 2) / FOCAL
    reach = CAMERA[2] / (0.8 + 0.6 * v)
    return torch.stack([CAMERA[0] + reach * (0.8 * v - 0.6), CAMERA[1] + reach * u], -1)


def to_cells(points: Tensor) -> Tensor:
    """Return the positions in cells (column, row) of points on the board, x and y [m]."""
    x, y = points[..., 0] - CAMERA[0], points[..., 1] - CAMERA[1]
    # In the camera's axes: right, down and forward.
    right, down, forward = y, 0.8 * x + 0.6 * CAMERA[2], -0.6 * x + 0.8 * CAMERA[2]
    u, v = FOCAL * right / forward + (WIDTH - 1) / 2, FOCAL * down / forward + (HEIGHT - 1) / 2
    return torch.stack([u, v], -1) / STRIDE


def keypoint_loss(seen: Sighting, position: Tensor, turn: Tensor) -> Tensor:
    """Return the loss of sightings against true positions [m] and turns, both of shape (n, b, 2)."""
    cells = to_cells(position)
    limit = cells.new_tensor([COLUMNS - 1.001, ROWS - 1.001])
    cells = torch.minimum(cells.clamp_min(0.0), limit)
    corner = cells.floor()
    share = cells - corner
    column, row = corner.long().unbind(-1)
    logs = seen.heat.log_softmax(-1)
    loss = logs.new_zeros(())
    for right in (0, 1):
        for down in (0, 1):
            weight = (share[..., 0] if right else 1 - share[..., 0]) * (share[..., 1] if down else 1 - share[..., 1])
            index = (row + down) * COLUMNS + column + right
            loss = loss - (weight * logs.gather(-1, index[..., None])[..., 0]).mean()
            predicted = seen.turn.gather(-1, index[..., None, None].expand(-1, -1, 2, -1))[..., 0]
            loss = loss + (weight[..., None] * functional.smooth_l1_loss(predicted, turn, reduction="none")).mean()
    return loss
