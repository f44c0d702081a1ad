"""Faults of a whole picture, before anything is looked for in it."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.images.boards import DARK, Intrinsics

Picture = NDArray[np.uint8]

WHITE, WHITE_SHARE = 253, 0.3
"""Brightness from which a pixel is overexposed, of 255, and the share of such pixels that is too many."""
FLAT = 12.0
"""Difference of the brightest and the darkest parts of a picture below which it shows nothing, of 255."""
BLURRED = 2.6
"""Width of the sharpest edges above which a picture is blurred: standard deviation of a Gaussian blur [pixel]."""


def problems_of(image: Picture, intrinsics: Intrinsics) -> tuple[str, ...]:
    """Return the faults of a picture, as sentences for people; none if it can be used.

    Args:
        image: RGB, shape (rows, columns, 3).
        intrinsics: those of the camera, for the size.

    Raises:
        ValueError: it is no RGB picture of 8 bits.
    """
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8:
        raise ValueError(f"image: got {image.dtype} {image.shape}, expected uint8 of the shape (rows, columns, 3)")
    if image.shape[:2] != (intrinsics.height, intrinsics.width):
        return (
            f"The picture has {image.shape[1]}x{image.shape[0]} pixels, the calibration is for "
            f"{intrinsics.width}x{intrinsics.height}. Set the camera to that size, or calibrate it again.",
        )
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    mean = float(grey.mean())
    if mean < DARK:
        return (f"The picture is dark (mean brightness {mean:.0f} of 255). Switch a light on.",)
    white = float((grey >= WHITE).mean())
    if white > WHITE_SHARE:
        return (f"The picture is overexposed: {white:.0%} of it is white. Shorten the exposure, or dim the light.",)
    width = edge_width(grey)
    if width is None:
        return ("The picture shows nothing but one plain colour. Look whether something covers the camera.",)
    if width > BLURRED:
        return (f"The picture is blurred (edges are {width:.1f} pixels wide). Focus the camera, and hold it still.",)
    return ()


def edge_width(grey: Picture) -> float | None:
    """Return the width of the sharpest edges, as the standard deviation of a Gaussian blur [pixel].

    None if there are no edges.
    """
    # A pixel's noise is no edge.
    smooth = cv2.GaussianBlur(grey, (0, 0), 0.8).astype(np.float32)
    slope = cv2.magnitude(
        cv2.Sobel(smooth, cv2.CV_32F, 1, 0, scale=0.125), cv2.Sobel(smooth, cv2.CV_32F, 0, 1, scale=0.125)
    )
    # An edge's height: change of brightness in the neighbourhood of the steepest places.
    around = np.ones((15, 15), np.uint8)
    step = cv2.dilate(smooth, around) - cv2.erode(smooth, around)
    steep = slope >= np.quantile(slope[::2, ::2], 0.995)
    height = float(np.median(step[steep]))
    if height < FLAT:
        return None
    # The greatest slope of a step of height h under a blur of width s is h / (s sqrt(2 pi)).
    ratio = float(np.quantile(slope[steep] / np.maximum(step[steep], 1.0), 0.75))
    return max(1.0 / (ratio * np.sqrt(2.0 * np.pi)) ** 2 - 0.8**2, 0.0) ** 0.5 if ratio > 0.0 else None
