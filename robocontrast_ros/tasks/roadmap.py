"""Shortest paths of a point among obstacles in a rectangle: a visibility graph, searched with Dijkstra's algorithm.

The obstacles are discs or convex polygons, which may overlap. A path bends only at corners of obstacles; a corner
inside another obstacle is no node.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocontrast_ros.domain.products import dot, norm, product

Points = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]

AT_ONCE = 16_000
"""Number of distances computed at once: for larger arrays, memory is requested from the system anew each time."""

CORNERS = 12
"""Corners of the polygon that replaces a disc; paths about a disc are at most 3.5 % too long."""


class Obstacles(Protocol):
    """The obstacles of paths; all in metres.

    Attributes:
        corners: the points at which a path may bend, shape (n, 2), also those inside other obstacles.
        tolerance: a point counts as free up to this far inside an obstacle or outside the rectangle [m].
    """

    corners: Points
    tolerance: float

    def outside(self, points: Points) -> Mask:
        """Return which points, shape (m, 2), are in no obstacle."""

    def clear(self, a: Points, b: Points) -> Mask:
        """Return which segments from a, shape (m, 2), to b, that shape or one point, meet no obstacle's inside."""

    def touches(self, points: Points, corners: Indices) -> Mask:
        """Return for each point and corner whether a shortest path may come from there and bend here, shape (m, n)."""


