"""The floor of a scene seen from above: footprints, free space, regions, and shortest paths through them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import shapely
from shapely import LineString, MultiPolygon, Polygon

from robocontrast_ros.domain import Pose, Scene
from robocontrast_ros.domain.products import norm, product
from robocontrast_ros.tasks.navigation.parameters import Furniture, NavigationParameters
from robocontrast_ros.tasks.navigation.routes import Point, Route
from robocontrast_ros.tasks.protocol import Polygon as Outline
from robocontrast_ros.tasks.roadmap import Indices, Points, Polygons, Roadmap

ARC_CORNERS = 16
"""Corners of the polygon that replaces the disc of the base: it contains the disc and is at most 2 % larger."""

ROUND_CORNERS = 12
"""Corners of the polygon that replaces a round footprint, in the same way."""

INSIDE = 1e-3
"""Distance of a path's end inside the region of its goal [m], so that rounding cannot put the end outside."""

_SPACING = 0.06
_SAME = 1e-6
_REFINEMENTS = 3
_FINE = 41


def disc(radius: float, corners: int) -> Points:
    """Return the regular polygon around a disc, with a side that faces +x, counter-clockwise."""
    angles = (np.arange(corners) + 0.5) * (math.tau / corners)
    return radius / math.cos(math.pi / corners) * np.stack([np.cos(angles), np.sin(angles)], axis=1)


def footprint(furniture: Furniture) -> tuple[Points, ...]:
    """Return the convex parts of a footprint in the object's frame, each of shape (k, 2) [m]."""
    if furniture.radius is not None:
        return (disc(furniture.radius, ROUND_CORNERS),)
    return tuple(np.asarray(polygon, dtype=float) for polygon in furniture.polygons)


def grown(part: Points, by: float) -> Points:
    """Return a convex polygon grown by at least ``by`` [m], the corners cut by ``ARC_CORNERS``."""
    sums = (part[:, None] + disc(by, ARC_CORNERS)).reshape(-1, 2)
    hull = shapely.convex_hull(shapely.multipoints(sums))
    return shapely.get_coordinates(shapely.orient_polygons(hull))[:-1]


def placed(part: Points, pose: Pose) -> Points:
    """Return points of an object's frame in the world frame."""
    c, s = math.cos(pose.yaw), math.sin(pose.yaw)
    return product(part, [[c, s], [-s, c]]) + np.asarray(pose.xy)


class Shapes:
    """The furniture's footprints, and the same grown by the base's clearance, in each model's own frame."""

    def __init__(self, parameters: NavigationParameters, clearance: float | None = None) -> None:
        """Take the task's furniture; ``clearance`` [m] replaces that of the task's base."""
        self.parameters = parameters
        self.clearance = parameters.base.clearance if clearance is None else clearance
        self._parts = {name: footprint(model) for name, model in parameters.furniture.items()}
        self._grown = {
            name: tuple(grown(part, self.clearance) for part in parts) for name, parts in self._parts.items()
        }

    def outline(self, model: str) -> Points:
        """Return the polygon that a model covers, in its frame, shape (n, 2) [m]; of several parts, their hull."""
        union = shapely.union_all([Polygon(part) for part in self._parts[model]])
        whole = union if isinstance(union, Polygon) else union.convex_hull
        return shapely.get_coordinates(shapely.orient_polygons(whole).exterior)[:-1]

    def polygon(self, model: str, pose: Pose) -> Polygon | MultiPolygon:
        """Return the footprint of a model at a pose, world frame [m]."""
        parts = [Polygon(placed(part, pose)) for part in self._parts[model]]
        return parts[0] if len(parts) == 1 else shapely.union_all(parts)

    def obstacles(self, scene: Scene) -> list[Points]:
        """Return the areas forbidden to the base's centre, as convex polygons, world frame [m]."""
        return [placed(part, o.pose) for o in scene for part in self._grown[o.model]]


