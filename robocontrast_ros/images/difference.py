"""How much a change of the scene changes what a camera sees.

Seed 003 takes the number of modifications for the size of the visual change (section V-C); three drawers that are open
may change less of a picture than two. These are measures of the pictures themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

LEAST = 8
"""Difference of a pixel's channel, of 255, above which the pixel counts as changed."""


@dataclass(frozen=True)
class VisualChange:
    """The size of the change between two pictures of one camera.

    Attributes:
        pixels: share of the pixels of which a channel differs by more than 8 of 255.
        mean: mean absolute difference of all channels, as a share of 255.
        bodies: share of the pixels that show another thing.
    """

    pixels: float
    mean: float
    bodies: float


MEASURES = tuple(field.name for field in fields(VisualChange))
"""Names of the measures."""


def visual_change(
    before: NDArray[np.uint8], after: NDArray[np.uint8], shown: NDArray[np.str_], shows: NDArray[np.str_]
) -> VisualChange:
    """Return the size of the change.

    Args:
        before: picture of the scene, RGB, shape (rows, columns, 3).
        after: that of the changed scene.
        shown: name of the thing that each pixel of the first shows, shape (rows, columns).
        shows: that of the second.

    Raises:
        ValueError: the shapes differ.
    """
    if not (before.shape == after.shape and shown.shape == shows.shape == before.shape[:2]):
        raise ValueError(f"got pictures of {before.shape} and {after.shape}, expected two of one size")
    apart = np.abs(before.astype(np.int16) - after.astype(np.int16))
    return VisualChange(
        float((apart.max(axis=2) > LEAST).mean()), float(apart.mean() / 255.0), float((shown != shows).mean())
    )
