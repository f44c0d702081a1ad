"""The footprint of a block, read from its model."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import shapely

from robocontrast_ros.tasks.protocol import Polygon

CORNERS = 12
"""Corners of the circle that replaces a block whose model has no known shape."""


@lru_cache(maxsize=64)
def block_outline(model: Path, radius: float) -> Polygon:
    """Return the footprint of a block in its frame, shape (n, 2) [m].

    It is the union of the convex parts of an MJCF file: meshes with their corners in the file, and boxes.
    Any other model is a circle.

    Args:
        model: the file.
        radius: of that circle [m].
    """
    parts = _parts(model)
    outline = shapely.union_all(parts) if parts else None
    if not isinstance(outline, shapely.Polygon):
        angles = np.linspace(0.0, 2.0 * np.pi, CORNERS, endpoint=False)
        return tuple((radius * c, radius * s) for c, s in zip(np.cos(angles), np.sin(angles), strict=True))
    return tuple((float(x), float(y)) for x, y in outline.exterior.coords[:-1])


def _parts(model: Path) -> list[shapely.Polygon]:
    try:
        root = ElementTree.parse(model).getroot()
    except (OSError, ElementTree.ParseError):
        return []
    meshes = {m.get("name"): m.get("vertex") for m in root.iter("mesh")}
    parts = []
    for geom in root.iter("geom"):
        corners = meshes.get(geom.get("mesh"))
        if geom.get("class") == "hull":
            continue
        if corners:
            points = np.array(corners.split(), dtype=float).reshape(-1, 3)[:, :2]
            parts.append(shapely.MultiPoint(points).convex_hull)
        elif geom.get("type") == "box":
            x, y, *_ = map(float, geom.get("size", "").split())
            parts.append(shapely.box(-x, -y, x, y))
    return parts
