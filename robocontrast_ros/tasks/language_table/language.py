"""Generation and understanding of instructions about the blocks on the table."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from robocontrast_ros.domain import Instruction, Scene, SegmentKind
from robocontrast_ros.tasks.grammar import Choose
from robocontrast_ros.tasks.language_table.blocks import ALL_REFERENCES
from robocontrast_ros.tasks.language_table.goals import DIRECTIONS, DISTANCES, LOCATIONS
from robocontrast_ros.tasks.language_table.grammar import GRAMMAR, ROLES, says, to_instruction
from robocontrast_ros.tasks.language_table.parameters import FAMILIES
from robocontrast_ros.tasks.wording import GrammarLanguage


class BlockLanguage(GrammarLanguage):
    """Instructions about blocks; it also changes them part by part.

    Attributes:
        arguments: names of the arguments that can be changed.
    """

    grammar, roles = GRAMMAR, dict.fromkeys(ROLES, SegmentKind.OBJECT)
    arguments = ("source", "target", "location", "direction", "distance")

    def __init__(
        self, blocks: tuple[str, ...], further: tuple[str, ...] = (), families: tuple[str, ...] = FAMILIES
    ) -> None:
        """Take the blocks of instructions, further ones that may be on the table, and the families."""
        self._blocks, self._known, self._families = blocks, {*blocks, *further}, families

    def conditions(self) -> Iterator[Instruction]:
        """Enumerate every task condition once, each in its first wording.

        With the usual eight blocks and all families these are the 696 of seed 000: 56 + 72 + 64 + 448 + 56. There the
        distance of a relative location is part of the wording, not a condition; here it is ``far``.
        """
        for family in self._families:
            for arguments in self.structures(family):
                yield self._in_first_words(Instruction("", family, tuple(arguments.items())))

    def structures(self, family: str) -> Iterator[dict[str, str]]:
        """Enumerate a family's conditions as arguments."""
        blocks = self._blocks
        pairs = [{"source": a, "target": b} for a, b in itertools.permutations(blocks, 2)]
        match family:
            case "block_to_block" | "separate_blocks":
                yield from pairs
            case "block_to_absolute_location":
                yield from ({"source": a, "location": p} for a in blocks for p in LOCATIONS)
            case "block_to_relative_location":
                far = {"distance": DISTANCES[0]}
                yield from ({"source": a, "direction": d, **far} for a in blocks for d in DIRECTIONS)
            case "block_to_block_relative_location":
                yield from ({**pair, "direction": d} for pair in pairs for d in DIRECTIONS)

    def parse(self, text: str, scene: Scene) -> Instruction:
        """Return the structure of an instruction text in a scene.

        Raises:
            ValueError: the grammar does not know the text, or the scene makes it ambiguous.
        """
        return to_instruction(text, GRAMMAR.read(text), self._on_table(scene))

    def called(self, block: str, scene: Scene) -> Iterator[tuple[str, bool]]:
        """Yield the expressions that fit a block, and whether they fit no other on the table."""
        for reference in ALL_REFERENCES:
            found = reference.among(self._on_table(scene))
            if block in found:
                yield reference.words, len(found) == 1

    def _said(self, instruction: Instruction, scene: Scene, choose: Choose) -> Instruction:
        there = self._on_table(scene)
        try:
            text, _ = GRAMMAR.say(says(instruction, there), choose)
        except ValueError as reason:
            what = {"family": instruction.family, **dict(instruction.arguments)}
            raise ValueError(f"{what} with {', '.join(there)} on the table: {reason}") from None
        return replace(instruction, text=text, meant="")

    def _in_first_words(self, instruction: Instruction) -> Instruction:
        fits = says(instruction, self._blocks)
        text, _ = GRAMMAR.say(fits, lambda fitting: max(fitting, key=lambda a: a.kind == "colour+shape"))
        return replace(instruction, text=text)

    def _on_table(self, scene: Scene) -> tuple[str, ...]:
        return tuple(o.name for o in scene if o.model in self._known)
