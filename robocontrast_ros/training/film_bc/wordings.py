"""Every sentence of the Language-Table grammar with its vector, grouped by meaning."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import Instruction
from robocontrast_ros.policies.sentence_encoder import SentenceEncoder
from robocontrast_ros.tasks.language_table import LanguageTable
from robocontrast_ros.tasks.language_table.goals import DISTANCES
from robocontrast_ros.tasks.language_table.grammar import GRAMMAR, says
from robocontrast_ros.training.progress import TimeLeft
from robocontrast_ros.training.shards import Stored

BATCH = 4000
"""Sentences between two lines of progress."""


@dataclass
class Wordings(Stored):
    """Sentences, grouped by meaning.

    Attributes:
        texts: n sentences.
        meanings: index of each sentence's meaning, shape (n,), ascending.
        vectors: of the encoder, shape (n, EMBEDDING_SIZE).
    """

    texts: NDArray[np.str_]
    meanings: NDArray[np.int64]
    vectors: NDArray[np.float16]

    @classmethod
    def of(cls, task: LanguageTable, encoder: SentenceEncoder, say: Callable[[str], None]) -> Wordings:
        """Encode every sentence, which takes minutes; ``say`` receives lines of progress."""
        texts, meanings = [], []
        for number, instruction in enumerate(_conditions(task)):
            said = list(GRAMMAR.say_every_way(says(instruction, task.parameters.blocks)))
            texts += said
            meanings += [number] * len(said)
        left, vectors = TimeLeft(len(texts)), []
        for end in range(BATCH, len(texts) + BATCH, BATCH):
            vectors.append(encoder.encode(texts[end - BATCH : end]).astype(np.float16))
            done = min(end, len(texts))
            say(f"sentences: {done} of {len(texts)}, {left.after(done)}")
        return cls(np.array(texts), np.array(meanings), np.concatenate(vectors))

    @classmethod
    def cached(cls, path: Path, task: LanguageTable, encoder: SentenceEncoder, say: Callable[[str], None]) -> Wordings:
        """Return the wordings in a file; make the file if it is missing."""
        if not path.exists():
            cls.of(task, encoder, say).save(path)
        return cls.load(path)


def _conditions(task: LanguageTable) -> Iterator[Instruction]:
    """Enumerate the meanings of sentences: the task's conditions, near and far apart."""
    for instruction in task.language.conditions():
        arguments = dict(instruction.arguments)
        for distance in DISTANCES if "distance" in arguments else (None,):
            changed = arguments if distance is None else {**arguments, "distance": distance}
            yield replace(instruction, arguments=tuple(changed.items()))
