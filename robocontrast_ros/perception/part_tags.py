"""Places for tags on moving parts: upright on the front of a drawer or a door, clear of its handle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain.geometry import Quaternion, Vector3
from robocontrast_ros.objects.frames import cross, from_axes, rotate
from robocontrast_ros.objects.model import MovingPart, Primitive
from robocontrast_ros.perception.tags import ObjectTag

FROM_THE_FRONT = 0.3
"""Least horizontal part of the direction in which a hand comes to a part with a front: a knob on a plate has none."""
FLUSH = 0.004
"""What stands out from a front by at most this is under a tag, not beside it [m]."""
CLEAR = 0.004
"""Least distance of a tag from a handle [m]."""
GRID = 0.005
"""Distance between places that are tried [m]."""
MOST = 2
"""Tags on a part, at most: one of them may be hidden."""
LIFT = 0.001
"""Distance of a tag from what is under it: its card is thick [m]."""
UP: Vector3 = (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class _Front:
    """The front of a part, seen by somebody before it; lengths in the part's frame [m].

    Attributes:
        normal: unit vector out of it.
        right: unit vector to the right.
        depth: its place along the normal.
        area: least and greatest place to the right and upwards, shape (2, 2).
        handles: areas of what stands out, shape (n, 2, 2).
        flush: (how far it stands out, its area) of what is under a tag.
    """

    normal: Vector3
    right: Vector3
    depth: float
    area: NDArray[np.float64]
    handles: tuple[NDArray[np.float64], ...]
    flush: tuple[tuple[float, NDArray[np.float64]], ...]


def places_on(part: MovingPart, width: float) -> list[tuple[Vector3, Quaternion]]:
    """Return places for square tags on the front of a part: position [m] and orientation in the part's frame.

    A tag on a door is as far from the hinge as there is room, one on a drawer as far from its handle.

    Args:
        part: the part. One without a front, such as a knob, has no place.
        width: side of the tags with their white border [m].
    """
    front = _front(part)
    if front is None:
        return []
    half = width / 2.0
    middle, reach = front.area.mean(axis=0), (front.area[1] - front.area[0]) / 2.0 - half
    if (reach < 0.0).any():
        return []
    steps = [GRID * np.arange(-(most // GRID), most // GRID + 1) for most in reach.tolist()]
    tried = [middle + np.array((across, up)) for across in steps[0].tolist() for up in steps[1].tolist()]
    free = [at for at in tried if all(_apart(at, half, area) >= CLEAR for area in front.handles)]

    def order(at: NDArray[np.float64]) -> tuple[float, float, float]:
        return round(_worth(at, half, front, part), 6), -abs(float(at[1] - middle[1])), float(at[0])

    chosen: list[NDArray[np.float64]] = []
    while free and len(chosen) < MOST:
        best = max(free, key=order)
        chosen.append(best)
        free = [at for at in free if np.abs(at - best).max() >= width + CLEAR]
    turn = from_axes(front.right, UP, front.normal)
    return [(_position(at, half, front), turn) for at in chosen]


def place_on_front(tag: ObjectTag) -> str:
    """Return the place of a tag on the front of a part, seen by somebody before it, in a few words."""
    right = rotate(tag.orientation, (1.0, 0.0, 0.0))
    across, up = sum(a * b for a, b in zip(right, tag.position, strict=True)), tag.position[2]
    words = [f"{abs(across) * 1000:.0f} mm {'right' if across > 0 else 'left'}"] if abs(across) >= 0.0005 else []
    words += [f"{abs(up) * 1000:.0f} mm {'above' if up > 0 else 'under'}"] if abs(up) >= 0.0005 else []
    if not words:
        return "upright, over its handle"
    return f"upright, {', '.join(words)}{'' if words[-1].endswith(('above', 'under')) else ' of'} its handle"


def _front(part: MovingPart) -> _Front | None:
    """Return the front of a part: the face of its greatest box towards the hand that takes it; None without one."""
    if not part.grasps:
        return None
    approach = part.grasps[0].approach
    along = 0 if abs(approach[0]) >= abs(approach[1]) else 1
    if abs(approach[along]) < FROM_THE_FRONT:
        return None
    normal = tuple(-math.copysign(1.0, approach[along]) if axis == along else 0.0 for axis in range(3))
    right = cross(UP, normal)
    axes = np.array((right, UP))
    boxes = [each for each in part.parts if each.type == "box"]
    if not boxes:
        return None
    panel = max(boxes, key=lambda each: float(np.prod(np.abs(axes) @ _reach(each))))
    depth = _out(panel, normal)
    handles, flush = [], []
    for each in part.parts:
        if each is panel or (stands_out := _out(each, normal) - depth) <= 0.0:
            continue
        if stands_out <= FLUSH:
            flush.append((stands_out, _area(each, axes)))
        else:
            handles.append(_area(each, axes))
    return _Front(normal, right, depth, _area(panel, axes), tuple(handles), tuple(flush))


def _reach(each: Primitive) -> NDArray[np.float64]:
    """Return half the size of the box around a primitive, along the axes of the part [m]."""
    turned = np.abs([rotate(each.pose.orientation, axis) for axis in np.eye(3).tolist()]).T
    if each.type in ("box", "ellipsoid"):
        return turned @ np.asarray(each.size)
    if each.type == "sphere":
        return np.full(3, each.size[0])
    radius, length = each.size[:2]
    if each.type == "capsule":
        return turned[:, 2] * length + radius
    return turned @ np.array((radius, radius, length))


def _out(each: Primitive, normal: Vector3) -> float:
    """Return how far a primitive reaches along the normal [m]."""
    return float(np.asarray(each.pose.position) @ normal + _reach(each) @ np.abs(normal))


def _area(each: Primitive, axes: NDArray[np.float64]) -> NDArray[np.float64]:
    middle, reach = axes @ np.asarray(each.pose.position), np.abs(axes) @ _reach(each)
    return np.array((middle - reach, middle + reach))


def _apart(at: NDArray[np.float64], half: float, area: NDArray[np.float64]) -> float:
    """Return the distance of a square from an area [m]; negative if they overlap."""
    return float(np.max(np.maximum(area[0] - at - half, at - half - area[1])))


def _worth(at: NDArray[np.float64], half: float, front: _Front, part: MovingPart) -> float:
    if part.joint.type == "hinge":
        hinge = np.subtract(part.joint.through, part.joint.home.position)
        return abs(float(at[0]) - float(hinge @ front.right))
    return min((_apart(at, half, area) for area in front.handles), default=0.0)


def _position(at: NDArray[np.float64], half: float, front: _Front) -> Vector3:
    under: Sequence[float] = [out for out, area in front.flush if _apart(at, half, area) < 0.0]
    out = front.depth + max(under, default=0.0) + LIFT
    axes = zip(front.normal, front.right, UP, strict=True)
    x, y, z = (round(out * n + float(at[0]) * r + float(at[1]) * u, 4) for n, r, u in axes)
    return x, y, z
