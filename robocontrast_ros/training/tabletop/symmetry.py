"""Symmetry of an object: the turns about the vertical that leave its shape the same."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from transforms3d.quaternions import quat2mat

from robocontrast_ros.objects import ObjectModel
from robocontrast_ros.objects.model import Primitive

ROUND = (12, 8, 7)
"""Numbers of equal turns; a round object stays the same with all of them."""

TURNS = (4, 3, 2)
"""Numbers of equal turns that are tried otherwise."""

POINTS = 20_000
"""Number of points drawn over the object's height and reach, of which those inside are compared."""

SAME = 0.03
"""A turn that moves at least this share of an object's volume beyond its shape is no symmetry."""

BEYOND = 0.002
"""Length by which a shape may stick out of itself after a turn [m], so that rings of boxes are round."""


def symmetry(model: ObjectModel) -> int:
    """Return the number of equal turns that leave an object's shape the same, whatever its colours: 0 round, 1 none.

    A mesh has none.
    """
    if not model.parts:
        return 1
    rng = np.random.default_rng(0)
    reach = math.hypot(*model.size[:2]) / 2
    points = rng.uniform((-reach, -reach, 0.0), (reach, reach, model.size[2]), (POINTS, 3))
    # A point that a turn takes out of the shape comes in elsewhere, so points of the shape are enough.
    points = points[_inside(model, points)]
    if all(_stays(model, points, turns) for turns in ROUND):
        return 0
    return next((turns for turns in TURNS if _stays(model, points, turns)), 1)


def _stays(model: ObjectModel, points: NDArray[np.float64], turns: int) -> bool:
    """Return whether the first of equal turns leaves points of an object, shape (n, 3), inside it."""
    c, s = math.cos(math.tau / turns), math.sin(math.tau / turns)
    x, y, z = points.T
    turned = np.stack([c * x - s * y, s * x + c * y, z], axis=1)
    return bool(_inside(model, turned, BEYOND).mean() > 1.0 - SAME)


def _inside(model: ObjectModel, points: NDArray[np.float64], beyond: float = 0.0) -> NDArray[np.bool_]:
    """Return whether points, shape (n, 3), are in one of the parts, or within ``beyond`` [m] of its sides."""
    inside = np.zeros(len(points), dtype=bool)
    for part in model.parts:
        inside |= _in_part(part, points, beyond)
    return inside


def _in_part(part: Primitive, points: NDArray[np.float64], beyond: float) -> NDArray[np.bool_]:
    x, y, z, w = part.pose.orientation
    local = np.einsum("ij,jk->ik", points - part.pose.position, quat2mat((w, x, y, z)))
    a, b, c = (size + beyond for size in part.size)
    across = np.hypot(local[:, 0], local[:, 1])
    match part.type:
        case "box":
            return (np.abs(local) <= (a, b, c)).all(axis=1)
        case "ellipsoid":
            return ((local / (a, b, c)) ** 2).sum(axis=1) <= 1.0
        case "sphere":
            return (local**2).sum(axis=1) <= a**2
        case "cylinder":
            return (across <= a) & (np.abs(local[:, 2]) <= b)
    # A capsule; its length does not grow twice.
    return np.hypot(across, np.maximum(np.abs(local[:, 2]) - part.size[1], 0.0)) <= a
