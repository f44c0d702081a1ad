"""Tags that lie on the table for good: their places, as a camera just calibrated sees them."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.images.tag_families import USUAL
from robocontrast_ros.perception.camera import CalibratedCamera, Floats
from robocontrast_ros.perception.tags import ObjectTag, TagReader

FLAT = 0.04
"""Greatest distance of a flat tag's corner from that of a square, as a share of its side."""


class NotFlat(ValueError):
    """A seen tag does not lie flat at the given height."""


def lying_tags(
    images: Sequence[NDArray[np.uint8]],
    camera: CalibratedCamera,
    height: float,
    others: Collection[int] = (),
    family: str = USUAL,
) -> tuple[ObjectTag, ...]:
    """Return the tags that lie flat at a height, with their poses in the world frame, by number.

    Args:
        images: RGB, shape (rows, columns, 3), in which nothing moved; several average the noise.
        camera: the camera of the images.
        height: height of the tags, world frame [m].
        others: numbers of tags to ignore, such as the board's.
        family: family of the tags, that of the board.

    Raises:
        NotFlat: a tag is upright, higher, lower or bent.
        ValueError: a number is there twice.
    """
    reader, seen = TagReader(family), dict[int, list[Floats]]()
    for image in images:
        found = reader.read(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY))
        if twice := [number for number in found.twice if number not in others]:
            raise ValueError(f"tag {twice[0]} is there twice; cover one of the two")
        for number in sorted({*found.corners} - {*others}):
            seen.setdefault(number, []).append(camera.on_plane(found.corners[number], height))
    return tuple(_square(number, np.mean(corners, axis=0), height, family) for number, corners in sorted(seen.items()))


def _square(number: int, corners: Floats, height: float, family: str) -> ObjectTag:
    """Return the tag whose corners are nearest to these, shape (4, 2) [m]."""
    right = (corners[1] - corners[0] + corners[2] - corners[3]) / 2.0
    up = (corners[0] - corners[3] + corners[1] - corners[2]) / 2.0
    # The mean of both edges' directions: `up` turned to the right by a quarter.
    along = right + np.array((up[1], -up[0]))
    yaw, size = math.atan2(along[1], along[0]), float(np.hypot(*along)) / 2.0
    middle = corners.mean(axis=0)
    if not (math.isfinite(size) and size > 0.0):
        raise NotFlat(f"tag {number} is above the horizon of the table")
    tag = ObjectTag(
        number=number,
        size=round(size, 5),
        position=(round(float(middle[0]), 5), round(float(middle[1]), 5), height),
        orientation=(0.0, 0.0, round(math.sin(yaw / 2.0), 6), round(math.cos(yaw / 2.0), 6)),
        family=family,
    )
    if np.linalg.norm(tag.corners[:, :2] - corners, axis=1).max() > FLAT * size:
        raise NotFlat(f"tag {number} does not lie flat at the height of the board")
    return tag
