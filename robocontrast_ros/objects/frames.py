"""Geometry of poses for objects, in plain numbers with the same bits everywhere."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from robocontrast_ros.domain.geometry import Pose, Quaternion, Vector3


def multiply(a: Quaternion, b: Quaternion) -> Quaternion:
    """Return the quaternion that turns by b first and by a then, both (x, y, z, w)."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def rotate(turn: Quaternion, vector: Sequence[float]) -> Vector3:
    """Return a vector turned by a quaternion (x, y, z, w)."""
    x, y, z, w = turn
    vx, vy, vz = vector
    tx, ty, tz = 2.0 * (y * vz - z * vy), 2.0 * (z * vx - x * vz), 2.0 * (x * vy - y * vx)
    return (
        vx + w * tx + (y * tz - z * ty),
        vy + w * ty + (z * tx - x * tz),
        vz + w * tz + (x * ty - y * tx),
    )


def compose(outer: Pose, inner: Pose) -> Pose:
    """Return the pose, in the frame of ``outer``, of a thing with the pose ``inner`` relative to ``outer``."""
    (x, y, z), (dx, dy, dz) = outer.position, rotate(outer.orientation, inner.position)
    turned = multiply(outer.orientation, inner.orientation)
    length = math.sqrt(sum(part * part for part in turned))
    qx, qy, qz, qw = (part / length for part in turned)
    return Pose((x + dx, y + dy, z + dz), (qx, qy, qz, qw))


def inverse(pose: Pose) -> Pose:
    """Return the inverse: the pose of the frame in which ``pose`` is given, in the frame at ``pose``."""
    x, y, z, w = pose.orientation
    back = (-x, -y, -z, w)
    dx, dy, dz = rotate(back, pose.position)
    return Pose((-dx, -dy, -dz), back)


def about(axis: Sequence[float], angle: float) -> Quaternion:
    """Return the turn about a unit vector by an angle [rad]."""
    half = math.sin(angle / 2.0)
    return axis[0] * half, axis[1] * half, axis[2] * half, math.cos(angle / 2.0)


def from_degrees(roll: float, pitch: float, yaw: float) -> Quaternion:
    """Return the turn about x, then y, then z of the fixed frame [deg]."""
    about_x = about((1.0, 0.0, 0.0), math.radians(roll))
    about_y = about((0.0, 1.0, 0.0), math.radians(pitch))
    about_z = about((0.0, 0.0, 1.0), math.radians(yaw))
    return multiply(about_z, multiply(about_y, about_x))


def from_axes(x: Sequence[float], y: Sequence[float], z: Sequence[float]) -> Quaternion:
    """Return the orientation of a frame whose axes, orthogonal unit vectors, are given."""
    import mujoco

    quaternion = np.empty(4)
    mujoco.mju_mat2Quat(quaternion, np.column_stack((x, y, z)).ravel())
    w, qx, qy, qz = quaternion.tolist()
    return qx, qy, qz, w


def cross(a: Sequence[float], b: Sequence[float]) -> Vector3:
    """Return the vector product."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]
