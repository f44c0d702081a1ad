"""Inputs of the policies: the reduced image of a camera, or the blocks' poses; read without PyTorch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import Scene

CAMERA = "board"


def reduced(image: NDArray[np.uint8], height: int, width: int) -> NDArray[np.uint8]:
    """Return the image with each block of pixels averaged, shape (height, width, 3).

    Raises:
        ValueError: the image's sides are no whole multiples of the wanted ones.
    """
    rows, columns = image.shape[0] // height, image.shape[1] // width
    if image.shape != (rows * height, columns * width, 3):
        raise ValueError(f"image: got shape {image.shape}, expected whole multiples of {height} x {width} pixels, RGB")
    if rows == columns == 1:
        return image
    # Sums of uint8 blocks in integers: rounded the same on every machine.
    total = image.reshape(height, rows, width, columns, 3).sum(axis=(1, 3), dtype=np.uint32)
    return ((total + rows * columns // 2) // (rows * columns)).astype(np.uint8)


def planar_state(scene: Scene, names: Sequence[str]) -> NDArray[np.float64]:
    """Return x, y [m] and yaw [rad] of each block, shape (len(names), 3).

    Raises:
        KeyError: the scene lacks one of the blocks.
    """
    poses = [scene[name].pose for name in names]
    return np.array([(*pose.position[:2], pose.yaw) for pose in poses])
