"""The two cameras that the policy sees the table with, at their nominal poses in ``models/tabletop.xml``.

``top`` looks straight down and shows the places of things, which hardly hide each other; ``front`` looks across the
table and shows their sides, which distinguish a red can from a blue one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain.products import product

WIDTH, HEIGHT = 320, 240
"""Size of the images [pixel]."""


@dataclass(frozen=True)
class View:
    """A camera, and the part of its image that things in the region can be seen in.

    Attributes:
        name: of the camera.
        position: world frame [m].
        right, up: unit vectors of the image's axes, world frame.
        fovy: vertical field of view [rad].
        window: first row, first column, rows and columns of that part [pixel].
    """

    name: str
    position: tuple[float, float, float]
    right: tuple[float, float, float]
    up: tuple[float, float, float]
    fovy: float
    window: tuple[int, int, int, int]

    @property
    def focal(self) -> float:
        """Focal length [pixel]."""
        return HEIGHT / 2 / math.tan(self.fovy / 2)

    def pixels(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return column and row in the window of points in the world, shape (..., 3) [m]; shape (..., 2)."""
        flat = (np.asarray(points, dtype=float) - self.position).reshape(-1, 3)
        right, up = np.array(self.right), np.array(self.up)
        across, above, forward = product(flat, np.stack([right, up, -np.cross(right, up)], axis=1)).T
        column = (WIDTH - 1) / 2 + self.focal * across / forward - self.window[1]
        row = (HEIGHT - 1) / 2 - self.focal * above / forward - self.window[0]
        return np.stack([column, row], axis=-1).reshape(*np.shape(points)[:-1], 2)

    def cut(self, image: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the window of an image.

        Raises:
            ValueError: it is no RGB image of WIDTH x HEIGHT.
        """
        if image.shape != (HEIGHT, WIDTH, 3):
            raise ValueError(
                f"image of '{self.name}': got shape {image.shape}, expected {HEIGHT} x {WIDTH} pixels, RGB"
            )
        row, column, rows, columns = self.window
        return image[row : row + rows, column : column + columns]


TOP = View("top", (0.45, 0.0, 1.25), (0.0, -1.0, 0.0), (1.0, 0.0, 0.0), math.radians(42.0), (44, 40, 144, 240))
FRONT = View(
    "front",
    (1.446, 0.0, 0.575),
    (0.0, 1.0, 0.0),
    (-0.5, 0.0, math.sqrt(0.75)),
    math.radians(38.0),
    (56, 16, 112, 288),
)


def on_table(pixels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return x and y [m] of the points of the table at columns and rows of ``TOP``'s window, both of shape (..., 2)."""
    column = pixels[..., 0] + TOP.window[1] - (WIDTH - 1) / 2
    row = pixels[..., 1] + TOP.window[0] - (HEIGHT - 1) / 2
    scale = TOP.position[2] / TOP.focal
    return np.stack([TOP.position[0] - row * scale, TOP.position[1] - column * scale], axis=-1)
