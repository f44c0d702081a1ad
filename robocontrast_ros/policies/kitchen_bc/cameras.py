"""The camera that the policy sees the kitchen with, at its nominal pose in ``models/kitchen.xml``."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain.products import product
from robocontrast_ros.policies.tabletop_bc.cameras import HEIGHT, WIDTH, View

AGENT = View(
    "agent",
    (-0.12, 0.56, 0.82),
    (-0.635707253, -0.771930236, 0.0),
    (0.504427046, -0.415410509, 0.756959355),
    math.radians(45.0),
    (24, 32, 200, 256),
)
"""It looks from above the robot's left shoulder at the table and at the fronts of what stands there."""


def on_table(pixels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return x and y [m] of the table's points at columns and rows of ``AGENT``'s window, both of shape (..., 2)."""
    right, up = np.array(AGENT.right), np.array(AGENT.up)
    across = (pixels[..., 0] + AGENT.window[1] - (WIDTH - 1) / 2) / AGENT.focal
    above = ((HEIGHT - 1) / 2 - AGENT.window[0] - pixels[..., 1]) / AGENT.focal
    rays = np.stack([across, above, np.ones_like(across)], axis=-1).reshape(-1, 3)
    ways = product(rays, np.stack([right, up, -np.cross(right, up)]))
    places = np.array(AGENT.position[:2]) - ways[:, :2] * (AGENT.position[2] / ways[:, 2:])
    return places.reshape(pixels.shape)
