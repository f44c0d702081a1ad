"""Draws starting scenes: the apartment furnished at random, and the robot put into it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import shapely

from robocontrast_ros.domain import Pose, Scene
from robocontrast_ros.tasks.navigation.floor import FloorPlan, Shapes
from robocontrast_ros.tasks.navigation.parameters import Generator
from robocontrast_ros.tasks.navigation.placing import Placer
from robocontrast_ros.tasks.navigation.routes import Route, path_length

_STARTS = 20


def draw_scene(shapes: Shapes, floor_plan: Callable[[Scene], FloorPlan], rng: np.random.Generator) -> Scene | None:
    """Draw a scene; None if this draw fails.

    Every object of the task has a usual place of an apartment; nothing overlaps; the robot's start is
    uniform on the largest connected part of the free floor.
    """
    scene = Placer(shapes).draw(shapes.parameters.objects, rng)
    if scene is None:
        return None
    free = floor_plan(scene).free_space
    parts = shapely.get_parts(free)
    if not len(parts):
        return None
    widest = parts[np.argmax(shapely.area(parts))]
    if widest.area < shapes.parameters.generator.open_share * free.area:
        return None
    x0, y0, x1, y1 = widest.bounds
    for _ in range(_STARTS):
        start = Pose.planar(rng.uniform(x0, x1), rng.uniform(y0, y1), rng.uniform(-np.pi, np.pi))
        if widest.contains(shapely.Point(start.xy)):
            return replace(scene, robot=start)
    return None


def has_wanted_length(route: Route, bounds: Generator) -> bool:
    """Return whether a route and its halves have lengths within the bounds."""
    least, greatest = bounds.path
    return (
        least <= route.length <= greatest
        and path_length(route.first_half) >= bounds.leg
        and path_length(route.second_half) >= bounds.leg
    )
