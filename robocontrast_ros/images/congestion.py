"""Feature congestion: a measure of an image's clutter.

Rosenholtz, Li, Nakano: *Measuring Visual Clutter* (Journal of Vision, 2007), as the Python package ``visual-clutter``
1.0.7 computes it, so that numbers can be compared with published ones: 0 is an even surface to which nothing could be
added unnoticed; the more colours, contrasts and orientations vary locally, the larger the number. Constants are that
package's, with their oddities: XYZ in 0 to 1 is divided by a white of 100, and a level loses weight as it is brought to
full size.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Map = NDArray[np.float64]

LEVELS = 3
"""Number of levels of the pyramid; each has half as many rows and columns as the one before."""

SMALLEST = 56
"""Rows and columns of the smallest image [px]: the last level is still wider than its filters."""

SCALES = {"colour": 0.2088, "contrast": 0.0660, "orientation": 0.0269}
"""Divisor of each part, so that the parts can be added."""

TO_XYZ = np.array(
    [[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]]
) / np.array([[95.047], [100.0], [108.833]])
"""Matrix from linear sRGB, in 0 to 1, to XYZ, over a white of 100."""

COLOUR_NOISE = (0.0007**2, 0.1**2, 0.05**2)
"""Terms added to the variances of L, a and b: below them, no difference is seen."""

ORIENTATION_NOISE = 0.001


@dataclass(frozen=True)
class Congestion:
    """Feature congestion of an image.

    Attributes:
        parts: part -> its map as a summand, of the image's shape.
    """

    parts: dict[str, Map]

    @property
    def map(self) -> Map:
        """The congestion at each pixel, of the image's shape."""
        return sum(self.parts.values(), np.zeros(()))

    @property
    def total(self) -> float:
        """The congestion of the whole image: the mean of its map."""
        return float(self.map.mean())


def feature_congestion(image: NDArray[np.uint8]) -> Congestion:
    """Return the feature congestion of an image.

    Args:
        image: sRGB, shape (rows, columns, 3). The measure depends on the resolution; ``resized`` brings any image to
            the one whose numbers can be compared.

    Raises:
        ValueError: the image has another shape, or a side is shorter than ``SMALLEST``.
    """
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or min(image.shape[:2]) < SMALLEST:
        raise ValueError(
            f"an image of shape {image.shape}, {image.dtype}; expected (rows, columns, 3), uint8, and at least "
            f"{SMALLEST} rows and columns"
        )
    levels = [_lab(image)]
    while len(levels) < LEVELS:
        levels.append(_halved(levels[-1]))
    lightness = [np.ascontiguousarray(level[..., 0]) for level in levels]
    parts = {
        "colour": [_colour(level) for level in levels],
        "contrast": [_contrast(level) for level in lightness],
        "orientation": [_orientation(level) for level in lightness],
    }
    return Congestion({name: _collapsed(maps) / SCALES[name] for name, maps in parts.items()})


def _lab(image: NDArray[np.uint8]) -> Map:
    """Return an image as L, a, b, rounded to single precision."""
    c = (cv2.LUT(image, _linear()).reshape(-1, 3) @ TO_XYZ.T).reshape(image.shape)
    f = np.where(c >= 0.008856, np.cbrt(c), 7.787 * c + 16 / 116)
    x, y, z = f[..., 0], f[..., 1], f[..., 2]
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1).astype(np.float32).astype(np.float64)


@cache
def _linear() -> Map:
    values = np.arange(256) / 255
    return np.where(values >= 0.04045, ((values + 0.055) / 1.055) ** 2.4, values / 12.92)


def _halved(level: Map) -> Map:
    kernel = np.array([1.0, 4.0, 6.0, 4.0, 1.0]) / 16 * np.sqrt(2)
    return np.ascontiguousarray(cv2.sepFilter2D(level, -1, kernel, kernel, borderType=cv2.BORDER_REFLECT_101)[::2, ::2])


def _colour(level: Map) -> Map:
    """Return the size of the ellipsoid of colours about each place."""
    kernel = _gaussian(6, 3.0)
    v = [np.ascontiguousarray(level[..., one]) for one in range(3)]
    mean = [_mean(one, kernel) for one in v]
    pairs = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
    ll, la, lb, aa, ab, bb = (
        _mean(v[i] * v[j], kernel) - mean[i] * mean[j] + (COLOUR_NOISE[i] if i == j else 0.0) for i, j in pairs
    )
    volume = ll * (aa * bb - ab * ab) - la * (la * bb - ab * lb) + lb * (la * ab - aa * lb)
    return np.cbrt(np.sqrt(np.maximum(volume, 0.0)))


def _contrast(level: Map) -> Map:
    """Return the standard deviation, about each place, of the contrast of light with its surroundings."""
    inner, outer = (
        cv2.sepFilter2D(level, -1, kernel, kernel, borderType=cv2.BORDER_REFLECT_101)
        for kernel in (_gaussian(3, 0.71), _gaussian(3, 1.14))
    )
    contrast = np.abs(inner - outer)
    kernel = _gaussian(6, 3.0)
    return np.sqrt(np.abs(_mean(contrast**2, kernel) - _mean(contrast, kernel) ** 2))


