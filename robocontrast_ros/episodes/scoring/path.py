"""The robot's path through a trial, which several scores share."""

from __future__ import annotations

import math
from collections.abc import Sequence

Position = tuple[float, ...]
"""Coordinates in the scene's frame, two or three [m]."""


class RobotPath:
    """The positions of the robot (its tool, or the base of a mobile robot) from the start to now.

    Attributes:
        points: positions in order, the start position first.
        length: of the path through them [m].
    """

    def __init__(self, start: Sequence[float], dimensions: int) -> None:
        """Begin at a position [m].

        Args:
            start: x, y and z; of a path in the plane x and y count.
            dimensions: 2 in the x-y plane of the scene's frame, 3 in space.
        """
        self._dimensions = dimensions
        self.points: list[Position] = [tuple(start[:dimensions])]
        self.length = 0.0

    def append(self, position: Sequence[float]) -> None:
        """Go on to a position: x, y and z [m]."""
        point = tuple(position[: self._dimensions])
        self.length += math.dist(self.points[-1], point)
        self.points.append(point)
