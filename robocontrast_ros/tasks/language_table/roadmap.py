"""Shortest paths of a disc among discs in a rectangle: a visibility graph, searched with SciPy's Dijkstra."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from robocontrast_ros.domain.products import norm

Points = NDArray[np.float64]

CORNERS = 12
"""Corners of the polygon that stands for a disc; paths about a disc are at most 3.5 % too long."""

_TOLERANCE = 1e-9


class Roadmap:
    """Free space around discs, and the shortest paths in it from one start.

    A disc that contains the start shrinks until the start is on its rim: a start that is too close to
    something can move away from it, not closer.
    """

    def __init__(
        self,
        start: ArrayLike,
        centres: ArrayLike,
        radii: ArrayLike,
        low: ArrayLike,
        high: ArrayLike,
    ) -> None:
        """Set the map; all in metres.

        Args:
            start: shape (2,).
            centres: of the discs, shape (n, 2).
            radii: shape (n,), or one for all.
            low: the rectangle's corner of least x and y, shape (2,).
            high: its corner of greatest x and y, shape (2,).
        """
        self._start = np.asarray(start, dtype=float)
        self._centres = np.asarray(centres, dtype=float).reshape(-1, 2)
        wanted = np.broadcast_to(np.asarray(radii, dtype=float), len(self._centres))
        gap = norm(self._centres - self._start)
        self._radii = np.minimum(wanted, np.maximum(gap - 1e-6, 0.0))
        self._low, self._high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)

    def free(self, points: ArrayLike) -> NDArray[np.bool_]:
        """Tell which points, shape (m, 2), are in the rectangle and in no disc."""
        p = np.asarray(points, dtype=float).reshape(-1, 2)
        inside = np.all((p >= self._low - _TOLERANCE) & (p <= self._high + _TOLERANCE), axis=1)
        gaps = norm(p[:, None] - self._centres) - self._radii
        return inside & np.all(gaps >= -_TOLERANCE, axis=1)

    def sees(self, points: ArrayLike) -> NDArray[np.bool_]:
        """Tell which points, shape (m, 2), a straight line from the start reaches in free space."""
        p = np.asarray(points, dtype=float).reshape(-1, 2)
        return self.free(p) & self._visible(self._start[None], p)[0]

    def path(self, goal: ArrayLike) -> list[tuple[float, float]] | None:
        """Return the shortest path from the start to a point, both included, or None when there is none."""
        end = np.asarray(goal, dtype=float)
        if not self.free(end)[0]:
            return None
        if self.sees(end)[0]:
            return [_pair(self._start), _pair(end)]
        nodes, distances, predecessors = self._tree
        last = np.where(self._visible(nodes, end[None])[:, 0], distances + norm(nodes - end), np.inf)
        node = int(np.argmin(last))
        if not np.isfinite(last[node]):
            return None
        backwards = [_pair(end)]
        while node >= 0:
            backwards.append(_pair(nodes[node]))
            node = int(predecessors[node])
        return backwards[::-1]

    @cached_property
    def _tree(self) -> tuple[Points, Points, NDArray[np.int32]]:
        """Nodes, the start first; their distances from it; each one's predecessor, negative for none."""
        angles = np.arange(CORNERS) * (2 * np.pi / CORNERS)
        # Corners of the circumscribed polygon, so that its sides only touch the disc.
        reach = self._radii[:, None, None] / np.cos(np.pi / CORNERS) + 1e-7
        corners = self._centres[:, None] + reach * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        corners = corners.reshape(-1, 2)
        nodes = np.vstack([self._start, corners[self.free(corners)]])
        # Each pair once: visibility is mutual.
        one, other = np.triu_indices(len(nodes), 1)
        seen = self._clear(nodes[one], nodes[other])
        one, other = one[seen], other[seen]
        lengths = norm(nodes[one] - nodes[other])
        graph = csr_array((lengths, (one, other)), shape=(len(nodes), len(nodes)))
        distances, predecessors = dijkstra(graph, directed=False, indices=0, return_predecessors=True)
        return nodes, distances, predecessors

    def _visible(self, a: Points, b: Points) -> NDArray[np.bool_]:
        """Tell for each pair whether the segment from a, shape (m, 2), to b, shape (k, 2), meets no disc."""
        return self._clear(a[:, None], b)

    def _clear(self, a: Points, b: Points) -> NDArray[np.bool_]:
        """Tell whether the segments from a, shape (..., 2), to b, shape (..., 2), meet no disc."""
        ax, ay = a[..., 0], a[..., 1]
        along_x, along_y = b[..., 0] - ax, b[..., 1] - ay
        length2 = np.maximum(along_x * along_x + along_y * along_y, 1e-18)
        clear = np.ones(length2.shape, dtype=bool)
        for (x, y), radius in zip(self._centres, self._radii, strict=True):
            cx, cy = x - ax, y - ay
            share = np.minimum(np.maximum((along_x * cx + along_y * cy) / length2, 0.0), 1.0)
            gap_x, gap_y = cx - share * along_x, cy - share * along_y
            clear &= gap_x * gap_x + gap_y * gap_y >= max(radius - _TOLERANCE, 0.0) ** 2
        return clear


def _pair(point: Points) -> tuple[float, float]:
    return float(point[0]), float(point[1])
