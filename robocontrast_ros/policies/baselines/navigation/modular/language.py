"""Finds the places that an instruction names, by sentence embeddings of its phrases."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from robocontrast_ros.domain.products import dot
from robocontrast_ros.policies.baselines.navigation.modular.parameters import LanguageParameters
from robocontrast_ros.policies.sentence_encoder import SentenceEncoder


@dataclass(frozen=True)
class Phrase:
    """A part of an instruction and the category nearest to it in meaning.

    Attributes:
        text: the words.
        category: the nearest one.
        similarity: cosine with it.
    """

    text: str
    category: str
    similarity: float


class PhraseGrounder:
    """Finds the categories that an instruction names, in the order in which it names them."""

    def __init__(self, parameters: LanguageParameters, categories: Sequence[str], encoder: SentenceEncoder) -> None:
        """Take the parameters and the categories, whose embeddings are computed now."""
        self._parameters, self._categories, self._encoder = parameters, tuple(categories), encoder
        self._known = encoder.encode([parameters.template.format(category) for category in categories])
        words = "|".join(re.escape(word) for word in parameters.separators)
        self._cut = re.compile(rf"[,.;:!?]|\b(?:{words})\b" if words else "[,.;:!?]", re.IGNORECASE)

    def phrases(self, instruction: str) -> tuple[Phrase, ...]:
        """Return the phrases of an instruction, each with its nearest category; none of an empty text."""
        texts = [text.strip() for text in self._cut.split(instruction) if text.strip()]
        found = []
        for text in texts:
            (vector,) = self._encoder.encode([text])
            similarities = dot(self._known, vector)
            best = int(similarities.argmax())
            found.append(Phrase(text, self._categories[best], float(similarities[best])))
        return tuple(found)

    def places(self, instruction: str) -> tuple[str, ...]:
        """Return the categories to go to, in order; only the likeliest one if no phrase is similar enough."""
        phrases = self.phrases(instruction)
        sure = [p.category for p in phrases if p.similarity >= self._parameters.least_similarity]
        if not sure and phrases:
            sure = [max(phrases, key=lambda p: p.similarity).category]
        return tuple(c for c, before in zip(sure, [None, *sure], strict=False) if c != before)
