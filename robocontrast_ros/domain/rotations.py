"""Rotations as quaternions (x, y, z, w) and as rotation vectors, axis times angle [rad]."""

from __future__ import annotations

import math
from collections.abc import Sequence

from robocontrast_ros.domain.geometry import Quaternion, Vector3

SMALL = 1e-9
"""Half the angle [rad] below which its sine is the angle itself."""


def unit(quaternion: Sequence[float]) -> Quaternion:
    """Return a quaternion of length 1.

    Raises:
        ValueError: it has no length, or a number is not finite.
    """
    x, y, z, w = (float(value) for value in quaternion)
    length = math.sqrt(x * x + y * y + z * z + w * w)
    if not 1e-6 < length < math.inf:
        raise ValueError(f"quaternion: got {[x, y, z, w]}, expected four numbers that are not all 0")
    return x / length, y / length, z / length, w / length


def turned(first: Quaternion, then: Quaternion) -> Quaternion:
    """Return the rotation of one rotation and then another, both in the fixed frame; of length 1."""
    ax, ay, az, aw = then
    bx, by, bz, bw = first
    return unit(
        (
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
            aw * bw - ax * bx - ay * by - az * bz,
        )
    )


def from_vector(vector: Sequence[float]) -> Quaternion:
    """Return the rotation of a rotation vector [rad]."""
    x, y, z = (float(value) for value in vector)
    half = math.sqrt(x * x + y * y + z * z) / 2.0
    share = 0.5 if half < SMALL else math.sin(half) / (2.0 * half)
    return unit((share * x, share * y, share * z, math.cos(half)))


def to_vector(quaternion: Quaternion) -> Vector3:
    """Return the rotation vector of a rotation [rad]; its angle is at most pi."""
    x, y, z, w = quaternion if quaternion[3] >= 0.0 else tuple(-value for value in quaternion)
    sine = math.sqrt(x * x + y * y + z * z)
    share = 2.0 if sine < SMALL else 2.0 * math.atan2(sine, w) / sine
    return share * x, share * y, share * z


def between(start: Quaternion, end: Quaternion) -> Vector3:
    """Return the rotation vector, in the fixed frame, that turns one orientation into another [rad]."""
    x, y, z, w = start
    return to_vector(turned((-x, -y, -z, w), end))
