"""Encodes instructions as inputs of a network."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from robocontrast_ros.configuration import ConfigurationError, resolve_uri
from robocontrast_ros.policies.adapters.torch_model.parameters import TorchParameters
from robocontrast_ros.policies.sentence_encoder import SentenceEncoder

Encoder = Callable[[str], dict[str, Any]]
"""Instruction -> inputs of the network: key -> array or text."""


def make_encoder(path: Path, parameters: TorchParameters) -> Encoder:
    """Return the encoder of instructions.

    Raises:
        ConfigurationError: the weights or the tokenizer that it needs cannot be read.
    """
    key, encode = parameters.input.instruction, parameters.instruction.encode
    if encode == "none":
        return lambda instruction: {}
    if encode == "text":
        return lambda instruction: {key: instruction}
    if encode == "minilm":
        shipped = SentenceEncoder.shipped()
        return lambda instruction: {key: shipped.encode([instruction])[0].astype(np.float32)}
    return _tokens(path, parameters)


def _tokens(path: Path, parameters: TorchParameters) -> Encoder:
    key, wanted = parameters.input.instruction, parameters.instruction
    file = resolve_uri(wanted.tokenizer or "", path.parent)
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises no narrower type
        expected = "a file tokenizer.json as `tokenizers` writes it"
        raise ConfigurationError(
            str(path), "instruction.tokenizer", wanted.tokenizer, expected, f"It says: {error}."
        ) from None
    padding = tokenizer.padding or {}
    tokenizer.enable_truncation(wanted.length)
    tokenizer.enable_padding(
        length=wanted.length,
        pad_id=padding.get("pad_id", 0),
        pad_token=padding.get("pad_token", "[PAD]"),
    )

    def encode(instruction: str) -> dict[str, Any]:
        encoded = tokenizer.encode(instruction)
        inputs = {key: np.array(encoded.ids, np.int64)}
        if wanted.mask is not None:
            inputs[wanted.mask] = np.array(encoded.attention_mask, np.int64)
        return inputs

    return encode
