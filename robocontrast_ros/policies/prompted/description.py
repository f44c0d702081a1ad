"""What the policies observe and answer with; read without PyTorch."""

from __future__ import annotations

from dataclasses import replace

from robocontrast_ros.policies.action_spaces import PLANAR_DELTA
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.policies.sentence_encoder import encoder_reads

LONGEST = 64
"""Words (tokens) and pictures of a prompt, at most; what follows is not read."""

MARKS = 2
"""Tokens that the tokenizer adds to a text; they are left out of the prompt."""


PICTURES = 2
"""Places of pictures in a prompt about two blocks; ``max_tokens`` counts none of them."""


def describe(name: str) -> PolicyDescription:
    """Return the description: it is shown the list of objects, and given segments, with pictures and masks.

    Raises:
        ConfigurationError: the package of the sentence encoder is not installed.
    """
    reads = {**encoder_reads(), "max_tokens": LONGEST + MARKS - PICTURES}
    return replace(PLANAR_DELTA, name=name, privileged=True, objects=True, referents="crop", mask="native", **reads)
