"""Checks of the furniture's places, and its random placement."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import shapely
from shapely import MultiPolygon, Polygon

from robocontrast_ros.domain import ObjectState, Pose, Scene
from robocontrast_ros.domain.products import dot, product
from robocontrast_ros.tasks.navigation.floor import Shapes, placed

Shape = Polygon | MultiPolygon

_TOUCHING = 1e-4
"""Overlap below which footprints count as adjacent [m²]; poses have few digits."""


def outside_by(shape: Shape, shapes: Shapes) -> float:
    """Return the length by which a footprint reaches out of the room [m]; negative if it is inside by that."""
    room = shapes.parameters.room
    x0, y0, x1, y1 = shape.bounds
    return max(-x0, -y0, x1 - room.length, y1 - room.width)


def overlapping(footprints: Mapping[str, Shape]) -> tuple[str, str] | None:
    """Return the first two objects that overlap; None if none do."""
    names, polygons = list(footprints), np.asarray(list(footprints.values()), dtype=object)
    a, b = np.triu_indices(len(names), 1)
    shared = shapely.area(shapely.intersection(polygons[a], polygons[b]))
    both = np.flatnonzero(shared > _TOUCHING)
    return (names[a[both[0]]], names[b[both[0]]]) if len(both) else None


def has_room(shape: Shape, others: list[Shape], shapes: Shapes, gap: float, wall_gap: float) -> bool:
    """Return whether a footprint keeps these gaps [m] to others and to the walls."""
    if outside_by(shape, shapes) > -wall_gap:
        return False
    return not others or bool(shapely.distance(np.asarray(others, dtype=object), shape).min() >= gap)


class Placer:
    """Draws places for the objects of a task, each as usual in an apartment."""

    def __init__(self, shapes: Shapes) -> None:
        self._shapes = shapes
        self._numbers = shapes.parameters.generator

    def draw(self, objects: Mapping[str, str], rng: np.random.Generator) -> Scene | None:
        """Draw a place for each object; None if this draw fails.

        Args:
            objects: name -> model.
            rng: the only source of randomness.
        """
        furniture = self._shapes.parameters.furniture
        # Largest first, chairs after the tables that they belong to.
        order = sorted(
            objects,
            key=lambda o: (furniture[objects[o]].stands == "at_table", -self._area(objects[o])),
        )
        put: dict[str, ObjectState] = {}
        footprints: list[Shape] = []
        for name in order:
            for _ in range(self._numbers.places_per_object):
                pose = self._propose(objects[name], list(put.values()), rng)
                shape = self._shapes.polygon(objects[name], pose)
                if has_room(shape, footprints, self._shapes, self._numbers.gap, self._numbers.wall_gap):
                    put[name] = ObjectState(name, objects[name], pose)
                    footprints.append(shape)
                    break
            else:
                return None
        return Scene(tuple(put[name] for name in objects))

    def _area(self, model: str) -> float:
        return float(self._shapes.polygon(model, Pose()).area)

    def _propose(self, model: str, put: list[ObjectState], rng: np.random.Generator) -> Pose:
        match self._shapes.parameters.furniture[model].stands:
            case "at_wall":
                return self._at_wall(model, rng, spread=0.02)
            case "near_wall":
                return self._at_wall(model, rng, spread=0.3)
            case "at_table":
                tables = [o for o in put if self._shapes.parameters.furniture[o.model].seats]
                if tables:
                    return self._facing(model, tables[rng.integers(len(tables))], rng)
        room = self._shapes.parameters.room
        turned = rng.integers(4) * (math.pi / 2)
        return Pose.planar(rng.uniform(0.0, room.length), rng.uniform(0.0, room.width), turned)

    def _at_wall(self, model: str, rng: np.random.Generator, spread: float) -> Pose:
        """Return a pose with the back to a wall, at most ``spread`` beyond the least distance from it [m]."""
        room = self._shapes.parameters.room
        yaw = rng.integers(4) * (math.pi / 2)
        ahead = np.array([math.cos(yaw), math.sin(yaw)])
        away = self._extent(model, math.pi) + self._numbers.wall_gap + rng.uniform(0.0, spread)
        size = np.array([room.length, room.width])
        along = rng.uniform(0.0, size)
        at = np.where(np.abs(ahead) > 0.5, np.where(ahead > 0.0, 0.0, size) + ahead * away, along)
        return Pose.planar(*at, yaw)

    def _facing(self, model: str, table: ObjectState, rng: np.random.Generator) -> Pose:
        """Return a pose at a side of a table or desk, turned towards it."""
        side = rng.integers(4) * (math.pi / 2)
        away = self._extent(table.model, side) + self._extent(model, 0.0)
        away += self._numbers.gap + rng.uniform(0.0, 0.2)
        along = rng.uniform(-0.25, 0.25)
        offset = product([[away, along]], [[math.cos(side), math.sin(side)], [-math.sin(side), math.cos(side)]])
        x, y = placed(offset, table.pose)[0]
        return Pose.planar(x, y, table.pose.yaw + side + math.pi + rng.uniform(-0.3, 0.3))

    def _extent(self, model: str, angle: float) -> float:
        """Return the extent of a footprint from its origin in a direction of its frame [m]."""
        return float(dot(self._shapes.outline(model), (math.cos(angle), math.sin(angle))).max())
