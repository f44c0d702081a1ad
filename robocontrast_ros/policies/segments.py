"""The form in which a policy gets an instruction: its text, or its segments (seed 004, section III)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from robocontrast_ros.domain import Instruction, Observed, Segment, SegmentKind, plain_text, segments_digest
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.tasks.protocol import Task
from robocontrast_ros.tasks.wording import taken_apart


@dataclass(frozen=True)
class Told:
    """An instruction in the form in which a policy gets it.

    Attributes:
        text: the words; with segments, those of the segments, so that they do not name a thing that a picture shows.
        segments: in place of the text; None for a policy that takes text alone.
    """

    text: str
    segments: tuple[Segment, ...] | None

    @property
    def sent(self) -> Observed:
        """The record of the words that are sent, before any image."""
        return Observed(self.text, segments_digest="" if self.segments is None else segments_digest(self.segments))


def one_segment(text: str) -> tuple[Segment, ...]:
    """Return a text that was not taken apart as segments: one of words, or none if it is empty."""
    return (Segment(SegmentKind.TEXT, text),) if text else ()


def to_send(instruction: Instruction, task: Task, description: PolicyDescription | None) -> tuple[Segment, ...]:
    """Return the segments of an instruction that leave the bench, without the entities that referents are.

    An instruction that has none is taken apart by the task, so that a perturbed one differs from it in the perturbed
    parts alone. There are none for a policy that takes text alone, and none if the task cannot take the words apart.
    """
    if description is None or not description.takes_segments:
        return ()
    return tuple(replace(segment, entity="") for segment in taken_apart(task, instruction))


def as_told(text: str, segments: Iterable[Segment], description: PolicyDescription) -> Told:
    """Return an instruction in the form in which a policy gets it.

    One that takes pictures gets no words for a referent that is shown by a picture. With ``mask: omit`` masked segments
    are left out.

    Args:
        text: the words for a policy that takes text alone.
        segments: its parts; empty if it was not taken apart.
        description: the policy's.
    """
    if not description.takes_segments:
        return Told(text, None)
    pictures, masks = description.referents == "crop", description.mask == "native"
    told = tuple(
        replace(segment, text="") if segment.crop is not None and pictures else replace(segment, crop=None)
        for segment in tuple(segments) or one_segment(text)
        if segment.visible or masks
    )
    return Told(plain_text(told), told)
