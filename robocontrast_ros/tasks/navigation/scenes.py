"""The apartment: its world model, its furniture, and the walls on its maps."""

from __future__ import annotations

from robocontrast_ros.tasks.navigation.floor import Shapes
from robocontrast_ros.tasks.protocol import Backdrop, Polygon

WALL = 0.1
"""Thickness of the walls of the world model [m]."""


class Apartment:
    """The world model, and a model of each piece of furniture; scenes have the robot's pose."""

    start_position = None
    region = None

    def __init__(self, shapes: Shapes) -> None:
        p = shapes.parameters
        self.world, self.physics_step = p.world, p.physics_step
        self.models = {m: p.furniture_model.replace("{model}", m) for m in p.furniture}
        self._shapes = shapes

    def outline(self, model: str) -> Polygon:
        """Return the polygon that a model covers seen from above, in its frame, shape (n, 2) [m].

        Raises:
            KeyError: the task has no such model.
        """
        if model not in self.models:
            raise KeyError(f"no model '{model}'; there are: {', '.join(self.models)}")
        return tuple((float(x), float(y)) for x, y in self._shapes.outline(model))


def room(length: float, width: float) -> Backdrop:
    """Return the floor of a room [m] and the walls around it, north up."""
    x, y, w = length, width, WALL
    floor = ((0.0, 0.0), (x, 0.0), (x, y), (0.0, y))
    sides = ((-w, -w, x + w, 0.0), (-w, y, x + w, y + w), (-w, 0.0, 0.0, y), (x, 0.0, x + w, y))
    return Backdrop(floor, tuple(((a, b), (c, b), (c, d), (a, d)) for a, b, c, d in sides), up="y")
