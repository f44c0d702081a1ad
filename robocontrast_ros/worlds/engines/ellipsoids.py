"""Ellipsoids as meshes, for engines without them."""

from __future__ import annotations

import math

ROUND, HIGH = 32, 16
"""Corners about the vertical, and from pole to pole."""


def ellipsoid_obj(semi_axes: tuple[float, float, float]) -> str:
    """Return an ellipsoid with these semi-axes as an OBJ document, with its corners on the surface."""
    a, b, c = semi_axes
    points = [(0.0, 0.0, c)]
    for row in range(1, HIGH):
        polar = math.pi * row / HIGH
        for column in range(ROUND):
            turn = math.tau * column / ROUND
            points.append(
                (a * math.sin(polar) * math.cos(turn), b * math.sin(polar) * math.sin(turn), c * math.cos(polar))
            )
    points.append((0.0, 0.0, -c))
    last = len(points)

    def index(row: int, column: int) -> int:
        return 2 + (row - 1) * ROUND + column % ROUND

    faces = []
    for column in range(ROUND):
        faces.append((1, index(1, column), index(1, column + 1)))
        for row in range(1, HIGH - 1):
            low, high = index(row + 1, column), index(row, column)
            next_low, next_high = index(row + 1, column + 1), index(row, column + 1)
            faces += [(high, low, next_low), (high, next_low, next_high)]
        faces.append((last, index(HIGH - 1, column + 1), index(HIGH - 1, column)))
    lines = [f"v {x:.12g} {y:.12g} {z:.12g}" for x, y, z in points]
    return "\n".join([*lines, *(f"f {i} {j} {k}" for i, j, k in faces)]) + "\n"
