"""The robot's map of the floor around its start, from its images and odometry."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_dilation, distance_transform_edt, uniform_filter
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from robocontrast_ros.domain import Pose
from robocontrast_ros.domain.products import product
from robocontrast_ros.policies.baselines.navigation.modular.parameters import MemoryParameters
from robocontrast_ros.policies.baselines.navigation.modular.vision import Points, View
from robocontrast_ros.policies.baselines.navigation.moves import Point

Cells = NDArray[np.intp]
Mask = NDArray[np.bool_]
Reader = Callable[[Point], float]


class FloorMemory:
    """A grid around the start: free cells, blocked cells, and categories of furniture."""

    def __init__(self, parameters: MemoryParameters, start: Point, categories: tuple[str, ...]) -> None:
        self._p = parameters
        self._side = 2 * math.ceil(parameters.span / parameters.cell) + 1
        self._corner = np.asarray(start) - self._side * parameters.cell / 2
        self._evidence = np.zeros((self._side, self._side))
        self._known = np.zeros((self._side, self._side), dtype=bool)
        self._categories = categories
        self._looks = np.zeros((len(categories), self._side, self._side))

    def add(self, view: View, pose: Pose) -> None:
        """Add the view from a pose of the base."""
        p = self._p
        for points, weight in ((view.free, -p.free_weight), (view.blocked, p.blocked_weight)):
            cells = self._unique(points, pose)
            self._known[cells[:, 0], cells[:, 1]] = True
            self._evidence[cells[:, 0], cells[:, 1]] += weight
        np.clip(self._evidence, -p.evidence, p.evidence, out=self._evidence)
        for sighting in view.sightings:
            cells = self._unique(sighting.contact, pose)
            self._looks[self._categories.index(sighting.category), cells[:, 0], cells[:, 1]] += 1

    def add_bump(self, pose: Pose, ahead: float) -> None:
        """Add an obstacle this far ahead of a pose [m], even if the floor looks free there."""
        cells = self._unique(np.array([[ahead, 0.0]]), pose)
        self._known[cells[:, 0], cells[:, 1]] = True
        self._evidence[cells[:, 0], cells[:, 1]] = self._p.evidence

    def where(self, category: str) -> Points:
        """Return the centres of the cells that hold a category, shape (n, 2) [m]."""
        number = self._categories.index(category)
        looks = self._looks[number]
        # Furniture in front of other furniture is at times taken for it; its own category is seen more often.
        about = uniform_filter(self._looks, size=(0, 3, 3), mode="constant")
        here = (looks >= max(self._p.looks, looks.max() / 8)) & (about[number] >= about.max(axis=0))
        return self._middles(np.argwhere(here))

    def gaps(self) -> Points:
        """Return the distance of each cell's centre from the nearest blocked cell [m]."""
        blocked = self._evidence > 0
        if not blocked.any():
            return np.full(blocked.shape, np.inf)
        return distance_transform_edt(~blocked, sampling=self._p.cell)

    @property
    def known(self) -> Mask:
        """The cells that were seen."""
        return self._known

    def frontier(self) -> Mask:
        """Return the free cells beside cells that were never seen."""
        return self._known & (self._evidence <= 0) & binary_dilation(~self._known)

    def around(self, points: Points, radius: float) -> Mask:
        """Return the cells within a distance of points [m]."""
        mask = np.ones((self._side, self._side), dtype=bool)
        cells = self._cells(points)
        mask[cells[:, 0], cells[:, 1]] = False
        return distance_transform_edt(mask, sampling=self._p.cell) <= radius

    def distances(self, targets: Mask, passable: Mask) -> Points:
        """Return each cell's distance to the nearest target through passable cells [m]; infinite without a way."""
        inside = passable | targets
        number = np.full(inside.shape, -1)
        number[inside] = np.arange(int(inside.sum()))
        rows, columns, lengths = [], [], []
        for dx, dy in ((1, 0), (0, 1), (1, 1), (1, -1)):
            a = number[: self._side - dx, max(-dy, 0) : self._side - max(dy, 0)]
            b = number[dx:, max(dy, 0) : self._side - max(-dy, 0)]
            both = (a >= 0) & (b >= 0)
            rows.append(a[both])
            columns.append(b[both])
            lengths.append(np.full(int(both.sum()), math.hypot(dx, dy) * self._p.cell))
        count = int(inside.sum())
        found = np.full(inside.shape, np.inf)
        if not (targets & inside).any():
            return found
        graph = coo_array(
            (np.concatenate(lengths), (np.concatenate(rows), np.concatenate(columns))), shape=(count, count)
        ).tocsr()
        found[inside] = dijkstra(graph, directed=False, indices=number[targets], min_only=True)
        return found

    def reader(self, values: Points | Mask) -> Reader:
        """Return the function for the value at a point's cell; beyond the map, at the nearest cell."""
        rows = values.tolist()
        x, y, cell, last = *self._corner.tolist(), self._p.cell, self._side - 1

        def read(point: Point) -> float:
            row = min(max(int((point[0] - x) / cell), 0), last)
            return rows[row][min(max(int((point[1] - y) / cell), 0), last)]

        return read

    def _unique(self, points: Points, pose: Pose) -> Cells:
        """Return the cells of points in the base's frame, each once."""
        c, s = math.cos(pose.yaw), math.sin(pose.yaw)
        world = product(points, [[c, s], [-s, c]]) + np.asarray(pose.xy)
        return np.unique(self._cells(world), axis=0)

    def _cells(self, points: Points) -> Cells:
        cells = np.floor((points - self._corner) / self._p.cell).astype(np.intp)
        return np.clip(cells, 0, self._side - 1)

    def _middles(self, cells: Cells) -> Points:
        return self._corner + (cells + 0.5) * self._p.cell
