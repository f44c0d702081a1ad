"""Rotations of many things at a time, as quaternions x, y, z, w and rotation vectors [rad]."""

from __future__ import annotations

import torch
from torch import Tensor


def multiply(a: Tensor, b: Tensor) -> Tensor:
    """Return the rotations that turn by b first and by a then, shape (..., 4)."""
    ax, ay, az, aw = a.unbind(-1)
    bx, by, bz, bw = b.unbind(-1)
    return torch.stack(
        [
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
            aw * bw - ax * bx - ay * by - az * bz,
        ],
        -1,
    )


def inverse(turn: Tensor) -> Tensor:
    """Return the opposite rotations."""
    return torch.cat([-turn[..., :3], turn[..., 3:]], -1)


def rotated(turn: Tensor, vector: Tensor) -> Tensor:
    """Return vectors turned by rotations, shape (..., 3)."""
    axis, real = turn[..., :3], turn[..., 3:]
    across = 2.0 * torch.linalg.cross(axis, vector, dim=-1)
    return vector + real * across + torch.linalg.cross(axis, across, dim=-1)


def between(start: Tensor, end: Tensor) -> Tensor:
    """Return the rotation vectors, in the world, that turn one orientation into another [rad], shape (..., 3)."""
    turn = multiply(end, inverse(start))
    turn = torch.where(turn[..., 3:] < 0.0, -turn, turn)
    sine = turn[..., :3].norm(dim=-1, keepdim=True)
    angle = 2.0 * torch.atan2(sine, turn[..., 3:])
    return turn[..., :3] * torch.where(sine < 1e-9, torch.full_like(sine, 2.0), angle / sine.clamp_min(1e-9))


def from_vector(vector: Tensor) -> Tensor:
    """Return the rotations of rotation vectors [rad], shape (..., 4)."""
    angle = vector.norm(dim=-1, keepdim=True)
    share = torch.where(angle < 1e-9, torch.full_like(angle, 0.5), torch.sin(angle / 2) / angle.clamp_min(1e-9))
    return torch.cat([vector * share, torch.cos(angle / 2)], -1)


def about_z(angle: Tensor) -> Tensor:
    """Return the turns about the vertical by angles [rad], shape (..., 4)."""
    none = torch.zeros_like(angle)
    return torch.stack([none, none, torch.sin(angle / 2), torch.cos(angle / 2)], -1)


def yaw_of(turn: Tensor) -> Tensor:
    """Return the direction of the x axis seen from above [rad]; that of a tool that points down is its yaw."""
    x, y, z, w = turn.unbind(-1)
    return torch.atan2(2.0 * (x * y + w * z), w * w + x * x - y * y - z * z)


def smallest(angle: Tensor) -> Tensor:
    """Return angles within half a turn of 0 [rad]."""
    return torch.remainder(angle + torch.pi, 2 * torch.pi) - torch.pi
