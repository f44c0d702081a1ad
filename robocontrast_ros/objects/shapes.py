"""From the parts of an object's file to geoms, and the results of their shape: size, footprint, regions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from robocontrast_ros.domain.geometry import Pose, Vector3
from robocontrast_ros.objects.frames import about, compose, from_degrees, rotate
from robocontrast_ros.objects.schema import ObjectRegion, Part

Box = tuple[Vector3, Vector3]
"""Least and greatest x, y and z [m]."""

ROUND = 24
"""Corners of the polygon around something round."""


def geoms(part: Part) -> list[tuple[str, Pose, Vector3]]:
    """Return type, pose and size, as in MuJoCo, of the geoms of a part."""
    pose = Pose(part.at, from_degrees(*part.turn))
    if part.type == "ring":
        return [("box", compose(pose, own), size) for own, size in _staves(part)]
    if part.type == "box" or part.type == "ellipsoid":
        x, y, z = part.size
        return [(part.type, pose, (x / 2, y / 2, z / 2))]
    radius = part.size[0] / 2
    if part.type == "sphere":
        return [(part.type, pose, (radius, 0.0, 0.0))]
    half = part.size[1] / 2 - (radius if part.type == "capsule" else 0.0)
    return [(part.type, pose, (radius, max(half, 1e-6), 0.0))]


def _staves(part: Part) -> Iterable[tuple[Pose, Vector3]]:
    """Yield the boxes of a ring, each wide enough to meet the next."""
    outer, height, wall = part.size
    lean = math.radians(part.flare)
    middle = (outer - wall) / 2
    # Their outer faces would leave gaps at the widest place of a leaning wall.
    widest = outer / 2 + height / 2 * abs(math.tan(lean))
    width = 2 * widest * math.tan(math.pi / part.count)
    for index in range(part.count):
        around = about((0.0, 0.0, 1.0), math.tau * index / part.count)
        leaning = Pose((middle, 0.0, 0.0), about((0.0, 1.0, 0.0), lean))
        yield compose(Pose((0.0, 0.0, 0.0), around), leaning), (wall / 2, width / 2, height / 2 / math.cos(lean))


def bounds(type_: str, pose: Pose, size: Vector3) -> Box:
    """Return the axis-aligned box around a geom."""
    columns = [rotate(pose.orientation, axis) for axis in ((1.0, 0, 0), (0, 1.0, 0), (0, 0, 1.0))]
    half = []
    for axis in range(3):
        row = [column[axis] for column in columns]
        if type_ == "box":
            half.append(sum(abs(r) * s for r, s in zip(row, size, strict=True)))
        elif type_ == "ellipsoid":
            half.append(math.sqrt(sum((r * s) ** 2 for r, s in zip(row, size, strict=True))))
        elif type_ == "cylinder":
            half.append(size[0] * math.sqrt(max(0.0, 1.0 - row[2] ** 2)) + abs(row[2]) * size[1])
        else:  # a capsule, or a sphere, which has no length
            half.append(size[0] + abs(row[2]) * size[1])
    at = pose.position
    return (
        (at[0] - half[0], at[1] - half[1], at[2] - half[2]),
        (at[0] + half[0], at[1] + half[1], at[2] + half[2]),
    )


def around(boxes: Sequence[Box]) -> Box:
    """Return the box around boxes."""
    lower, upper = zip(*boxes, strict=True)
    x0, y0, z0 = (min(values) for values in zip(*lower, strict=True))
    x1, y1, z1 = (max(values) for values in zip(*upper, strict=True))
    return (x0, y0, z0), (x1, y1, z1)


def volume(type_: str, size: Vector3) -> float:
    """Return the volume of a geom [m³]."""
    x, y, z = size
    if type_ == "box":
        return 8 * x * y * z
    if type_ == "ellipsoid":
        return 4 / 3 * math.pi * x * y * z
    if type_ == "cylinder":
        return math.pi * x * x * 2 * y
    return math.pi * x * x * 2 * y + 4 / 3 * math.pi * x**3


def shadow(type_: str, pose: Pose, size: Vector3) -> list[tuple[float, float]]:
    """Return points whose convex hull is around a geom's projection to the ground."""
    if type_ == "box":
        signs = [(a, b, c) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)]
        corners = [[s * h for s, h in zip(sign, size, strict=True)] for sign in signs]
        return [_flat(pose, corner) for corner in corners]
    if type_ == "ellipsoid":
        axes = [rotate(pose.orientation, axis) for axis in ((size[0], 0, 0), (0, size[1], 0), (0, 0, size[2]))]
        return _support(pose, lambda c, s: math.sqrt(sum((c * a[0] + s * a[1]) ** 2 for a in axes)))
    if type_ == "cylinder":
        x, y, _ = rotate(pose.orientation, (0.0, 0.0, 1.0))

        def reach(c: float, s: float) -> float:
            along = c * x + s * y
            return size[0] * math.sqrt(max(0.0, 1.0 - along * along)) + abs(along) * size[1]

        return _support(pose, reach)
    x, y, _ = rotate(pose.orientation, (0.0, 0.0, size[1]))
    return _support(pose, lambda c, s: size[0] + abs(c * x + s * y))


def _flat(pose: Pose, point: Sequence[float]) -> tuple[float, float]:
    x, y, _ = rotate(pose.orientation, point)
    return pose.position[0] + x, pose.position[1] + y


def _support(pose: Pose, reach: Callable[[float, float], float]) -> list[tuple[float, float]]:
    """Return the corners of the polygon of tangents, given the shape's reach in a direction (cos, sin)."""
    angles = [math.tau * index / ROUND for index in range(ROUND)]
    lines = [(math.cos(a), math.sin(a), reach(math.cos(a), math.sin(a))) for a in angles]
    corners = []
    for (c0, s0, d0), (c1, s1, d1) in zip(lines, lines[1:] + lines[:1], strict=True):
        crossing = c0 * s1 - s0 * c1
        x, y = (d0 * s1 - d1 * s0) / crossing, (c0 * d1 - c1 * d0) / crossing
        corners.append((pose.position[0] + x, pose.position[1] + y))
    return corners


def hull(points: Iterable[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Return the convex hull of points in the plane, counter-clockwise, corners less than a micrometre apart as one."""
    ordered = sorted({(round(x, 6), round(y, 6)) for x, y in points})

    def chain(sequence: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
        kept: list[tuple[float, float]] = []
        for point in sequence:
            while len(kept) > 1 and _turn(kept[-2], kept[-1], point) <= 1e-12:
                kept.pop()
            kept.append(point)
        return kept[:-1]

    return tuple(chain(ordered) + chain(reversed(ordered)))


def _turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def region_polygon(region: ObjectRegion) -> tuple[tuple[float, float], ...]:
    """Return the polygon of a region; that of a disc lies inside it."""
    x, y = region.at
    if region.size is not None:
        a, b = region.size[0] / 2, region.size[1] / 2
        return (x - a, y - b), (x + a, y - b), (x + a, y + b), (x - a, y + b)
    angles = (math.tau * index / ROUND for index in range(ROUND))
    radius = region.diameter / 2
    return tuple((x + radius * math.cos(angle), y + radius * math.sin(angle)) for angle in angles)
