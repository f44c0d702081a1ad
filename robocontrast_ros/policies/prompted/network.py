"""The network that understands a prompt, given a list of objects.

A prompt is a sequence of words and pictures, an object its picture, its position and its place in the list. There are
two ways to condition the objects on the prompt (seed 004, section III, compares cross-attention with concatenation):

- ``early``: the tokens of the prompt and of the objects are those of one transformer;
- ``late``: each has a transformer of its own. The prompt becomes a few numbers, which are joined to the code of each
  object just before the last layers.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional

from robocontrast_ros.policies.networks import Network
from robocontrast_ros.policies.prompted import LONGEST
from robocontrast_ros.policies.prompted.structure import CLASSES, ROLES

Conditioning = Literal["early", "late"]

WORD_SIZE = 384
"""Size of the vector of a token, which is the frozen one of all-MiniLM-L6-v2."""

PICTURE = 32
"""Rows and columns of a picture [pixel]."""

OBJECTS = 16
"""Objects in a list, at most."""

CENTRE, UNIT = (0.375, 0.0), 0.2
"""Origin and unit of positions in the network [m]."""

NOTHING = -1e4
"""Logit of a place in the list that has no object."""


@dataclass(frozen=True)
class PromptedSizes:
    """The kind of network, and numbers of units.

    Attributes:
        conditioning: ``early`` or ``late``.
        width: of a token.
        heads: of each attention.
        hidden: of each layer's second part.
        layers: of each transformer.
        narrow: numbers that a prompt becomes with ``late``.
    """

    conditioning: Conditioning = "early"
    width: int = 48
    heads: int = 4
    hidden: int = 96
    layers: int = 3
    narrow: int = 8

    def __post_init__(self) -> None:
        if self.conditioning not in get_args(Conditioning):
            raise ValueError(f"conditioning: got '{self.conditioning}', expected early or late")


@dataclass(frozen=True)
class Prompts:
    """n prompts of at most l tokens.

    Attributes:
        words: vectors of the words, shape (n, l, WORD_SIZE); any for a picture.
        picture: index of the picture, -1 for a word, shape (n, l).
        pictures: the different pictures, as ``as_input`` returns them, shape (p, 3, PICTURE, PICTURE).
        visible: whether a token exists and is not masked, shape (n, l).
    """

    words: Tensor
    picture: Tensor
    pictures: Tensor
    visible: Tensor


@dataclass(frozen=True)
class Objects:
    """n lists of at most s objects.

    Attributes:
        models: index of each one's model in the album, -1 for none, shape (n, s).
        positions: x and y [m], world frame, shape (n, s, 2).
    """

    models: Tensor
    positions: Tensor

    @property
    def there(self) -> Tensor:
        """Whether a place in the list has an object, shape (n, s)."""
        return self.models >= 0


def as_input(pictures: Tensor) -> Tensor:
    """Return uint8 pictures, shape (p, rows, columns, 3), as numbers from -1 to 1, shape (p, 3, rows, columns)."""
    return pictures.permute(0, 3, 1, 2).to(torch.get_default_dtype()) / 127.5 - 1.0


class Prompted(Network):
    """The network; see the module's text."""

    PARTS: ClassVar = {"sizes": PromptedSizes, "names": tuple, "album": torch.as_tensor}
    HALF = True

    def __init__(self, names: tuple[str, ...], album: Tensor, sizes: PromptedSizes) -> None:
        """Make a network with random weights.

        Args:
            names: of the models that may be on the board.
            album: a picture of each, uint8, shape (m, PICTURE, PICTURE, 3), RGB.
            sizes: numbers of units.
        """
        super().__init__()
        self.names, self.sizes = names, sizes
        self.register_buffer("album", album, persistent=False)
        self.register_buffer("centre", torch.tensor(CENTRE), persistent=False)
        width, early = sizes.width, sizes.conditioning == "early"
        channels = (3, 16, 32, width)
        self.eye = nn.Sequential(
            *(
                layer
                for before, after in itertools.pairwise(channels)
                for layer in (nn.Conv2d(before, after, 5 if before == 3 else 3, 2, 1), nn.GELU())
            )
        )
        self.look = nn.Linear(2 * width, width)
        self.word, self.shown = nn.Linear(WORD_SIZE, width), nn.Linear(width, width)
        self.object, self.position = nn.Linear(width, width), nn.Linear(2, width)
        # A place in the prompt that no training prompt reaches adds nothing.
        self.order = nn.Parameter(torch.zeros(LONGEST, width))
        self.place = nn.Parameter(torch.randn(OBJECTS, width))
        self.asked = nn.Parameter(0.1 * torch.randn(len(ROLES) + 1 if early else 1, width))
        self.prompt_layers, self.prompt_last = _layers(sizes), nn.LayerNorm(width)
        if early:
            self.roles = nn.Linear(width, width)
        else:
            self.object_layers, self.object_last = _layers(sizes), nn.LayerNorm(width)
            self.narrow = nn.Linear(width, sizes.narrow)
            self.joined = nn.Linear(width + sizes.narrow, width)
            self.roles = nn.Sequential(nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, len(ROLES)))
            self.rest = nn.Sequential(nn.Linear(sizes.narrow, width), nn.GELU())
        self.classes = nn.ModuleDict({part: nn.Linear(width, len(values)) for part, values in CLASSES.items()})

    def forward(self, prompts: Prompts, objects: Objects, album: Tensor | None = None) -> dict[str, Tensor]:
        """Return the logits of each part of the instructions: of the places in the list, shape (n, s), or of classes.

        Args:
            prompts: the words and pictures.
            objects: the lists.
            album: pictures of the models in place of the network's own, as ``as_input`` returns them.
        """
        said = self._prompt_tokens(prompts)
        if self.sizes.conditioning == "late":
            return self._late(said, prompts.visible, objects, album)
        listed = self._object_tokens(objects, album)
        asked = len(self.asked)
        x = torch.cat([self.asked.expand(len(said), -1, -1), said, listed], 1)
        there = functional.pad(torch.cat([prompts.visible, objects.there], 1), (asked, 0), value=True)
        x = self.prompt_last(_through(self.prompt_layers, x, there))
        roles, codes = self.roles(x[:, : len(ROLES)]), x[:, asked + said.shape[1] :]
        found = (roles[:, :, None] * codes[:, None]).sum(-1) / self.sizes.width**0.5
        return self._answer(found, x[:, asked - 1], objects)

    def object_codes(self, objects: Objects, album: Tensor | None = None) -> Tensor:
        """Return, with ``late``, the codes of objects, which do not depend on the prompt, shape (n, s, width)."""
        listed = self._object_tokens(objects, album)
        return self.object_last(_through(self.object_layers, listed, objects.there))

    def _late(self, said: Tensor, visible: Tensor, objects: Objects, album: Tensor | None) -> dict[str, Tensor]:
        x = torch.cat([self.asked.expand(len(said), -1, -1), said], 1)
        there = functional.pad(visible, (1, 0), value=True)
        narrow = self.narrow(self.prompt_last(_through(self.prompt_layers, x, there)[:, 0]))
        codes = self.object_codes(objects, album)
        each = narrow[:, None].expand(-1, codes.shape[1], -1)
        found = self.roles(self.joined(torch.cat([codes, each], -1))).transpose(1, 2)
        return self._answer(found, self.rest(narrow), objects)

    def _answer(self, found: Tensor, rest: Tensor, objects: Objects) -> dict[str, Tensor]:
        found = found.masked_fill(~objects.there[:, None], NOTHING)
        logits = {part: head(rest) for part, head in self.classes.items()}
        return logits | {role: found[:, number] for number, role in enumerate(ROLES)}

    def _seen(self, pictures: Tensor) -> Tensor:
        """Return the code of each picture, shape (p, width)."""
        seen = self.eye(pictures)
        return self.look(torch.cat([seen.mean((2, 3)), seen.amax((2, 3))], -1))

    def _prompt_tokens(self, prompts: Prompts) -> Tensor:
        tokens = self.word(prompts.words)
        if len(prompts.pictures):
            shown = self.shown(self._seen(prompts.pictures))[prompts.picture.clamp_min(0)]
            tokens = torch.where((prompts.picture >= 0)[..., None], shown, tokens)
        return tokens + self.order[: tokens.shape[1]]

    def _object_tokens(self, objects: Objects, album: Tensor | None) -> Tensor:
        seen = self._seen(as_input(self.album).to(self.centre.dtype) if album is None else album)
        positions = self.position((objects.positions - self.centre) / UNIT)
        return self.object(seen)[objects.models.clamp_min(0)] + positions + self.place[: objects.models.shape[1]]


def _layers(sizes: PromptedSizes) -> nn.ModuleList:
    return nn.ModuleList(
        nn.TransformerEncoderLayer(
            sizes.width, sizes.heads, sizes.hidden, 0.0, functional.gelu, batch_first=True, norm_first=True
        )
        for _ in range(sizes.layers)
    )


def _through(layers: nn.ModuleList, tokens: Tensor, there: Tensor) -> Tensor:
    for layer in layers:
        tokens = layer(tokens, src_key_padding_mask=~there)
    return tokens
