"""Areas of objects, seen from above, and their heights: the geometry of goals, scenes and planner."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely import Polygon
from transforms3d.quaternions import quat2mat

from robocontrast_ros.domain import Pose
from robocontrast_ros.domain.products import product
from robocontrast_ros.objects import ObjectModel

UPRIGHT = math.cos(math.radians(10.0))
"""Least z of an upright object's z axis."""


def is_upright(pose: Pose) -> bool:
    """Return whether an object is upright as in its own frame, whatever its yaw."""
    return bool(_matrix(pose.orientation)[2, 2] >= UPRIGHT)


def placed(corners: Sequence[tuple[float, float]], pose: Pose) -> Polygon:
    """Return a polygon of an upright object's frame, shape (n, 2) [m], in the world."""
    return moved(_polygon(tuple(corners)), pose.xy, pose.yaw)


def moved(polygon: Polygon, xy: tuple[float, float], yaw: float) -> Polygon:
    """Return a polygon turned by yaw [rad] about the origin, then shifted by xy [m]."""
    c, s = math.cos(yaw), math.sin(yaw)
    x, y = shapely.get_coordinates(polygon).T
    return Polygon(np.stack([xy[0] + c * x - s * y, xy[1] + s * x + c * y], axis=1))


def footprint(model: ObjectModel, pose: Pose) -> Polygon:
    """Return an object's area seen from above: its own outline if upright, that of its box otherwise [m]."""
    if is_upright(pose):
        return placed(model.footprint, pose)
    return shapely.MultiPoint(_corners(model, pose)[:, :2]).convex_hull


def heights(model: ObjectModel, pose: Pose) -> tuple[float, float]:
    """Return the heights of the lowest and the highest point of an object's box, world frame [m]."""
    if is_upright(pose):
        return pose.position[2], pose.position[2] + model.size[2]
    z = _corners(model, pose)[:, 2]
    return float(z.min()), float(z.max())


def lowest(model: ObjectModel, pose: Pose) -> float:
    """Return the height of the lowest corner of an object's box, however little it is tilted, world frame [m]."""
    return float(_corners(model, pose)[:, 2].min())


def centre(model: ObjectModel, pose: Pose) -> NDArray[np.float64]:
    """Return the centre of an object's box, shape (3,), world frame [m]."""
    return np.asarray(pose.position) + _matrix(pose.orientation)[:, 2] * (model.size[2] / 2.0)


def in_frame(pose: Pose, point: tuple[float, float, float]) -> NDArray[np.float64]:
    """Return a point of the world in an object's frame, shape (3,) [m]."""
    away = np.asarray(point, dtype=float) - np.asarray(pose.position)
    return product(away[None, :], _matrix(pose.orientation))[0]


def gap(a: Polygon, b: Polygon) -> float:
    """Return the distance between two polygons [m]; 0 if they overlap."""
    return float(shapely.distance(a, b))


def corners(polygon: Polygon) -> tuple[tuple[float, float], ...]:
    """Return the corners of a polygon, the first not repeated, shape (n, 2) [m]."""
    return tuple((float(x), float(y)) for x, y in shapely.get_coordinates(polygon.exterior)[:-1])


def _corners(model: ObjectModel, pose: Pose) -> NDArray[np.float64]:
    """Return the corners of an object's box, shape (8, 3), world frame [m]."""
    x, y, z = model.size
    box = np.array([(i * x / 2, j * y / 2, k * z) for i in (-1, 1) for j in (-1, 1) for k in (0, 1)])
    return np.asarray(pose.position) + product(box, _matrix(pose.orientation).T)


def _matrix(orientation: tuple[float, float, float, float]) -> NDArray[np.float64]:
    x, y, z, w = orientation
    return quat2mat((w, x, y, z))


@lru_cache(maxsize=512)
def _polygon(points: tuple[tuple[float, float], ...]) -> Polygon:
    return Polygon(points)