class Discs:
    """Discs; the corners are those of circumscribed polygons, whose sides only touch them."""

    tolerance = 1e-9

    def __init__(self, centres: ArrayLike, radii: ArrayLike) -> None:
        """Take centres, shape (n, 2), and radii, shape (n,) or one for all."""
        self._centres = np.asarray(centres, dtype=float).reshape(-1, 2)
        self._radii = np.broadcast_to(np.asarray(radii, dtype=float), len(self._centres))
        self._bytes = self._centres.tobytes(), self._radii.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Discs) and self._bytes == other._bytes

    def __hash__(self) -> int:
        return hash(self._bytes)

    @cached_property
    def corners(self) -> Points:
        """The corners of the polygons, shape (n, 2)."""
        angles = np.arange(CORNERS) * (2 * np.pi / CORNERS)
        reach = self._radii[:, None, None] / np.cos(np.pi / CORNERS) + 1e-7
        corners = self._centres[:, None] + reach * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        return corners.reshape(-1, 2)

    @classmethod
    def away_from(cls, start: ArrayLike, centres: ArrayLike, radii: ArrayLike) -> Discs:
        """Return the discs, with those that contain a point shrunk until it is on their rim.

        A start that is too close to something can so move away from it, not closer.
        """
        centres = np.asarray(centres, dtype=float).reshape(-1, 2)
        gap = norm(centres - np.asarray(start, dtype=float))
        return cls(centres, np.minimum(radii, np.maximum(gap - 1e-6, 0.0)))

    def outside(self, points: Points) -> Mask:
        """Return which points, shape (m, 2), are in no disc."""
        if len(points) == 1:
            ((x, y),) = points.tolist()
            return np.array(
                [
                    all(
                        math.sqrt((x - cx) * (x - cx) + (y - cy) * (y - cy)) - radius >= -self.tolerance
                        for cx, cy, radius, _ in self._each
                    )
                ]
            )
        gaps = norm(points[:, None] - self._centres) - self._radii
        return np.logical_and.reduce(gaps >= -self.tolerance, axis=1)

    def clear(self, a: Points, b: Points) -> Mask:
        """Return which segments from a, shape (m, 2), to b, that shape or one point, meet no disc."""
        if len(a) == 1:
            return np.array([self._clear_way(*a.reshape(2).tolist(), *b.reshape(2).tolist())])
        most = max(AT_ONCE // max(len(self._centres), 1), 1)
        if len(a) > most:
            parts = [slice(begin, begin + most) for begin in range(0, len(a), most)]
            return np.concatenate([self.clear(a[part], b[part] if b.ndim > 1 else b) for part in parts])
        ax, ay = a[..., 0], a[..., 1]
        along_x, along_y = b[..., 0] - ax, b[..., 1] - ay
        length2 = np.maximum(along_x * along_x + along_y * along_y, 1e-18)
        # Row by row a disc, in place: new arrays of this size cost more than the computation in them.
        x, y = self._centres.T[:, :, None]
        gap_x, gap_y = x - ax, y - ay
        share = along_x * gap_x
        share += along_y * gap_y
        share /= length2
        np.maximum(share, 0.0, out=share)
        np.minimum(share, 1.0, out=share)
        gap_x -= share * along_x
        gap_y -= share * along_y
        gap_x *= gap_x
        gap_y *= gap_y
        gap_x += gap_y
        return np.logical_and.reduce(gap_x >= self._reach2, axis=0)

    def _clear_way(self, ax: float, ay: float, bx: float, by: float) -> bool:
        """Return the same for one segment, in a fifth of the time and with the same bits."""
        along_x, along_y = bx - ax, by - ay
        length2 = max(along_x * along_x + along_y * along_y, 1e-18)
        for x, y, _, reach2 in self._each:
            gap_x, gap_y = x - ax, y - ay
            share = min(max((along_x * gap_x + along_y * gap_y) / length2, 0.0), 1.0)
            gap_x -= share * along_x
            gap_y -= share * along_y
            if gap_x * gap_x + gap_y * gap_y < reach2:
                return False
        return True

    @cached_property
    def _each(self) -> list[tuple[float, float, float, float]]:
        """Centre and radius of each disc [m], and the least allowed distance of a segment, squared [m^2]."""
        return list(zip(*self._centres.T.tolist(), self._radii.tolist(), self._reach2[:, 0].tolist(), strict=True))

    @cached_property
    def _reach2(self) -> Points:
        """Least allowed distance of a segment from each disc's centre, squared, shape (n, 1) [m^2]."""
        return np.array([max(radius - self.tolerance, 0.0) ** 2 for radius in self._radii]).reshape(-1, 1)

    def touches(self, points: Points, corners: Indices) -> Mask:
        """Return true for all: a segment may cut through a corner of the polygon, outside the disc."""
        return np.ones((len(points), len(corners)), dtype=bool)


class Polygons:
    """Convex polygons; a shortest path is tangent to one at each bend."""

    tolerance = 1e-7

    def __init__(self, polygons: Sequence[Points]) -> None:
        """Take polygons, counter-clockwise, each of shape (k, 2)."""
        sides = max((len(p) for p in polygons), default=3)
        self._normals = np.zeros((len(polygons), sides, 2))
        self._offsets = np.zeros((len(polygons), sides))
        for i, polygon in enumerate(polygons):
            along = np.roll(polygon, -1, axis=0) - polygon
            outward = np.stack([along[:, 1], -along[:, 0]], axis=1)
            outward /= norm(outward)[:, None]
            # Polygons of fewer sides repeat their last one.
            fill = np.minimum(np.arange(sides), len(polygon) - 1)
            self._normals[i] = outward[fill]
            self._offsets[i] = (outward * polygon).sum(axis=1)[fill]
        self._centres = np.array([p.mean(axis=0) for p in polygons]).reshape(-1, 2)
        self._radii = np.array([norm(p - c).max() for p, c in zip(polygons, self._centres, strict=True)])
        none = np.zeros((0, 2))
        self.corners = np.concatenate([none, *polygons])
        self._before = np.concatenate([none, *(np.roll(p, 1, axis=0) for p in polygons)]) - self.corners
        self._after = np.concatenate([none, *(np.roll(p, -1, axis=0) for p in polygons)]) - self.corners

    def outside(self, points: Points) -> Mask:
        """Return which points, shape (m, 2), are inside no polygon."""
        if not len(self._offsets):
            return np.ones(len(points), dtype=bool)
        flat = self._normals.reshape(-1, 2)
        beyond = product(points, flat.T).reshape(len(points), *self._offsets.shape) - self._offsets
        return np.all(beyond.max(axis=2) >= -self.tolerance, axis=1)

    def clear(self, a: Points, b: Points) -> Mask:
        """Return which segments from a, shape (m, 2), to b, that shape or one point, meet no polygon's inside.

        Both ends are free.
        """
        clear = np.ones(len(a), dtype=bool)
        # Most polygons are far from most segments: first test the circle around each.
        along = b - a
        x, y = (self._centres[:, i] - a[:, i, None] for i in (0, 1))
        square = np.maximum((along * along).sum(axis=1), 1e-18)
        share = np.clip((x * along[:, :1] + y * along[:, 1:]) / square[:, None], 0.0, 1.0)
        gap_x, gap_y = x - share * along[:, :1], y - share * along[:, 1:]
        which, polygon = np.nonzero(gap_x * gap_x + gap_y * gap_y < self._radii**2)
        normals, offsets = self._normals[polygon], self._offsets[polygon]
        at_a = dot(normals, a[which, None]) - offsets
        slope = dot(normals, along[which, None])
        with np.errstate(divide="ignore", invalid="ignore"):
            crossing = (-self.tolerance - at_a) / slope
        beside = (slope == 0.0) & (at_a >= -self.tolerance)
        enters = np.where(slope < 0.0, crossing, np.where(beside, np.inf, 0.0)).max(axis=1)
        leaves = np.where(slope > 0.0, crossing, 1.0).min(axis=1)
        clear[which[np.maximum(enters, 0.0) < np.minimum(leaves, 1.0)]] = False
        return clear

    def touches(self, points: Points, corners: Indices) -> Mask:
        """Return whether the line through a point and a corner leaves the corner's polygon on one side."""
        x = points[:, None, 0] - self.corners[corners, 0]
        y = points[:, None, 1] - self.corners[corners, 1]
        before = self._before[corners, 0] * y - self._before[corners, 1] * x
        after = self._after[corners, 0] * y - self._after[corners, 1] * x
        return before * after >= -1e-12


class Roadmap:
    """Free space and the graph of its shortest paths; all in metres."""

    def __init__(self, obstacles: Obstacles, low: ArrayLike, high: ArrayLike) -> None:
        """Set the map.

        Args:
            obstacles: the obstacles.
            low: the rectangle's corner of least x and y, shape (2,).
            high: its corner of greatest x and y, shape (2,).
        """
        self._obstacles = obstacles
        slack = obstacles.tolerance
        self._least, self._most = np.asarray(low, dtype=float) - slack, np.asarray(high, dtype=float) + slack

    @cached_property
    def _corners(self) -> Indices:
        """Indices of the obstacles' corners that are free."""
        return np.flatnonzero(self.free(self._obstacles.corners))

    @cached_property
    def nodes(self) -> Points:
        """The free corners, at which a path may bend, shape (n, 2)."""
        return self._obstacles.corners[self._corners]

    def free(self, points: ArrayLike) -> Mask:
        """Return which points, shape (m, 2), are in the rectangle and inside no obstacle."""
        p = np.asarray(points, dtype=float).reshape(-1, 2)
        inside = np.logical_and.reduce((p >= self._least) & (p <= self._most), axis=1)
        return inside & self._obstacles.outside(p)

    def sees(self, a: Points, b: Points) -> Mask:
        """Return which segments from a, shape (m, 2), to b, that shape or one point, meet no obstacle's inside.

        Both ends are free.
        """
        return self._obstacles.clear(a, b)

    def tangents(self, points: Points) -> tuple[Indices, Indices, Points]:
        """Return the free ways from points, shape (m, 2), to nodes that may be part of shortest paths.

        Returns:
            Index of the point, index of the node, and length of each [m].
        """
        which, node = np.nonzero(self._obstacles.touches(points, self._corners))
        seen = self.sees(points[which], self.nodes[node])
        which, node = which[seen], node[seen]
        return which, node, norm(points[which] - self.nodes[node])

    def distances(self, node: Indices, length: Points) -> tuple[Points, NDArray[np.int32]]:
        """Return the shortest distance of each node from a point that is connected to some of them.

        Args:
            node: the nodes to which the point is connected.
            length: of each of those connections [m].

        Returns:
            Distance of each node [m], infinity without a path; and the node before it on that path, negative if that is
            the point itself, or without a path.
        """
        least, ways = np.full(len(self.nodes), np.inf), self._ways
        np.minimum.at(least, node, length)
        found, before = least.tolist(), [-1] * len(least)
        queue = [(distance, reached) for reached, distance in enumerate(found) if distance < math.inf]
        heapq.heapify(queue)
        while queue:
            distance, reached = heapq.heappop(queue)
            if distance > found[reached]:
                continue
            for other, further in ways[reached]:
                if distance + further < found[other]:
                    found[other], before[other] = distance + further, reached
                    heapq.heappush(queue, (found[other], other))
        return np.array(found), np.array(before, dtype=np.int32)

    @cached_property
    def _ways(self) -> list[list[tuple[int, float]]]:
        """For each node, the nodes to which there is a free way, and its length [m]."""
        touches = self._obstacles.touches(self.nodes, self._corners)
        a, b = np.nonzero(np.triu(touches & touches.T, 1))
        seen = self.sees(self.nodes[a], self.nodes[b])
        a, b = a[seen], b[seen]
        lengths = norm(self.nodes[a] - self.nodes[b])
        ways: list[list[tuple[int, float]]] = [[] for _ in self.nodes]
        for one, other, length in zip(a.tolist(), b.tolist(), lengths.tolist(), strict=True):
            ways[one].append((other, length))
            ways[other].append((one, length))
        return ways


class Ways:
    """The shortest paths on a roadmap from one start."""

    def __init__(self, roads: Roadmap, start: ArrayLike) -> None:
        self._roads, self._start = roads, np.asarray(start, dtype=float)

    def free(self, points: ArrayLike) -> Mask:
        """Return which points, shape (m, 2), are in the rectangle and inside no obstacle."""
        return self._roads.free(points)

    def sees(self, points: ArrayLike) -> Mask:
        """Return which points, shape (m, 2), a straight line from the start reaches in free space."""
        p = np.asarray(points, dtype=float).reshape(-1, 2)
        return self._roads.free(p) & self._roads.sees(np.broadcast_to(self._start, p.shape), p)

    def path(self, goal: ArrayLike) -> list[tuple[float, float]] | None:
        """Return the shortest path from the start to a point, both included; None if there is none."""
        end = np.asarray(goal, dtype=float)
        if not self.free(end)[0]:
            return None
        if self._roads.sees(self._start[None], end)[0]:
            return [_pair(self._start), _pair(end)]
        return self.bent(end)

    def bent(self, goal: ArrayLike) -> list[tuple[float, float]] | None:
        """Return ``path`` to a free point that no straight line from the start reaches."""
        end = np.asarray(goal, dtype=float)
        nodes, (distances, before) = self._roads.nodes, self._tree
        seen = self._roads.sees(nodes, end)
        last = np.where(seen, distances + norm(nodes - end), np.inf)
        node, backwards = int(np.argmin(last)) if len(last) else -1, [_pair(end)]
        if node < 0 or last[node] == math.inf:
            return None
        while node >= 0:
            backwards.append(_pair(nodes[node]))
            node = int(before[node])
        return [*backwards, _pair(self._start)][::-1]

    @cached_property
    def _tree(self) -> tuple[Points, NDArray[np.int32]]:
        """Distance of each node from the start [m], and the node before it, negative for the start itself."""
        _, node, length = self._roads.tangents(self._start[None])
        return self._roads.distances(node, length)


def ways_among_discs(start: ArrayLike, centres: ArrayLike, radii: ArrayLike, low: ArrayLike, high: ArrayLike) -> Ways:
    """Return the shortest paths from a start among discs in a rectangle; see ``Discs.away_from`` and ``Roadmap``."""
    discs = Discs.away_from(start, centres, radii)
    return Ways(_roadmap(discs, tuple(map(float, low)), tuple(map(float, high))), start)


@lru_cache(8)
def _roadmap(discs: Discs, low: tuple[float, ...], high: tuple[float, ...]) -> Roadmap:
    """Return the roadmap among discs; cached, because most discs stay in place from one start to the next."""
    return Roadmap(discs, low, high)


def _pair(point: Points) -> tuple[float, float]:
    return float(point[0]), float(point[1])
