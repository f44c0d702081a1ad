"""Ellipsoids as meshes, for engines and formats without them."""

from __future__ import annotations

import math

Point = tuple[float, float, float]
Face = tuple[int, int, int]


def ellipsoid(semi_axes: Point, around: int, high: int) -> tuple[list[Point], list[Face]]:
    """Return the corners of a mesh on an ellipsoid [m], and the indices of each triangle's corners, seen from outside.

    Args:
        semi_axes: along x, y and z [m].
        around: corners about z.
        high: edges from pole to pole.
    """
    a, b, c = semi_axes
    points = [(0.0, 0.0, c)]
    for row in range(1, high):
        polar = math.pi * row / high
        for column in range(around):
            turn = math.tau * column / around
            points.append(
                (a * math.sin(polar) * math.cos(turn), b * math.sin(polar) * math.sin(turn), c * math.cos(polar))
            )
    points.append((0.0, 0.0, -c))
    last = len(points) - 1

    def index(row: int, column: int) -> int:
        return 1 + (row - 1) * around + column % around

    faces = []
    for column in range(around):
        faces.append((0, index(1, column), index(1, column + 1)))
        for row in range(1, high - 1):
            low, above = index(row + 1, column), index(row, column)
            next_low, next_above = index(row + 1, column + 1), index(row, column + 1)
            faces += [(above, low, next_low), (above, next_low, next_above)]
        faces.append((last, index(high - 1, column + 1), index(high - 1, column)))
    return points, faces
