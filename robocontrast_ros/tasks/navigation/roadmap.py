"""Shortest paths of a point among convex polygons in a rectangle: the tangents of the visibility graph.

A shortest path bends only at corners of obstacles, and is tangent to the obstacle there. Polygons may
overlap; a corner inside another polygon is no node.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import dijkstra

from robocontrast_ros.domain.products import dot, norm, product

Points = NDArray[np.float64]
Indices = NDArray[np.intp]

_TOLERANCE = 1e-7
"""A point counts as free up to this far inside an obstacle or outside the rectangle [m]."""


class Roadmap:
    """Free space and the graph of its shortest paths; all in metres.

    Attributes:
        nodes: the corners at which a path may bend, shape (n, 2).
    """

    def __init__(self, obstacles: Sequence[Points], low: Points, high: Points) -> None:
        """Set the map.

        Args:
            obstacles: convex polygons, counter-clockwise, each of shape (k, 2).
            low: the rectangle's corner of least x and y, shape (2,).
            high: its corner of greatest x and y, shape (2,).
        """
        self._low, self._high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
        sides = max((len(o) for o in obstacles), default=3)
        self._normals = np.zeros((len(obstacles), sides, 2))
        self._offsets = np.zeros((len(obstacles), sides))
        for i, obstacle in enumerate(obstacles):
            along = np.roll(obstacle, -1, axis=0) - obstacle
            outward = np.stack([along[:, 1], -along[:, 0]], axis=1)
            outward /= norm(outward)[:, None]
            # Polygons of fewer sides repeat their last one.
            fill = np.minimum(np.arange(sides), len(obstacle) - 1)
            self._normals[i] = outward[fill]
            self._offsets[i] = (outward * obstacle).sum(axis=1)[fill]
        self._centres = np.array([o.mean(axis=0) for o in obstacles]).reshape(-1, 2)
        self._radii = np.array([norm(o - c).max() for o, c in zip(obstacles, self._centres, strict=True)])
        corners = np.concatenate([np.zeros((0, 2)), *obstacles])
        before = np.concatenate([np.zeros((0, 2)), *(np.roll(o, 1, axis=0) for o in obstacles)]) - corners
        after = np.concatenate([np.zeros((0, 2)), *(np.roll(o, -1, axis=0) for o in obstacles)]) - corners
        free = self.free(corners)
        self.nodes, self._before, self._after = corners[free], before[free], after[free]

    def free(self, points: Points) -> NDArray[np.bool_]:
        """Tell which points, shape (m, 2), are in the rectangle and inside no obstacle."""
        inside = np.all((points >= self._low - _TOLERANCE) & (points <= self._high + _TOLERANCE), axis=1)
        if not len(self._offsets):
            return inside
        return inside & np.all(self._beyond(points).max(axis=2) >= -_TOLERANCE, axis=1)

    def sees(self, a: Points, b: Points) -> NDArray[np.bool_]:
        """Tell which segments from a to b, each of shape (m, 2), both ends free, meet no obstacle's inside."""
        clear = np.ones(len(a), dtype=bool)
        # Most obstacles are far from most segments: first test the circle around each.
        along = b - a
        x, y = (self._centres[:, i] - a[:, i, None] for i in (0, 1))
        square = np.maximum((along * along).sum(axis=1), 1e-18)
        share = np.clip((x * along[:, :1] + y * along[:, 1:]) / square[:, None], 0.0, 1.0)
        gap_x, gap_y = x - share * along[:, :1], y - share * along[:, 1:]
        which, obstacle = np.nonzero(gap_x * gap_x + gap_y * gap_y < self._radii**2)
        normals, offsets = self._normals[obstacle], self._offsets[obstacle]
        at_a = dot(normals, a[which, None]) - offsets
        slope = dot(normals, along[which, None])
        with np.errstate(divide="ignore", invalid="ignore"):
            crossing = (-_TOLERANCE - at_a) / slope
        beside = (slope == 0.0) & (at_a >= -_TOLERANCE)
        enters = np.where(slope < 0.0, crossing, np.where(beside, np.inf, 0.0)).max(axis=1)
        leaves = np.where(slope > 0.0, crossing, 1.0).min(axis=1)
        clear[which[np.maximum(enters, 0.0) < np.minimum(leaves, 1.0)]] = False
        return clear

    def tangents(self, points: Points) -> tuple[Indices, Indices, Points]:
        """Return the free tangents from points, shape (m, 2), to nodes.

        Returns:
            Index of the point, index of the node, and length of each [m].
        """
        which, node = np.nonzero(self._touches(points))
        seen = self.sees(points[which], self.nodes[node])
        which, node = which[seen], node[seen]
        return which, node, norm(points[which] - self.nodes[node])

    def distances(self, node: Indices, length: Points) -> tuple[Points, NDArray[np.int32]]:
        """Return the shortest distance of each node from a point that is connected to some of them.

        Args:
            node: the nodes to which the point is connected.
            length: of each of those connections [m].

        Returns:
            Distance of each node [m], infinity where there is no path; and the node before it on that
            path, negative where that is the point itself.
        """
        count = len(self.nodes)
        rows, columns, lengths = self._edges
        least = np.full(count, np.inf)
        np.minimum.at(least, node, length)
        joined = np.flatnonzero(np.isfinite(least))
        graph: csr_array = coo_array(
            (
                # SciPy takes a length of 0 as no edge.
                np.concatenate([lengths, np.maximum(least[joined], 1e-12)]),
                (np.concatenate([rows, np.full(len(joined), count)]), np.concatenate([columns, joined])),
            ),
            shape=(count + 1, count + 1),
        ).tocsr()
        found, before = dijkstra(graph, indices=count, return_predecessors=True)
        return found[:count], np.where(before[:count] == count, -1, before[:count])

    @cached_property
    def _edges(self) -> tuple[Indices, Indices, Points]:
        """Both directions of every free tangent between two nodes, with its length."""
        touches = self._touches(self.nodes)
        a, b = np.nonzero(np.triu(touches & touches.T, 1))
        seen = self.sees(self.nodes[a], self.nodes[b])
        a, b = a[seen], b[seen]
        lengths = norm(self.nodes[a] - self.nodes[b])
        return np.concatenate([a, b]), np.concatenate([b, a]), np.concatenate([lengths, lengths])

    def _touches(self, points: Points) -> NDArray[np.bool_]:
        """Tell for each point and node whether the line through both leaves the node's polygon on one side."""
        x = points[:, None, 0] - self.nodes[:, 0]
        y = points[:, None, 1] - self.nodes[:, 1]
        before = self._before[:, 0] * y - self._before[:, 1] * x
        after = self._after[:, 0] * y - self._after[:, 1] * x
        return before * after >= -1e-12

    def _beyond(self, points: Points) -> Points:
        """Return how far points, shape (m, 2), are beyond each side of each obstacle, shape (m, k, sides) [m]."""
        flat = self._normals.reshape(-1, 2)
        return product(points, flat.T).reshape(len(points), *self._offsets.shape) - self._offsets