class PlaceRegion:
    """Region in which the base's centre has reached a place: near the footprint of any of its objects."""

    def __init__(self, footprints: Sequence[Polygon | MultiPolygon], reach: float) -> None:
        """Take the objects' footprints in the world frame and the greatest distance from them [m]."""
        self._footprints = np.asarray(footprints, dtype=object)
        self._whole = shapely.union_all(self._footprints)
        shapely.prepare(self._whole)
        self.reach = reach

    def excess(self, point: Point) -> float:
        """Return the straight distance of a point from the region [m]; 0 inside it."""
        return max(float(shapely.distance(self._whole, shapely.Point(point))) - self.reach, 0.0)

    def contains(self, point: Point) -> bool:
        """Return whether a point is in the region."""
        return self.excess(point) == 0.0

    def nearest(self, points: Points) -> list[Points]:
        """Return for each object the point of the region's inside nearest to each point, shape (m, 2)."""
        found = []
        for shape in self._footprints:
            lines = shapely.get_coordinates(shapely.shortest_line(shape, shapely.points(points)))
            foot = lines.reshape(-1, 2, 2)[:, 0]
            away = points - foot
            gap = norm(away)
            share = np.minimum(1.0, (self.reach - INSIDE) / np.maximum(gap, 1e-9))
            found.append(foot + away * share[:, None])
        return found

    def outlines(self) -> tuple[Outline, ...]:
        """Return the edge of each object's region, shape (n, 2) [m]."""
        return tuple(
            tuple((float(x), float(y)) for x, y in s.buffer(self.reach, quad_segs=6).exterior.coords[:-1])
            for s in self._footprints
        )

    def entered(self, path: tuple[Point, ...], via: int) -> Route:
        """Return the route of a path that is in the region at point ``via``, and may have entered it before."""
        line = LineString(path[: via + 1])
        inside = shapely.intersection(line, self._inside)
        at = min((line.project(shapely.Point(xy)) for xy in shapely.get_coordinates(inside)), default=line.length)
        if at >= line.length - _SAME:
            return Route(path, via)
        travelled = np.cumsum([0.0, *(math.dist(a, b) for a, b in itertools.pairwise(path[: via + 1]))])
        index = int(np.searchsorted(travelled, at - _SAME))
        if abs(travelled[index] - at) <= _SAME:
            return Route(path, index)
        entry = line.interpolate(at)
        return Route((*path[:index], (entry.x, entry.y), *path[index:]), index)

    @cached_property
    def _inside(self) -> Polygon | MultiPolygon:
        return self._whole.buffer(self.reach - INSIDE, quad_segs=16)

    def rims(self) -> list[LineString]:
        """Return the edge of each object's region, ``INSIDE`` of it."""
        return [s.buffer(self.reach - INSIDE, quad_segs=16).boundary for s in self._footprints]


@dataclass(frozen=True)
class _Ends:
    """Straight ways from points into a region."""

    length: Points
    end: Points


@dataclass(frozen=True)
class Field:
    """Shortest distances into a region.

    Attributes:
        region: the region.
        rims: ends of the free pieces of its edge, shape (k, 2) [m].
        distance: of each node of the map [m].
        after: the node after each one on its path; negative if the path goes straight into the region.
        end: end of each node's straight way into the region, shape (n, 2) [m].
    """

    region: PlaceRegion
    rims: Points
    distance: Points
    after: Points
    end: Points


@dataclass(frozen=True)
class _Gate:
    """Points on the free edge of a region, and the tangents from them.

    Attributes:
        region: the region.
        samples: for each point, its piece of the edge, and its distance along that piece [m].
        points: shape (m, 2) [m].
        which: for each tangent, the index of its point.
        near: for each tangent, the node that it touches.
        gap: its length [m].
    """

    region: PlaceRegion
    samples: list[tuple[LineString, float]]
    points: Points
    which: Indices
    near: Indices
    gap: Points


