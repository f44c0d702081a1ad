"""Instructions of a grammar taken apart: the words that refer to something, and other words for the rest."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from robocontrast_ros.domain import Instruction, Scene, Segment, SegmentKind
from robocontrast_ros.tasks.grammar import (
    Alternative,
    Choose,
    Grammar,
    change_wording,
    drawn,
    first,
    keep_wording,
    meaning,
    means,
)
from robocontrast_ros.tasks.protocol import Task


def taken_apart(task: Task, instruction: Instruction) -> tuple[Segment, ...]:
    """Return an instruction's segments, by the task's wording if it has none; none if that does not know it."""
    if instruction.segments or task.wording is None:
        return instruction.segments
    try:
        return task.wording.segments(instruction)
    except ValueError:
        return ()


class GrammarWording(ABC):
    """Base of the ``protocol.Wording`` of a task whose sentences are a grammar's.

    Attributes:
        grammar: the sentences.
        roles: rules that refer to something, each also the name of the argument with the referent.
    """

    grammar: Grammar
    roles: Mapping[str, SegmentKind]

    @abstractmethod
    def called(self, entity: str, scene: Scene) -> Iterable[tuple[str, bool]]:
        """Yield the names that a thing (or place) can have in a scene, each with whether it means that thing alone."""

    def segments(self, instruction: Instruction) -> tuple[Segment, ...]:
        """Return the words of an instruction as segments."""
        found: list[Segment] = []
        referents = 0
        for words, role in self.grammar.parts(instruction.text, self.roles):
            if not role:
                found.append(Segment(SegmentKind.TEXT, words))
                continue
            referents += 1
            entity = str(instruction.get(role))
            found.append(Segment(self.roles[role], words, f"referent_{referents}", entity=entity))
        return tuple(found)

    def paraphrase(self, instruction: Instruction, rng: np.random.Generator) -> str:
        """Return other words for all but the referents."""
        return self._reworded(instruction, change_wording(self.grammar.read(instruction.words), drawn(rng)))

    def original(self, instruction: Instruction) -> str:
        """Return the grammar's first words for all but the referents."""
        return self._reworded(instruction, first)

    def _reworded(self, instruction: Instruction, otherwise: Choose) -> str:
        """Return a text with the same referring words; all others are chosen."""
        before = self.grammar.read(instruction.words)
        kept = {a.rule: a for a in before if self._is_of_a_role(a.rule)}

        def choose(fitting: Sequence[Alternative]) -> Alternative:
            return kept.get(fitting[0].rule) or otherwise(fitting)

        text, _ = self.grammar.say(means(meaning(before)), choose)
        return text[:1].upper() + text[1:] if instruction.words[:1].isupper() else text

    def descriptors(self, segment: Segment, scene: Scene) -> Iterable[tuple[str, bool]]:
        """Return the names that the thing of a segment can have in a scene."""
        return self.called(segment.entity, scene)

    def _is_of_a_role(self, rule: str) -> bool:
        # The rules of the parts of an expression begin with its role: `target_noun`.
        return any(rule == role or rule.startswith(f"{role}_") for role in self.roles)


class GrammarLanguage(GrammarWording):
    """Base of the ``protocol.Language``, the ``Rewording`` and the ``Wording`` of a task in one.

    The possible sentences depend on the instruction and the scene alone; of several wordings one is chosen.
    """

    def realise(self, instruction: Instruction, scene: Scene, rng: np.random.Generator) -> Instruction:
        """Return the instruction in words drawn uniformly, choice by choice, from those that fit.

        Raises:
            ValueError: there are no words for it in this scene.
        """
        return self._said(instruction, scene, drawn(rng))

    def reword(
        self, instruction: Instruction, arguments: Mapping[str, str], scene: Scene, rng: np.random.Generator
    ) -> Instruction:
        """Return the instruction with some arguments changed, in the same wording.

        Words without a counterpart in the new meaning are drawn.

        Raises:
            ValueError: the instruction's words are not of the grammar.
        """
        before = self.grammar.read(instruction.words)
        return self._said(with_arguments(instruction, arguments), scene, keep_wording(before, self.roles, drawn(rng)))

    def rephrase(self, instruction: Instruction, scene: Scene, rng: np.random.Generator) -> Instruction:
        """Return the instruction in other words, if there are any.

        Raises:
            ValueError: the instruction's words are not of the grammar.
        """
        before = self.grammar.read(instruction.words)
        return self._said(instruction, scene, change_wording(before, drawn(rng)))

    @abstractmethod
    def _said(self, instruction: Instruction, scene: Scene, choose: Choose) -> Instruction:
        """Return the instruction in words that fit a scene, and nothing else meant.

        Raises:
            ValueError: there are none.
        """


class FixedLanguage:
    """The ``protocol.Language`` of a task with one sentence for each condition, such as those of a suite of tasks."""

    def __init__(self, conditions: Iterable[Instruction]) -> None:
        """Take the conditions, in words."""
        self._known = {instruction.text: instruction for instruction in conditions}

    def conditions(self) -> Iterator[Instruction]:
        """Enumerate the conditions."""
        return iter(self._known.values())

    def realise(self, instruction: Instruction, scene: Scene, rng: np.random.Generator) -> Instruction:
        """Return the instruction as it is."""
        return instruction

    def parse(self, text: str, scene: Scene) -> Instruction:
        """Return the condition with these words.

        Raises:
            ValueError: there is none.
        """
        if text not in self._known:
            raise ValueError(f"instruction '{text}': expected one of the task's, such as '{next(iter(self._known))}'")
        return self._known[text]


def with_arguments(instruction: Instruction, arguments: Mapping[str, str]) -> Instruction:
    """Return an instruction with some arguments changed, in the same words."""
    return replace(instruction, arguments=tuple({**dict(instruction.arguments), **arguments}.items()))
