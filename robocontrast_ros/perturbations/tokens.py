"""Tokens of a policy's tokenizer that mean nothing, in place of a word's (seed 004, Gobbledygook Tokens)."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.configuration.minilm import MINILM, minilm_folder

TRIES = 100
"""Greatest number of draws for one word."""

_CONTINUES = "##"
_BEGINS = ("\u2581", "\u0120")  # SentencePiece's and byte-level BPE's sign of a blank before


class Tokens:
    """A tokenizer and its vocabulary."""

    def __init__(self, file: str = "") -> None:
        """Load a ``tokenizer.json``; that of all-MiniLM-L6-v2 without a path, or by its name.

        Raises:
            ConfigurationError: it cannot be read.
        """
        path = minilm_folder() / "tokenizer.json" if file in ("", MINILM) else Path(file)
        try:
            self._tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # tokenizers raises Exception itself
            raise ConfigurationError(
                "tokenizer",
                "tokenizer",
                file,
                "a `tokenizer.json` of the Python package tokenizers",
                f"It says: {error}.",
            ) from None
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def of(self, text: str) -> list[int]:
        """Return the tokens of a text, without marks of its beginning and end."""
        return self._tokenizer.encode(text, add_special_tokens=False).ids

    def count(self, text: str) -> int:
        """Return the number of tokens of a text, marks of its beginning and end included."""
        return len(self._tokenizer.encode(text).ids)

    def meaningless(self, word: str, but: set[int], rng: np.random.Generator) -> str | None:
        """Return a word of as many random tokens as another; None if none was found.

        Args:
            word: without blanks.
            but: tokens that it must not have.
            rng: the only source of randomness.
        """
        count = len(self.of(word))
        first, later = self._pieces
        for _ in range(TRIES):
            drawn = [first[rng.integers(len(first))], *(later[rng.integers(len(later))] for _ in range(count - 1))]
            text = "".join(drawn)
            ids = self.of(text)
            if len(ids) == count and but.isdisjoint(ids):
                return text
        return None

    @cached_property
    def _pieces(self) -> tuple[list[str], list[str]]:
        """Pieces of ASCII letters that begin a word, and those that continue one, each in alphabetical order."""
        vocabulary = self._tokenizer.get_vocab()
        marked = any(piece.startswith(_BEGINS) for piece in vocabulary)
        first, later = set(), set()
        for piece in vocabulary:
            if marked:
                kind, plain = (first, piece[1:]) if piece.startswith(_BEGINS) else (later, piece)
            else:
                kind, plain = (later, piece[2:]) if piece.startswith(_CONTINUES) else (first, piece)
            if plain.isascii() and plain.isalpha():
                kind.add(plain)
        return sorted(first), sorted(later or first)
