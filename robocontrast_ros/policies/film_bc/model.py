"""The network that chooses actions, from the instruction and the blocks' poses (slots).

An instruction's vector chooses a source and a target block by attention over the slots and, from these two,
a goal point. The tool and all blocks are expressed in a frame that points from the source to that goal, so
that pushes in all directions look alike; in it, layers modulated by the instruction (FiLM) compute a
direction, as a distribution over bins, and a length. It is a distribution because there are two ways round
a block, and their mean leads into it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from robocontrast_ros.policies.networks import Network

EMBEDDING_SIZE = 384
"""Size of the vector of an instruction."""

CENTRE = (0.375, 0.0)
"""The origin of positions in the network [m]."""

UNIT = 0.1
"""Unit of positions in the network [m]."""

STEP = 0.025
"""Unit of lengths of actions in the network [m]."""

PERSISTENCE = 1.5
"""Bonus of the previous action's direction over one perpendicular to it [nat]."""

SYMMETRY = {"moon": 1, "cube": 4, "star": 5, "pentagon": 5}
"""Order of each shape's rotational symmetry."""


@dataclass(frozen=True)
class Sizes:
    """Numbers of units.

    Attributes:
        language: of the code of an instruction.
        goal: of the layers that find the goal point.
        block: of the code of a block on the way.
        trunk: of the layers that find the action.
        bins: of directions.
    """

    language: int = 128
    goal: int = 128
    block: int = 64
    trunk: int = 256
    bins: int = 48


@dataclass(frozen=True)
class Slots:
    """A batch of n states with b blocks.

    Attributes:
        tool: x, y [m], shape (n, 2).
        position: x, y of each block [m], shape (n, b, 2).
        turn: cosine and sine of each block's yaw times its symmetry, shape (n, b, 2).
        start: x, y of each block when the trial began [m], shape (n, b, 2).
    """

    tool: Tensor
    position: Tensor
    turn: Tensor
    start: Tensor


@dataclass(frozen=True)
class Answer:
    """Output of the network for a batch.

    Attributes:
        source: logits of the block to be pushed, shape (n, b).
        target: logits of the block it is pushed relative to, the last one for none, shape (n, b + 1).
        goal: goal point of the source [m], shape (n, 2).
        heading: direction from the source to the goal, relative to which the bins are [rad], shape (n,).
        direction: logits of the directions of the action, shape (n, bins).
        length: of the action [m], shape (n,).
    """

    source: Tensor
    target: Tensor
    goal: Tensor
    heading: Tensor
    direction: Tensor
    length: Tensor


Modulation = tuple[Tensor, Tensor]
"""Scale and shift of a layer's units, both of shape (n, size)."""


@dataclass(frozen=True)
class LanguageFeatures:
    """Features of a batch of n instructions; they do not depend on the state.

    Attributes:
        source: logits of the block to be pushed, shape (n, b).
        target: logits of the block it is pushed relative to, the last one for none, shape (n, b + 1).
        is_source: probability of each block to be the source, shape (n, b).
        is_target: the same for the target, shape (n, b).
        identity: code of the block to be pushed, shape (n, 8).
        goal: modulations of the layers that find the goal point.
        trunk: modulations of the layers that find the action.
    """

    source: Tensor
    target: Tensor
    is_source: Tensor
    is_target: Tensor
    identity: Tensor
    goal: tuple[Modulation, ...]
    trunk: tuple[Modulation, ...]


class Film(nn.Module):
    """A residual layer whose units are scaled and shifted by a code."""

    def __init__(self, size: int, code: int) -> None:
        """Make the layer for ``size`` units and codes of ``code`` numbers."""
        super().__init__()
        self.norm = nn.LayerNorm(size)
        self.linear = nn.Linear(size, size)
        self.modulation = nn.Linear(code, 2 * size)

    def modulated(self, code: Tensor) -> Modulation:
        """Return the modulation by a code, shape (n, code)."""
        scale, shift = self.modulation(code).chunk(2, dim=-1)
        return 1 + scale, shift

    def forward(self, x: Tensor, modulation: Modulation) -> Tensor:
        """Return the modulated units, of x's shape (n, size)."""
        scale, shift = modulation
        return x + functional.gelu(scale * self.linear(self.norm(x)) + shift)