def _orientation(level: Map) -> Map:
    """Return the size of the ellipse of orientations about each place."""
    level = level.astype(np.float32)  # enough here, and twice as fast
    rows, columns = (_pooling(size) for size in level.shape)
    h, v, left, right = (
        (columns @ (rows @ cv2.filter2D(level, -1, kernel, borderType=cv2.BORDER_REFLECT_101) ** 2).T).T
        for kernel in _oriented()
    )
    total = h + v + left + right + 1.0
    c, s = (h - v) / total, (right - left) / total
    kernel = _gaussian(28, 14.0)
    mean_c, mean_s = _mean(c, kernel), _mean(s, kernel)
    cc = _mean(c * c, kernel) - mean_c**2 + ORIENTATION_NOISE
    ss = _mean(s * s, kernel) - mean_s**2 + ORIENTATION_NOISE
    cs = _mean(c * s, kernel) - mean_c * mean_s
    return np.sqrt(np.sqrt(np.maximum(cc * ss - cs**2, 0.0)))


@cache
def _pooling(size: int) -> csr_array:
    """Return the pooling of a line of pixels: at double resolution inside the image, and back over mirrored borders."""
    kernel = _gaussian(4, 1.75)
    half = len(kernel) // 2
    wide = np.zeros((2 * size, size))
    wide[::2] = np.eye(size)
    inside = np.convolve(np.ones(2 * size), kernel)[half:-half]
    wide = np.stack([2 * np.convolve(column, kernel)[half:-half] / inside for column in wide.T])
    mirrored = np.pad(wide, ((0, 0), (half, half)), mode="reflect")
    back = np.stack([np.convolve(column, kernel, "valid")[::2] for column in mirrored], axis=1)
    return csr_array(back.astype(np.float32))


@cache
def _oriented() -> tuple[Map, ...]:
    """Return second derivatives along y, x and both diagonals, shape (13, 13) each."""
    sigma = 16 / 14 * 1.75
    half = round(3 * sigma)
    across = _gaussian(half, sigma)
    layers = [np.outer(_gaussian(half, sigma, at), across) for at in (sigma, 0.0, -sigma)]
    turned = [[_rotated(layer, angle) for layer in layers] for angle in (-45.0, 45.0)]
    h, left, right = (-a + 2 * b - c for a, b, c in (layers, *turned))
    return h, np.ascontiguousarray(h.T), left, right


def _rotated(kernel: Map, degrees: float) -> Map:
    """Return a kernel turned about its middle, by bicubic interpolation (Catmull-Rom), of the same size and sum."""
    size = len(kernel)
    angle, middle = np.deg2rad(degrees), (size - 1) / 2
    row, column = np.mgrid[:size, :size] - middle
    x = np.cos(angle) * column - np.sin(angle) * row + middle
    y = np.sin(angle) * column + np.cos(angle) * row + middle
    floor_x, floor_y = np.floor(x).astype(int), np.floor(y).astype(int)
    least = kernel.min()
    wide = np.pad(kernel - least, size)
    found = np.zeros_like(kernel)
    for i in range(-1, 3):
        for j in range(-1, 3):
            weight = _cubic(y - floor_y - i) * _cubic(x - floor_x - j)
            found += weight * wide[floor_y + i + size, floor_x + j + size]
    found = np.clip(found, 0.0, wide.max()) + least
    return found / found.sum()


def _cubic(distance: Map) -> Map:
    d = np.abs(distance)
    return np.where(d < 1, 1.5 * d**3 - 2.5 * d**2 + 1, np.where(d < 2, -0.5 * d**3 + 2.5 * d**2 - 4 * d + 2, 0.0))


def _gaussian(half: int, sigma: float, center: float = 0.0) -> Map:
    kernel = np.exp(-((np.arange(-half, half + 1) - center) ** 2) / (2 * sigma**2))
    return kernel / kernel.sum()


def _mean(values: Map, kernel: Map) -> Map:
    """Return the mean about each place, over pixels inside the image."""
    found = cv2.sepFilter2D(values, -1, kernel, kernel, borderType=cv2.BORDER_CONSTANT)
    half = len(kernel) // 2
    rows, columns = (np.convolve(np.ones(size), kernel)[half:-half] for size in values.shape)
    return found / (rows[:, None] * columns).astype(values.dtype)


def _collapsed(maps: list[Map]) -> Map:
    """Return the maximum over the levels at each place, in the shape of the first."""
    kernel = np.array([0.05, 0.25, 0.4, 0.25, 0.05])
    found = maps[0].copy()
    for scale, level in enumerate(maps[1:], 1):
        for _ in range(scale):
            wide = np.zeros((2 * level.shape[0], 2 * level.shape[1]))
            wide[::2, ::2] = level
            level = cv2.sepFilter2D(wide, -1, kernel, kernel, borderType=cv2.BORDER_REFLECT_101)
        rows, columns = found.shape
        np.maximum(found, level[:rows, :columns], out=found)
    return found
