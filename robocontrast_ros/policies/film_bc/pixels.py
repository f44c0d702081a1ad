"""Camera images at the resolution that the keypoint network was trained on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


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