class FloorPlan:
    """A scene from above, with all values for planning in it, computed once and kept."""

    def __init__(self, scene: Scene, shapes: Shapes) -> None:
        """Take a scene; its robot does not matter."""
        self._shapes, self._scene = shapes, scene
        room, clearance = shapes.parameters.room, shapes.clearance
        self._low = np.array([clearance, clearance])
        self._high = np.array([room.length - clearance, room.width - clearance])
        self._regions: dict[str, PlaceRegion] = {}
        self._fields: dict[str, Field] = {}
        self._gates: dict[str, _Gate | None] = {}
        self._routes: dict[tuple[Point, str, str], Route | None] = {}

    @cached_property
    def roads(self) -> Roadmap:
        """The map of the shortest paths."""
        return Roadmap(Polygons(self._shapes.obstacles(self._scene)), self._low, self._high)

    @cached_property
    def footprints(self) -> dict[str, Polygon | MultiPolygon]:
        """Object name -> footprint, world frame [m]."""
        return {o.name: self._shapes.polygon(o.model, o.pose) for o in self._scene}

    @cached_property
    def free_space(self) -> Polygon | MultiPolygon:
        """Free space of the base's centre."""
        blocked = [Polygon(o) for o in self._shapes.obstacles(self._scene)]
        space = shapely.difference(shapely.box(*self._low, *self._high), shapely.union_all(blocked))
        shapely.prepare(space)
        return space

    def free(self, point: Point) -> bool:
        """Return whether the base's centre may be at a point."""
        return bool(self.roads.free(np.array([point]))[0])

    def gap(self, path: Sequence[Point]) -> float:
        """Return the least distance from a path to furniture and walls [m]; 0 if it goes through one."""
        line = LineString(path) if len(path) > 1 else shapely.Point(path[0])
        room = self._shapes.parameters.room
        walls = shapely.box(0.0, 0.0, room.length, room.width)
        if not walls.covers(line):
            return 0.0
        around = [*self.footprints.values(), walls.exterior]
        return float(shapely.distance(np.asarray(around, dtype=object), line).min())

    def region(self, model: str) -> PlaceRegion:
        """Return the region of a place.

        Raises:
            KeyError: no object of that model is in the scene.
        """
        if model not in self._regions:
            shapes = [self.footprints[o.name] for o in self._scene if o.model == model]
            if not shapes:
                raise KeyError(f"no {model} in the scene; there are: {', '.join(self._scene.names)}")
            self._regions[model] = PlaceRegion(shapes, self._shapes.parameters.reach)
        return self._regions[model]

    def field(self, model: str) -> Field:
        """Return the distances into the region of a place.

        Raises:
            KeyError: no object of that model is in the scene.
        """
        if model not in self._fields:
            self._fields[model] = self._field(self.region(model))
        return self._fields[model]

    def distance(self, point: Point, model: str) -> float:
        """Return the length of the shortest path into the region of a place [m]; infinity if there is none.

        From a point within the clearance of furniture or a wall, it goes straight out first.
        """
        field = self.field(model)
        if field.region.contains(point):
            return 0.0
        here = np.array([point])
        out = 0.0
        if not self.roads.free(here)[0]:
            if self.free_space.is_empty:
                return math.inf
            line = shapely.shortest_line(self.free_space, shapely.Point(point))
            here, out = shapely.get_coordinates(line)[:1], float(line.length)
        _, node, length = self.roads.tangents(here)
        straight = self._straight(here, field.region, field.rims).length[0]
        return out + float(min(straight, (length + field.distance[node]).min(initial=math.inf)))

    def route(self, start: Point, first: str, last: str) -> Route | None:
        """Return the shortest path from a free point through the region of one place into that of another.

        None if there is none. It is the shortest around the grown polygons to within a millimetre; from a point in
        the first region it leads straight to the last one.
        """
        key = (start, first, last)
        if key not in self._routes:
            into_last = self.field(last)
            if self.region(first).contains(start):
                self._routes[key] = self._way(start, into_last)
            else:
                gate = self._gate(first)
                self._routes[key] = self._way_through(start, gate, into_last) if gate else None
        return self._routes[key]

    def _way(self, start: Point, field: Field) -> Route | None:
        """Return the shortest path from a free point into one region; its first half is the start alone."""
        if field.region.contains(start):
            return Route((start,), 0)
        begin = np.array([start])
        which, node, gap = self.roads.tangents(begin)
        straight = self._straight(begin, field.region, field.rims)
        leave = _least(straight.length, which, node, field.distance[node] + gap)
        if not math.isfinite(leave.length[0]):
            return None
        onward = _chain(int(leave.node[0]), field.after)
        end = field.end[onward[-1]] if onward else straight.end[0]
        return Route(_pairs([begin[0], *self.roads.nodes[onward], end]), 0)

    def _way_through(self, start: Point, gate: _Gate, into_last: Field) -> Route | None:
        """Return the shortest path from a free point through a gate into a region."""
        begin = np.array([start])
        _, node, joint = self.roads.tangents(begin)
        reached, before = self.roads.distances(node, joint)

        points, which, near, gap = gate.points, gate.which, gate.near, gate.gap
        here = np.full(len(points), np.inf)
        seen = self.roads.sees(np.broadcast_to(begin, points.shape), points)
        here[seen] = norm(points[seen] - begin)
        arrive = _least(here, which, near, reached[near] + gap)

        straight = self._straight(points, into_last.region, into_last.rims)
        leave = _least(straight.length, which, near, into_last.distance[near] + gap)
        total = arrive.length + leave.length
        best = int(np.argmin(total))
        if not math.isfinite(total[best]):
            return None

        to = _chain(int(arrive.node[best]), before)[::-1]
        onward = _chain(int(leave.node[best]), into_last.after)
        head = [begin[0], *self.roads.nodes[to]]
        tail = [*self.roads.nodes[onward], into_last.end[onward[-1]] if onward else straight.end[best]]
        crossing = points[best]
        for _ in range(_REFINEMENTS):
            crossing = self._refined(head[-1], gate.samples[best], crossing, tail[0])
            if onward:
                break
            # The end of a straight last leg depends on its start.
            tail = [self._straight(crossing[None], into_last.region, into_last.rims).end[0]]
        if norm(tail[-1] - crossing) < _SAME:
            tail = []
        return gate.region.entered(_pairs([*head, crossing, *tail]), len(head))

    def _gate(self, model: str) -> _Gate | None:
        """Return points through which a path can enter the region of a place; None if there are none."""
        if model not in self._gates:
            pieces = self._free_rims(self.region(model))
            samples = [(piece, float(at)) for piece in pieces for at in _along(piece)]
            gate = None
            if samples:
                lines, at = np.array([piece for piece, _ in samples]), [at for _, at in samples]
                points = shapely.get_coordinates(shapely.line_interpolate_point(lines, at))
                gate = _Gate(self.region(model), samples, points, *self.roads.tangents(points))
            self._gates[model] = gate
        return self._gates[model]

    def _field(self, region: PlaceRegion) -> Field:
        rims = self._rim_ends(region)
        nodes = self.roads.nodes
        straight = self._straight(nodes, region, rims)
        joined = np.flatnonzero(np.isfinite(straight.length))
        distance, after = self.roads.distances(joined, straight.length[joined])
        return Field(region, rims, distance, after, straight.end)

    def _straight(self, points: Points, region: PlaceRegion, rims: Points) -> _Ends:
        """Return the shortest straight free way of each free point into a region, infinite if there is none."""
        ends = [*region.nearest(points), *(np.broadcast_to(rim, points.shape) for rim in rims)]
        best, where = np.full(len(points), np.inf), np.array(points)
        for end in ends:
            gap = norm(end - points)
            shorter = np.flatnonzero(gap < best)
            usable = shorter[self.roads.free(end[shorter])]
            usable = usable[self.roads.sees(points[usable], end[usable])]
            best[usable], where[usable] = gap[usable], end[usable]
        return _Ends(best, where)

    def _free_rims(self, region: PlaceRegion) -> list[LineString]:
        """Return the pieces of a region's edge on which the base may be."""
        pieces = []
        for rim in region.rims():
            inside = shapely.intersection(rim, self.free_space)
            lines = shapely.get_parts(inside)
            pieces += list(shapely.get_parts(shapely.line_merge(shapely.union_all(_lines(lines)))))
        return [piece for piece in pieces if piece.length > 0.0]

    def _rim_ends(self, region: PlaceRegion) -> Points:
        pieces = [piece for piece in self._free_rims(region) if not piece.is_closed]
        return np.array([xy for piece in pieces for xy in (piece.coords[0], piece.coords[-1])]).reshape(-1, 2)

    def _refined(self, a: Points, sample: tuple[LineString, float], point: Points, b: Points) -> Points:
        """Return the point of a rim, near to a sample, through which the way from a to b is shortest."""
        piece, at = sample
        lengths = np.linspace(at - _SPACING, at + _SPACING, _FINE)
        lengths = lengths % piece.length if piece.is_closed else np.clip(lengths, 0.0, piece.length)
        near = np.vstack([point, shapely.get_coordinates(shapely.line_interpolate_point(piece, lengths))])
        total = norm(near - a) + norm(near - b)
        seen = self.roads.sees(np.broadcast_to(a, near.shape), near)
        seen &= self.roads.sees(near, np.broadcast_to(b, near.shape))
        seen[0] = True
        return near[np.argmin(np.where(seen, total, np.inf))]


@dataclass(frozen=True)
class _Least:
    length: Points
    node: Points


def _least(direct: Points, which: Points, node: Points, length: Points) -> _Least:
    """Return for each point the shortest of the direct way (node -1) and those through nodes."""
    best, by = direct.copy(), np.full(len(direct), -1)
    order = np.argsort(-length, kind="stable")
    which, node, length = which[order], node[order], length[order]
    # Sorted by falling length, so that the last one written for a point is its shortest.
    shorter = length < best[which]
    best[which[shorter]], by[which[shorter]] = length[shorter], node[shorter]
    return _Least(best, by)


def _chain(node: int, following: Points) -> list[int]:
    found = []
    while node >= 0:
        found.append(node)
        node = int(following[node])
    return found


def _pairs(points: Iterable[Points]) -> tuple[Point, ...]:
    return tuple((float(x), float(y)) for x, y in points)


def _along(piece: LineString) -> Points:
    """Return the positions along a piece of its samples [m], its ends included."""
    count = max(math.ceil(piece.length / _SPACING), 1) + 1
    return np.linspace(0.0, piece.length, count)


def _lines(parts: Iterable[shapely.Geometry]) -> list[LineString]:
    return [part for part in parts if isinstance(part, LineString)]
