"""Segments of an instruction as tokens: words and pictures, visible or masked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch.nn import functional

from robocontrast_ros.domain import Crop, Segment
from robocontrast_ros.policies.prompted.description import LONGEST
from robocontrast_ros.policies.prompted.network import PICTURE, Prompts, as_input
from robocontrast_ros.policies.sentence_encoder import SentenceEncoder


def prompt_of(segments: Sequence[Segment], encoder: SentenceEncoder) -> Prompts:
    """Return a prompt, a batch of one, in the default precision of PyTorch.

    A segment with a picture is one token, whatever its words; the words of the others are tokens of the sentence
    encoder, without its marks. What is masked keeps its place. What follows the first LONGEST tokens is left out.
    """
    tokens: list[tuple[int, Crop | None, bool]] = []
    for segment in segments:
        if segment.crop is not None:
            tokens.append((0, segment.crop, segment.visible))
        else:
            tokens += [(token, None, segment.visible) for token in encoder.tokens(segment.text)[1:-1]]
    tokens = tokens[:LONGEST]
    crops = [crop for _, crop, _ in tokens if crop is not None]
    ids = np.array([token for token, _, _ in tokens], dtype=np.int64)
    numbers = iter(range(len(crops)))
    picture = [-1 if crop is None else next(numbers) for _, crop, _ in tokens]
    return Prompts(
        torch.from_numpy(encoder.token_vectors(ids)).to(torch.get_default_dtype())[None],
        torch.tensor([picture], dtype=torch.long),
        as_input(torch.stack([_fitted(crop) for crop in crops])) if crops else torch.zeros(0, 3, PICTURE, PICTURE),
        torch.tensor([[visible for _, _, visible in tokens]], dtype=torch.bool),
    )


def _fitted(crop: Crop) -> torch.Tensor:
    """Return a picture of any size in PICTURE rows and columns, uint8."""
    pixels = torch.from_numpy(crop.pixels.copy())
    if pixels.shape[:2] == (PICTURE, PICTURE):
        return pixels
    means = functional.adaptive_avg_pool2d(pixels.permute(2, 0, 1).double(), PICTURE)
    return means.round().to(torch.uint8).permute(1, 2, 0)
