"""The network that understands an instruction in a scene: the skill, and the things that it names.

Words and things are the tokens of one transformer, so that a thing can be compared with others (*the largest*, *on your
left*) among those that the words fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from robocontrast_ros.policies.networks import Batch, Network
from robocontrast_ros.policies.sentence_encoder import SentenceEncoder
from robocontrast_ros.policies.tabletop_bc.things import CENTRE, UNIT, Attributes, Catalogue
from robocontrast_ros.tasks.tabletop.parameters import FAMILIES

WORD_SIZE = 384
"""Size of the vector of a token, which is the frozen one of all-MiniLM-L6-v2."""

LONGEST = 32
"""Limit of the tokens of an instruction; the rest is not read."""

SKILLS = len(FAMILIES)

PLACE_SCALES = (1.0, 3.0)
"""Multiples in which positions are shown to the network."""


@dataclass(frozen=True)
class GroundingSizes:
    """Numbers of units.

    Attributes:
        width: of a token.
        heads: of each attention.
        hidden: of each layer's second part.
        layers: of the transformer.
    """

    width: int = 96
    heads: int = 4
    hidden: int = 192
    layers: int = 4


@dataclass(frozen=True)
class Things(Batch):
    """The things of n scenes in at most s slots.

    Attributes:
        models: index of each one's model, -1 for none, shape (n, s).
        poses: x, y, z [m] and yaw [rad], world frame, shape (n, s, 4).
    """

    models: Tensor
    poses: Tensor

    @property
    def there(self) -> Tensor:
        """Whether a slot has a thing, shape (n, s)."""
        return self.models >= 0


@dataclass(frozen=True)
class Understood:
    """Output of the network for n instructions.

    Attributes:
        skill: logits of the skills, in the order of the task's families, shape (n, SKILLS).
        target: logits of the slots, shape (n, s).
        reference: the same of the other thing that is named; without meaning if the skill has none.
    """

    skill: Tensor
    target: Tensor
    reference: Tensor


class _Layer(nn.Module):
    """A layer of the transformer: attention, then two linear layers, each added to its input."""

    def __init__(self, width: int, heads: int, hidden: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.ask, self.give = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.first, self.second = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x: Tensor, there: Tensor) -> Tensor:
        n, length, width = x.shape
        parts = self.ask(self.before(x)).view(n, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=there[:, None, None, :])
        x = x + self.give(mixed.transpose(1, 2).reshape(n, length, width))
        return x + self.second(functional.gelu(self.first(self.between(x))))


class Grounding(Network):
    """The network; see the module's text."""

    PARTS: ClassVar = {"sizes": GroundingSizes, "catalogue": Catalogue}

    def __init__(self, catalogue: Catalogue, sizes: GroundingSizes) -> None:
        """Make a network with random weights for things of these models."""
        super().__init__()
        self.catalogue, self.sizes = catalogue, sizes
        width = sizes.width
        self.attributes = Attributes(catalogue, kind=32, colour=16, category=16)
        self.register_buffer("centre", torch.tensor(CENTRE), persistent=False)
        self.word = nn.Linear(WORD_SIZE, width)
        self.order = nn.Parameter(0.1 * torch.randn(LONGEST, width))
        self.thing = nn.Linear(self.attributes.size + 2 * len(PLACE_SCALES) + 1, width)
        self.asked = nn.Parameter(0.1 * torch.randn(3, width))
        self.layers = nn.ModuleList(_Layer(width, sizes.heads, sizes.hidden) for _ in range(sizes.layers))
        self.last = nn.LayerNorm(width)
        self.skill = nn.Linear(width, SKILLS)
        self.roles = nn.Linear(width, width)

    def forward(self, words: Tensor, spoken: Tensor, things: Things) -> Understood:
        """Return skill, target and reference of instructions in scenes.

        Args:
            words: vectors of the tokens, shape (n, l, WORD_SIZE), l at most LONGEST.
            spoken: whether a text has the token, shape (n, l).
            things: the scenes.
        """
        n, length = spoken.shape
        place = (things.poses[..., :2] - self.centre) / UNIT
        # x and y are compared as they are, and the distance to the robot as well.
        away = things.poses[..., :2].norm(dim=-1, keepdim=True) / UNIT - 5.0
        places = [scale * place for scale in PLACE_SCALES]
        slots = self.thing(torch.cat([self.attributes(things.models), *places, away], -1))
        x = torch.cat([self.asked.expand(n, -1, -1), self.word(words) + self.order[:length], slots], 1)
        always = torch.ones(n, len(self.asked), dtype=torch.bool, device=spoken.device)
        there = torch.cat([always, spoken, things.there], 1)
        for layer in self.layers:
            x = layer(x, there)
        x = self.last(x)
        asked, seen = self.roles(x[:, :2]), x[:, len(self.asked) + length :]
        found = (asked[:, :, None] * seen[:, None]).sum(-1) / self.sizes.width**0.5
        found = found.masked_fill(~things.there[:, None], -1e4)
        return Understood(self.skill(x[:, 2]), found[:, 0], found[:, 1])


def token_vectors(encoder: SentenceEncoder, texts: Sequence[str]) -> tuple[Tensor, Tensor]:
    """Return the vectors of instructions' tokens, float32 of shape (n, l, 384), and whether each exists, shape (n, l).

    The vectors are those of the encoder's table, without their context.
    Tokens after the first LONGEST are left out; l is the length of the longest text, at least 1.
    """
    ids = [encoder.tokens(text)[:LONGEST] for text in texts]
    length = max(1, *map(len, ids))
    padded = torch.tensor([[*own, *[0] * (length - len(own))] for own in ids])
    spoken = torch.arange(length) < torch.tensor([[len(own)] for own in ids])
    return torch.from_numpy(encoder.token_vectors(padded.numpy())), spoken
