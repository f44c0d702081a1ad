"""Instructions of a grammar taken apart: which words refer to something, and other words for the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from robocontrast_ros.domain import Instruction, Scene, Segment, SegmentKind
from robocontrast_ros.tasks.grammar import Alternative, Choose, Grammar, change_wording, drawn, first, meaning, means
from robocontrast_ros.tasks.protocol import Task

Descriptors = Callable[[str, Scene], Iterable[tuple[str, bool]]]
"""What a thing (or place) can be called in a scene, each with whether that means it alone."""


def taken_apart(task: Task, instruction: Instruction) -> tuple[Segment, ...]:
    """Return an instruction's segments, by the task's wording where it has none; none where that does not know it."""
    if instruction.segments or task.wording is None:
        return instruction.segments
    try:
        return task.wording.segments(instruction)
    except ValueError:
        return ()


class GrammarWording:
    """The ``protocol.Wording`` of a task whose sentences are a grammar's."""

    def __init__(self, grammar: Grammar, roles: Mapping[str, SegmentKind], descriptors: Descriptors) -> None:
        """Take the grammar.

        Args:
            grammar: the sentences.
            roles: rules that refer to something, each also the name of the argument that says to what.
            descriptors: what something can be called.
        """
        self._grammar, self._roles, self._descriptors = grammar, roles, descriptors

    def segments(self, instruction: Instruction) -> tuple[Segment, ...]:
        """Return the words of an instruction as segments."""
        found: list[Segment] = []
        referents = 0
        for words, role in self._grammar.parts(instruction.text, self._roles):
            if not role:
                found.append(Segment(SegmentKind.TEXT, words))
                continue
            referents += 1
            entity = str(instruction.get(role))
            found.append(Segment(self._roles[role], words, f"referent_{referents}", entity=entity))
        return tuple(found)

    def paraphrase(self, instruction: Instruction, rng: np.random.Generator) -> str:
        """Return other words for all but the referents."""
        return self._reworded(instruction, change_wording(self._grammar.read(instruction.words), drawn(rng)))

    def original(self, instruction: Instruction) -> str:
        """Return the grammar's first words for all but the referents."""
        return self._reworded(instruction, first)

    def _reworded(self, instruction: Instruction, otherwise: Choose) -> str:
        """Return a text with the same referring words; all others are chosen."""
        before = self._grammar.read(instruction.words)
        kept = {a.rule: a for a in before if self._is_of_a_role(a.rule)}

        def choose(fitting: Sequence[Alternative]) -> Alternative:
            return kept.get(fitting[0].rule) or otherwise(fitting)

        text, _ = self._grammar.say(means(meaning(before)), choose)
        return text[:1].upper() + text[1:] if instruction.words[:1].isupper() else text

    def descriptors(self, segment: Segment, scene: Scene) -> Iterable[tuple[str, bool]]:
        """Return what the thing of a segment can be called in a scene."""
        return self._descriptors(segment.entity, scene)

    def _is_of_a_role(self, rule: str) -> bool:
        # The rules of the parts of an expression begin with its role: `target_noun`.
        return any(rule == role or rule.startswith(f"{role}_") for role in self._roles)