class FilmBc(Network):
    """The network; see the module's text."""

    PARTS: ClassVar = {"sizes": Sizes, "names": tuple}

    symmetry: Tensor
    centre: Tensor

    def __init__(self, names: tuple[str, ...], sizes: Sizes) -> None:
        """Make a network, with random weights, for blocks of these names (``colour_shape``)."""
        super().__init__()
        self.sizes, self.names, blocks = sizes, names, len(names)
        self.register_buffer("symmetry", symmetries(names), persistent=False)
        self.register_buffer("centre", torch.tensor(CENTRE), persistent=False)
        self.language = nn.Sequential(
            nn.Linear(EMBEDDING_SIZE, 2 * sizes.language),
            nn.GELU(),
            nn.Linear(2 * sizes.language, sizes.language),
            nn.LayerNorm(sizes.language),
        )
        self.source = nn.Linear(sizes.language, blocks)
        self.target = nn.Linear(sizes.language, blocks + 1)
        self.goal_in = nn.Linear(9, sizes.goal)
        self.goal_layers = nn.ModuleList(Film(sizes.goal, sizes.language) for _ in range(2))
        self.goal_out = nn.Linear(sizes.goal, 2)
        self.identity = nn.Parameter(0.5 * torch.randn(blocks, 8))
        self.block = nn.Sequential(nn.Linear(8, sizes.block), nn.GELU(), nn.Linear(sizes.block, sizes.block), nn.GELU())
        self.trunk_in = nn.Linear(2 * sizes.block + 26, sizes.trunk)
        self.trunk = nn.ModuleList(Film(sizes.trunk, sizes.language) for _ in range(3))
        self.direction = nn.Linear(sizes.trunk, sizes.bins)
        self.length = nn.Linear(sizes.trunk, 1)

    def forward(self, slots: Slots, words: Tensor) -> Answer:
        """Return the answer for states and the instructions' vectors, shape (n, EMBEDDING_SIZE)."""
        return self.act(slots, self.understand(words))

    def understand(self, words: Tensor) -> LanguageFeatures:
        """Return the features of instructions' vectors, shape (n, EMBEDDING_SIZE); once per trial is enough."""
        code = self.language(words)
        source, target = self.source(code), self.target(code)
        is_source = source.softmax(-1)
        return LanguageFeatures(
            source,
            target,
            is_source,
            target.softmax(-1)[:, :-1],
            _chosen(is_source, self.identity.expand(len(code), -1, -1)),
            tuple(layer.modulated(code) for layer in self.goal_layers),
            tuple(layer.modulated(code) for layer in self.trunk),
        )

    def act(self, slots: Slots, features: LanguageFeatures) -> Answer:
        """Return the answer for states and the features of the instructions."""
        tool = (slots.tool - self.centre) / UNIT
        position, start = (slots.position - self.centre) / UNIT, (slots.start - self.centre) / UNIT
        is_source, is_target = features.is_source, features.is_target
        of_source = is_source[..., None]

        here, began = (of_source * position).sum(1), (of_source * start).sum(1)
        from_here = position - here[:, None]
        there = _chosen(is_target, from_here)
        with_target = is_target.sum(-1, keepdim=True)
        x = self.goal_in(torch.cat([here, began, here - began, there, with_target], -1))
        for layer, modulation in zip(self.goal_layers, features.goal, strict=True):
            x = layer(x, modulation)
        ahead = self.goal_out(x)

        # The action's loss must not train the frame.
        way = ahead.detach()
        distance = way.norm(dim=-1, keepdim=True)
        heading = torch.atan2(way[:, 1:], way[:, :1])
        cos, sin = torch.cos(heading), torch.sin(heading)
        from_tool = tool[:, None]
        # All of them at once: calling an operation takes longer than its work on so few numbers.
        points = torch.cat([from_here, position - from_tool, from_tool - here[:, None], there[:, None]], 1)
        turned, far, blocks = _turned(points, cos, sin), points.norm(dim=-1), len(self.names)
        others = torch.cat(
            [
                turned[:, :blocks],
                turned[:, blocks:-2],
                torch.stack([far[:, :blocks], far[:, blocks:-2], is_source, is_target], -1),
            ],
            -1,
        )
        # The source itself is no obstacle on its way.
        codes = self.block(others) * (1 - of_source)
        spin = heading * self.symmetry
        near = torch.cat([turned[:, -2], far[:, -2:-1]], -1)
        x = self.trunk_in(
            torch.cat(
                [
                    near,
                    torch.tanh(near * 4),
                    distance,
                    torch.tanh(distance),
                    cos,
                    sin,
                    here,
                    tool,
                    turned[:, -1],
                    (of_source * _turned(slots.turn, torch.cos(spin), torch.sin(spin))).sum(1),
                    features.identity,
                    codes.sum(1),
                    codes.max(1).values,
                ],
                -1,
            )
        )
        for layer, modulation in zip(self.trunk, features.trunk, strict=True):
            x = layer(x, modulation)
        length = STEP * self.length(x)[:, 0]
        return Answer(
            features.source,
            features.target,
            (here + ahead) * UNIT + self.centre,
            heading[:, 0],
            self.direction(x),
            length,
        )


