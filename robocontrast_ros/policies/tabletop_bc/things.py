"""The networks' code of each model of the library: learned numbers of its type, colour and category, and its size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from robocontrast_ros.objects import ObjectModel

CENTRE = (0.48, 0.0)
"""The origin of positions in the networks, world frame [m]."""

UNIT = 0.1
"""Unit of lengths in the networks [m]."""


@dataclass(frozen=True)
class Catalogue:
    """The models that a network was trained with.

    Attributes:
        names: of the models; a slot's model is an index into them.
        types: type of each.
        colours: colour of each; empty if it has none.
        categories: category of each.
        sizes: of the box around each, along x, y and z [m].
        fixtures: names of tables, backgrounds and lights, which are left out of the things.
    """

    names: tuple[str, ...]
    types: tuple[str, ...]
    colours: tuple[str, ...]
    categories: tuple[str, ...]
    sizes: tuple[tuple[float, float, float], ...]
    fixtures: tuple[str, ...] = ()

    @classmethod
    def of(cls, models: Iterable[ObjectModel]) -> Catalogue:
        """Return the catalogue of some models, in their order."""
        known = list(models)
        columns = zip(*((m.model, m.type, m.colour, m.category, m.size) for m in known if not m.fixed), strict=True)
        return cls(*(tuple(column) for column in columns), tuple(m.model for m in known if m.fixed))


class Attributes(nn.Module):
    """Codes of models: learned ones of type, colour and category, and their sizes."""

    sizes: Tensor
    types: Tensor
    colours: Tensor
    categories: Tensor

    def __init__(self, catalogue: Catalogue, kind: int, colour: int, category: int) -> None:
        """Make codes of these lengths with random numbers."""
        super().__init__()
        for name, values in (
            ("types", catalogue.types),
            ("colours", catalogue.colours),
            ("categories", catalogue.categories),
        ):
            self.register_buffer(name, _indices(values), persistent=False)
        # The row after the last is that of no object.
        self.register_buffer("sizes", torch.tensor([*catalogue.sizes, (0.0, 0.0, 0.0)]), persistent=False)
        self.kind = nn.Embedding(int(self.types.max()) + 1, kind)
        self.colour = nn.Embedding(int(self.colours.max()) + 1, colour) if colour else None
        self.category = nn.Embedding(int(self.categories.max()) + 1, category) if category else None
        self.size = kind + colour + category + 4

    def forward(self, models: Tensor) -> Tensor:
        """Return the code of each model, shape (..., size), for indices of shape (...); -1 is no object."""
        size = self.sizes[models] / UNIT
        diagonal = (size * size).sum(-1, keepdim=True).sqrt()
        codes = [self.kind(self.types[models])]
        if self.colour is not None:
            codes.append(self.colour(self.colours[models]))
        if self.category is not None:
            codes.append(self.category(self.categories[models]))
        return torch.cat([*codes, size, diagonal], -1)


def _indices(values: Sequence[str]) -> Tensor:
    """Return the index of each value among the different ones, and one more for no object."""
    different = {value: index for index, value in enumerate(dict.fromkeys(values))}
    return torch.tensor([*(different[value] for value in values), len(different)])
