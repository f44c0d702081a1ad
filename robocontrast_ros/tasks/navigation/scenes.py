"""The apartment: its world model, its furniture, and the walls on its maps."""

from __future__ import annotations

from robocontrast_ros.tasks.base import ModelScenes
from robocontrast_ros.tasks.navigation.floor import Shapes
from robocontrast_ros.tasks.protocol import Backdrop

WALL = 0.1
"""Thickness of the walls of the world model [m]."""


def apartment(shapes: Shapes) -> ModelScenes:
    """Return the world model, and a model of each piece of furniture; scenes have the robot's pose."""
    p = shapes.parameters
    models = {m: p.furniture_model.replace("{model}", m) for m in p.furniture}
    return ModelScenes(
        p.world, p.physics_step, models, lambda m: tuple((float(x), float(y)) for x, y in shapes.outline(m))
    )


def room(length: float, width: float) -> Backdrop:
    """Return the floor of a room [m] and the walls around it, north up."""
    x, y, w = length, width, WALL
    floor = ((0.0, 0.0), (x, 0.0), (x, y), (0.0, y))
    sides = ((-w, -w, x + w, 0.0), (-w, y, x + w, y + w), (-w, 0.0, 0.0, y), (x, 0.0, x + w, y))
    return Backdrop(floor, tuple(((a, b), (c, b), (c, d), (a, d)) for a, b, c, d in sides), up="y")
