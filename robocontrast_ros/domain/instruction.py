"""The language instruction l of a test instance, as text and as structure (seed 000, section 3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum


class SegmentKind(IntEnum):
    """What a part of an instruction is. The values are those of ``InstructionSegment.msg``."""

    TEXT = 0
    """Words that refer to nothing."""
    OBJECT = 1
    """Words that refer to an object."""
    SCENE = 2
    """Words that refer to a place of the scene."""


@dataclass(frozen=True)
class Segment:
    """A part of an instruction (seed 004, section III: words and visual referents in one prompt).

    Attributes:
        kind: whether it refers to something, and to what.
        text: its words, with the blanks and marks around them; of a referent its descriptor, for instance ``red moon``.
        name: of a referent, ``referent_1`` for the first that is said; it says nothing of what it is. Empty for words.
        visible: whether the policy receives it; false where it is masked.
        entity: what a referent is, as in the instruction's arguments. It never leaves the bench.
    """

    kind: SegmentKind
    text: str
    name: str = ""
    visible: bool = True
    entity: str = ""

    @property
    def refers(self) -> bool:
        """Whether it refers to something."""
        return self.kind is not SegmentKind.TEXT


def plain_text(segments: Iterable[Segment]) -> str:
    """Return what a policy that takes text alone receives: the visible segments' words, with single blanks."""
    return " ".join("".join(segment.text if segment.visible else " " for segment in segments).split())


@dataclass(frozen=True)
class Instruction:
    """The text for the robot, and its meaning.

    Only ``text``, or the segments of it, ever reaches a policy. The structure is what perturbations act on and what the
    goal is made from; its keys belong to the task.

    Attributes:
        text: the words the policy receives.
        family: the task's family of instructions, for instance ``block_to_block``.
        arguments: sorted (key, value) pairs, for instance ``("source", "red_moon")``.
        segments: the parts of the text, in order; empty where it was not taken apart.
        meant: the words that mean the structure, where ``text`` does not, such as random letters; else empty.
    """

    text: str
    family: str
    arguments: tuple[tuple[str, str], ...] = field(default=())
    segments: tuple[Segment, ...] = ()
    meant: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "arguments", tuple(sorted(self.arguments)))
        if self.segments and plain_text(self.segments) != self.text:
            raise ValueError(
                f"instruction '{self.text}': got segments that say '{plain_text(self.segments)}', expected the same"
            )

    @property
    def words(self) -> str:
        """The words that mean the structure."""
        return self.meant or self.text

    def get(self, key: str) -> str | None:
        """Return the argument's value, or None when the instruction has no such argument."""
        return dict(self.arguments).get(key)
