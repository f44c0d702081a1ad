"""Upright blocks as a camera knows them: outline, height and colour."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import mujoco
import numpy as np
import shapely
from numpy.typing import NDArray

VISIBLE_GROUPS = 3
"""Groups of geometries that are drawn: those below this number."""

ALIKE = 0.04
"""Share of the outline's area by which a turned outline may differ and still counts as the same."""


@dataclass(frozen=True)
class SolidBlock:
    """An upright prism of one colour. Its frame has z up from the base; it turns about z alone.

    Attributes:
        outline: corners of its base in its frame, in order, shape (n, 2) [m].
        height: [m].
        colour: red, green, blue, each 0 to 1.
    """

    outline: tuple[tuple[float, float], ...]
    height: float
    colour: tuple[float, float, float]

    def __post_init__(self) -> None:
        """Refuse a shape that is no prism."""
        if len(self.outline) < 3 or not self.height > 0.0:
            raise ValueError(
                f"block: got {len(self.outline)} corners, height {self.height}; expected 3 or more, above 0"
            )

    @cached_property
    def turns(self) -> int:
        """Equally spaced turns about z that look the same."""
        shape = shapely.Polygon(self.outline)
        for turns in range(8, 1, -1):
            turned = shapely.affinity.rotate(shape, math.tau / turns, origin=(0.0, 0.0), use_radians=True)
            if shape.symmetric_difference(turned).area < ALIKE * shape.area:
                return turns
        return 1

    @cached_property
    def middle(self) -> NDArray[np.float64]:
        """Centroid of the outline, shape (2,) [m]."""
        centroid = shapely.Polygon(self.outline).centroid
        return np.array((centroid.x, centroid.y))

    @cached_property
    def convex(self) -> bool:
        """Whether the outline is convex."""
        shape = shapely.Polygon(self.outline)
        return bool(shape.convex_hull.area < 1.001 * shape.area)

    @cached_property
    def sides(self) -> NDArray[np.intp]:
        """Corners of the sides, shape (n, 4), in an array of the base's corners and then the top's."""
        k = np.arange(len(self.outline))
        return np.stack(((k - 1) % len(k), k, k + len(k), (k - 1) % len(k) + len(k)), axis=1)

    @cached_property
    def corners(self) -> NDArray[np.float64]:
        """The outline as an array, shape (n, 2) [m]."""
        return np.asarray(self.outline, dtype=float)


@lru_cache(maxsize=64)
def read_block(model: Path) -> SolidBlock:
    """Return the block that an MJCF file describes: the union of its visible meshes and boxes, all of one colour.

    Args:
        model: a file with one body.

    Raises:
        ValueError: it cannot be read, or is no prism with its base at its origin.
    """
    compiled = mujoco.MjModel.from_xml_path(str(model))
    data = mujoco.MjData(compiled)
    mujoco.mj_kinematics(compiled, data)
    parts, top, bottom, colours = [], [], [], set()
    for geom in range(compiled.ngeom):
        if compiled.geom_group[geom] >= VISIBLE_GROUPS:
            continue
        points = _corners(compiled, geom)
        turn = data.geom_xmat[geom].reshape(3, 3)
        placed = np.einsum("ij,kj->ki", turn, points) + data.geom_xpos[geom]
        parts.append(shapely.MultiPoint(placed[:, :2]).convex_hull.buffer(1e-6, join_style="mitre"))
        top.append(placed[:, 2].max())
        bottom.append(placed[:, 2].min())
        colours.add(tuple(round(float(part), 4) for part in compiled.geom_rgba[geom, :3]))
    outline = shapely.union_all(parts).simplify(1e-5) if parts else None
    level = parts and max(np.ptp(top), np.ptp(bottom), abs(min(bottom))) < 1e-3
    if not (isinstance(outline, shapely.Polygon) and level and len(colours) == 1):
        raise ValueError(f"{model}: expected an upright block of one colour that stands on z = 0")
    return SolidBlock(
        tuple((float(x), float(y)) for x, y in outline.exterior.coords[:-1]), float(max(top)), next(iter(colours))
    )


def _corners(model: mujoco.MjModel, geom: int) -> NDArray[np.float64]:
    kind = model.geom_type[geom]
    if kind == mujoco.mjtGeom.mjGEOM_BOX:
        return np.array(np.meshgrid((-1, 1), (-1, 1), (-1, 1))).reshape(3, -1).T * model.geom_size[geom]
    if kind == mujoco.mjtGeom.mjGEOM_MESH:
        mesh = model.geom_dataid[geom]
        first = model.mesh_vertadr[mesh]
        return model.mesh_vert[first : first + model.mesh_vertnum[mesh]].astype(float)
    raise ValueError("expected meshes and boxes")
