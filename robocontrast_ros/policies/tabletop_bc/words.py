"""Instructions as vectors of their tokens, by all-MiniLM-L6-v2's tokenizer and its table of tokens."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from robocontrast_ros.policies.sentence_encoder import SentenceEncoder
from robocontrast_ros.policies.tabletop_bc.grounding import LONGEST


def token_vectors(encoder: SentenceEncoder, texts: Sequence[str]) -> tuple[Tensor, Tensor]:
    """Return the tokens' vectors, float32 of shape (n, l, 384), and which of them there are, shape (n, l).

    Tokens after the first LONGEST are left out; l is the length of the longest text, at least 1.
    """
    ids = [encoder.tokens(text)[:LONGEST] for text in texts]
    length = max(1, *map(len, ids))
    padded = torch.tensor([[*own, *[0] * (length - len(own))] for own in ids])
    spoken = torch.arange(length) < torch.tensor([[len(own)] for own in ids])
    return torch.from_numpy(encoder.token_vectors(padded.numpy())), spoken
