"""The blocks, and the expressions that refer to them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

COLOURS = ("red", "blue", "green", "yellow")
SHAPES = ("moon", "cube", "star", "pentagon")
ALL_BLOCKS = tuple(f"{colour}_{shape}" for colour, shape in itertools.product(COLOURS, SHAPES))


@dataclass(frozen=True)
class Reference:
    """An expression that refers to a block by its colour, its shape, or both.

    Attributes:
        colour: one of COLOURS; empty if not mentioned.
        shape: one of SHAPES; empty if not mentioned.
    """

    colour: str = ""
    shape: str = ""

    @property
    def words(self) -> str:
        """The expression without its article: ``red moon``, ``red block`` or ``moon``."""
        return " ".join(filter(None, (self.colour, self.shape or "block")))

    def among(self, blocks: Iterable[str]) -> tuple[str, ...]:
        """Return those of the blocks that the expression fits."""
        return tuple(b for b in blocks if self._fits(*b.split("_", 1)))

    def resolve(self, blocks: Iterable[str]) -> str:
        """Return the one block that is meant.

        Raises:
            ValueError: no block fits, or several do.
        """
        found = self.among(blocks)
        if len(found) != 1:
            meant = " and ".join(found) or "none"
            raise ValueError(f"'{self.words}': expected to fit exactly one block on the table, fits {meant}")
        return found[0]

    def _fits(self, colour: str, shape: str) -> bool:
        return self.colour in ("", colour) and self.shape in ("", shape)


ALL_REFERENCES = (
    *(Reference(*block.split("_")) for block in ALL_BLOCKS),
    *(Reference(colour=colour) for colour in COLOURS),
    *(Reference(shape=shape) for shape in SHAPES),
)
