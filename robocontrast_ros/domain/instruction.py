"""The language instruction l of a test instance, as text and as structure (seed 000, section 3)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray


class SegmentKind(IntEnum):
    """Kind of a part of an instruction. The values are those of ``InstructionSegment.msg``."""

    TEXT = 0
    """Words that refer to nothing."""
    OBJECT = 1
    """Words that refer to an object."""
    SCENE = 2
    """Words that refer to a place of the scene."""


@dataclass(frozen=True)
class Crop:
    """A small picture of a referent.

    Attributes:
        width: columns [pixel], at least 1.
        height: rows [pixel], at least 1.
        data: red, green and blue of each pixel, row by row from the top, 3 * width * height bytes.
    """

    # Bytes that are no text need their own form in JSON; the writer declares the same (runs/events.py).
    __pydantic_config__: ClassVar[dict[str, str]] = {"val_json_bytes": "base64"}

    width: int
    height: int
    data: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if self.width < 1 or self.height < 1 or len(self.data) != 3 * self.width * self.height:
            raise ValueError(
                f"crop: got {len(self.data)} bytes of {self.width} x {self.height} pixels, expected 3 for each pixel"
            )

    @classmethod
    def of(cls, pixels: NDArray[np.uint8]) -> Crop:
        """Return the crop of uint8 pixels of shape (height, width, 3), RGB.

        Raises:
            ValueError: they have another shape or type.
        """
        if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.dtype != np.uint8:
            raise ValueError(f"crop: got {pixels.dtype} of shape {pixels.shape}, expected uint8 of (height, width, 3)")
        return cls(pixels.shape[1], pixels.shape[0], pixels.tobytes())

    @property
    def pixels(self) -> NDArray[np.uint8]:
        """Its pixels, shape (height, width, 3), RGB; they cannot be changed."""
        return np.frombuffer(self.data, np.uint8).reshape(self.height, self.width, 3)


@dataclass(frozen=True)
class Segment:
    """A part of an instruction (seed 004, section III: words and visual referents in one prompt).

    Attributes:
        kind: kind of the thing that it refers to, if any.
        text: its words, with the blanks and marks around them; for a referent its descriptor, for instance ``red
            moon``.
        name: name of a referent, ``referent_1`` for the first in the text; it does not identify the referent. Empty for
            words.
        visible: whether the policy receives it; false if it is masked.
        entity: the referent itself, as in the instruction's arguments. It never leaves the bench.
        crop: picture of a referent, if it has one: a policy that takes pictures gets it in place of the words.
    """

    kind: SegmentKind
    text: str
    name: str = ""
    visible: bool = True
    entity: str = ""
    crop: Crop | None = None

    @property
    def refers(self) -> bool:
        """Whether it refers to something."""
        return self.kind is not SegmentKind.TEXT


def plain_text(segments: Iterable[Segment]) -> str:
    """Return the text for a policy that takes text alone: the visible segments' words, with single blanks."""
    return " ".join("".join(segment.text if segment.visible else " " for segment in segments).split())


def segments_digest(segments: Iterable[Segment]) -> str:
    """Return the SHA-256, in hex, of segments as a policy receives them: kinds, words, names, visibility, pictures.

    It covers of each segment, in order: kind and visible, a byte each; text and name, each as its length and UTF-8;
    width, height and data of the picture, with 0 and 0 without one. Lengths and sizes have four bytes, the lowest
    first. ``entity`` is not included.
    """
    digest = hashlib.sha256()
    for segment in segments:
        crop = segment.crop
        digest.update(bytes([segment.kind, segment.visible]))
        for text in (segment.text, segment.name):
            encoded = text.encode("utf-8", "surrogatepass")
            digest.update(len(encoded).to_bytes(4, "little") + encoded)
        for size in (crop.width, crop.height) if crop is not None else (0, 0):
            digest.update(size.to_bytes(4, "little"))
        digest.update(crop.data if crop is not None else b"")
    return digest.hexdigest()


@dataclass(frozen=True)
class Instruction:
    """The text for the robot, and its meaning.

    Only ``text``, or its segments, ever reaches a policy. Perturbations act on the structure, and the goal is made from
    it; its keys belong to the task.

    Attributes:
        text: the words the policy receives.
        family: the task's family of instructions, for instance ``block_to_block``.
        arguments: sorted (key, value) pairs, for instance ``("source", "red_moon")``.
        segments: the parts of the text, in order; empty if it was not split.
        meant: the words that mean the structure, if ``text`` does not, as with random letters or words unknown to the
            task; else empty.
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

    @property
    def pictured(self) -> bool:
        """Whether a part of the instruction is shown by a picture, and not masked."""
        return any(segment.crop is not None and segment.visible for segment in self.segments)

    def get(self, key: str) -> str | None:
        """Return the argument's value, or None if the instruction has no such argument."""
        return dict(self.arguments).get(key)
