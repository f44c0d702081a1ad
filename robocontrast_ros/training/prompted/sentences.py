"""Every sentence of the grammar for each instruction: the original one, those of paraphrases, and some held out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from robocontrast_ros.domain import Instruction
from robocontrast_ros.policies.prompted.structure import ARGUMENTS, CLASSES, ROLES
from robocontrast_ros.tasks.language_table import LanguageTable
from robocontrast_ros.tasks.language_table.blocks import ALL_BLOCKS, Reference
from robocontrast_ros.tasks.language_table.grammar import GRAMMAR, says

Pattern = tuple[str, ...]
"""A sentence: words, and in place of each block its role."""

Meaning = tuple[tuple[str, str], ...]
"""Family and arguments but the blocks, sorted."""


@dataclass(frozen=True)
class Wordings:
    """The sentences of one meaning.

    Attributes:
        original: the sentence for training without paraphrases; it is among ``spoken``.
        spoken: the sentences for training with paraphrases.
        held_out: the sentences that are in no training.
    """

    original: Pattern
    spoken: tuple[Pattern, ...]
    held_out: tuple[Pattern, ...]


def all_wordings(task: LanguageTable, held_out: float, seed: int) -> Mapping[Meaning, Wordings]:
    """Return the sentences of every meaning in a task.

    Args:
        task: its families.
        held_out: share of the sentences of each meaning that is held out; never the original.
        seed: of their choice.
    """
    rng = np.random.default_rng(seed)
    found = {}
    for meant in _meanings(task):
        # Other blocks in the roles change nothing else in a sentence.
        roles = dict(zip((role for role in ROLES if role in ARGUMENTS[meant.family]), ALL_BLOCKS, strict=False))
        full = replace(meant, arguments=(*meant.arguments, *roles.items()))
        texts = list(dict.fromkeys(GRAMMAR.say_every_way(says(full, roles.values()))))
        texts = [text for text in texts if all(_words(block) in text for block in roles.values())]
        original = task.wording.original(replace(full, text=texts[0]))
        others = [text for text in texts if text != original]
        kept = set(rng.permutation(len(others))[round(held_out * len(others)) :].tolist())
        spoken = [original, *(text for number, text in enumerate(others) if number in kept)]
        unheard = [text for number, text in enumerate(others) if number not in kept]
        pattern, *patterns = (_pattern(text, roles) for text in (original, *spoken, *unheard))
        found[key_of(meant)] = Wordings(pattern, tuple(patterns[: len(spoken)]), tuple(patterns[len(spoken) :]))
    return found


def key_of(instruction: Instruction) -> Meaning:
    """Return the meaning of an instruction without its blocks."""
    parts = {"family": instruction.family, **dict(instruction.arguments)}
    return tuple(sorted((key, value) for key, value in parts.items() if key not in ROLES))


def _meanings(task: LanguageTable) -> Iterator[Instruction]:
    for family in task.families:
        meant = [Instruction("", family)]
        for part in (part for part in ARGUMENTS[family] if part in CLASSES):
            meant = [
                replace(one, arguments=(*one.arguments, (part, value))) for one in meant for value in CLASSES[part]
            ]
        yield from meant


def _words(block: str) -> str:
    return Reference(*block.split("_")).words


def _pattern(text: str, roles: Mapping[str, str]) -> Pattern:
    parts: list[str] = [text]
    for role, block in roles.items():
        parts = [piece for part in parts for piece in _around(part, _words(block), role)]
    return tuple(part for part in parts if part)


def _around(part: str, words: str, role: str) -> tuple[str, ...]:
    before, found, after = part.partition(words)
    return (before, role, after) if found else (part,)