def displacement(answer: Answer, before: Tensor | None = None) -> Tensor:
    """Return the likeliest action, in the world's axes [m], shape (n, 2).

    It is the mean direction of the likeliest bin and the two on either side of it.

    Args:
        answer: of the network.
        before: the previous actions, shape (n, 2) [m], whose directions become likelier. Without memory, the policy
            would alternate between two ways that are equally good.
    """
    bins = answer.direction.shape[-1]
    direction = answer.direction
    if before is not None:
        angles = answer.heading[:, None] + bin_angle(torch.arange(bins, device=direction.device), bins)
        was = torch.atan2(before[:, 1], before[:, 0])[:, None]
        moved = before.norm(dim=-1, keepdim=True) > 0
        direction = direction + PERSISTENCE * torch.cos(angles - was) * moved
    likely = direction.softmax(-1)
    window = torch.arange(-2, 3, device=likely.device)
    # The peak of the smoothed distribution: a single high bin may be chance.
    around = torch.cat([likely[:, -1:], likely, likely[:, :1]], -1)
    smooth = around[:, 2:] + likely + around[:, :-2]
    peak = smooth.argmax(-1, keepdim=True)
    weights = likely.gather(-1, (peak + window) % bins)
    offset = (weights * window).sum(-1) / weights.sum(-1).clamp_min(1e-9)
    angle = answer.heading + bin_angle(peak[:, 0] + offset, bins)
    return answer.length[:, None] * torch.stack([torch.cos(angle), torch.sin(angle)], -1)


def bin_angle(index: Tensor, bins: int) -> Tensor:
    """Return the angle at a (fractional) index of a bin [rad]."""
    return index * (2 * math.pi / bins) - math.pi


def direction_loss(answer: Answer, action: Tensor) -> Tensor:
    """Return the cross entropy of each action's direction [nat], shape (n,), shared by the two bins next to it."""
    bins = answer.direction.shape[-1]
    angle = torch.atan2(action[:, 1], action[:, 0]) - answer.heading
    place = ((angle + math.pi) / (2 * math.pi / bins)) % bins
    below = place.floor()
    share = place - below
    logs = answer.direction.log_softmax(-1)
    low = below.long() % bins
    return -(
        (1 - share) * logs.gather(-1, low[:, None])[:, 0] + share * logs.gather(-1, ((low + 1) % bins)[:, None])[:, 0]
    )


def turns(yaw: Tensor, symmetry: Tensor) -> Tensor:
    """Return cosine and sine of yaws [rad], shape (..., b), times each block's symmetry, shape (..., b, 2)."""
    angle = yaw * symmetry
    return torch.stack([torch.cos(angle), torch.sin(angle)], -1)


def symmetries(names: tuple[str, ...]) -> Tensor:
    """Return the symmetry of each block, by its name (``colour_shape``), shape (b,)."""
    return torch.tensor([float(SYMMETRY[name.split("_", 1)[1]]) for name in names])


def _chosen(weights: Tensor, values: Tensor) -> Tensor:
    return (weights[..., None] * values).sum(1)


def _turned(points: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Return points, shape (..., 2), in the frame turned by the angle of this cosine and sine."""
    x, y = points[..., 0], points[..., 1]
    return torch.stack([cos * x + sin * y, cos * y - sin * x], -1)
