"""A user's own shape: a mesh (OBJ), or a model of MuJoCo (MJCF), with a checked size and a closed surface."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain.geometry import Vector3
from robocontrast_ros.domain.products import product

if TYPE_CHECKING:
    import mujoco

SAME = 1e-6
"""Greatest distance of two vertices that count as one [m]."""

MJCF = (".xml", ".mjcf")

OFF = 0.003
"""Greatest error of a mesh's size against its object's file, and of its origin's place [m]."""

HEAVIER = 0.05
"""Share by which the mass of a model may differ from that in its object's file."""


@dataclass(frozen=True)
class Mesh:
    """A surface of triangles.

    Attributes:
        vertices: shape (n, 3) [m].
        faces: indices of vertices, counter-clockwise seen from outside, shape (m, 3).
    """

    vertices: NDArray[np.float64]
    faces: NDArray[np.int32]


def corners_of(path: Path, mass: float, source: str) -> NDArray[np.float64]:
    """Return points whose convex hull is around a shape, shape (n, 3) [m].

    Args:
        path: an OBJ or MJCF file.
        mass: mass of the object, which an MJCF model has to have [kg].
        source: the object's file, for errors.

    Raises:
        ConfigurationError: the file cannot be read, its surface is not closed, or the mass differs.
    """
    if path.suffix.lower() not in (*MJCF, ".obj"):
        raise ConfigurationError(source, "mesh", path.name, "a file that ends in .obj, .xml or .mjcf")
    return _corners_of_model(path, mass, source) if path.suffix.lower() in MJCF else read_obj(path, source).vertices


def read_obj(path: Path, source: str) -> Mesh:
    """Return the closed mesh that an OBJ file holds.

    Raises:
        ConfigurationError: it cannot be read, or the mesh is not closed.
    """
    vertices: list[tuple[float, float, float]] = []
    faces: list[tuple[int, int, int]] = []
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise ConfigurationError(source, "mesh", str(path), f"a readable file ({error.strerror})") from None
    for number, line in enumerate(lines, 1):
        kind, *words = line.split() or [""]
        try:
            if kind == "v":
                x, y, z = (float(word) for word in words[:3])
                vertices.append((x, y, z))
            elif kind == "f":
                corners = [_index(word, len(vertices)) for word in words]
                faces += [(corners[0], b, c) for b, c in itertools.pairwise(corners)]
        except (ValueError, IndexError):
            where = f"line {number} of {path.name}: {line.strip()[:40]}"
            raise ConfigurationError(source, "mesh", where, "an OBJ file's vertices and faces") from None
    if len(vertices) < 4 or len(faces) < 4 or not np.isfinite(vertices).all():
        raise ConfigurationError(source, "mesh", f"{path.name}, {len(faces)} faces", "a body with 4 faces or more")
    mesh = _joined(np.asarray(vertices), np.asarray(faces))
    check_closed(mesh.faces, path.name, source)
    return mesh


def check_closed(faces: Iterable[Iterable[int]], name: str, source: str) -> None:
    """Refuse a surface with holes: each edge belongs to two triangles with the same orientation.

    Raises:
        ConfigurationError: an edge does not belong to two such triangles.
    """
    edges = Counter((a, b) for face in faces for a, b in _around([int(corner) for corner in face]))
    loose = sum(1 for (a, b), times in edges.items() if times != 1 or edges.get((b, a)) != 1)
    if loose:
        raise ConfigurationError(
            source,
            "mesh",
            f"{name} with {loose} edges that do not belong to two faces",
            "a closed surface",
            "Fill its holes and make its normals consistent, in Blender by Mesh > Clean Up.",
        )


def _around(corners: list[int]) -> list[tuple[int, int]]:
    return list(zip(corners, corners[1:] + corners[:1], strict=True))


def _index(word: str, count: int) -> int:
    """Return the vertex that a corner of a face names: from 1 on, or from the end if negative."""
    number = int(word.partition("/")[0])
    index = number - 1 if number > 0 else count + number
    if not 0 <= index < count:
        raise IndexError(word)
    return index


def _joined(vertices: NDArray[np.float64], faces: NDArray[np.int64]) -> Mesh:
    """Return a mesh with the vertices at one place joined, without triangles that then have no area."""
    places: dict[tuple[int, ...], int] = {}
    rounded = np.round(vertices / SAME).astype(np.int64).tolist()
    renamed = np.array([places.setdefault(tuple(place), len(places)) for place in rounded])
    kept = np.zeros((len(places), 3))
    kept[renamed] = vertices
    named = renamed[faces]
    real = (named[:, 0] != named[:, 1]) & (named[:, 1] != named[:, 2]) & (named[:, 2] != named[:, 0])
    return Mesh(kept, named[real].astype(np.int32))


def mesh_geom(spec: mujoco.MjSpec, body: mujoco.MjsBody, path: Path, origin: Vector3, mass: float) -> mujoco.MjsGeom:
    """Add the geom of an OBJ file to a body, and return it. MuJoCo uses its convex hull for contacts."""
    import mujoco

    mesh = read_obj(path, str(path))
    made = spec.add_mesh(name="mesh")
    made.uservert = (mesh.vertices - np.asarray(origin)).ravel()
    made.userface = mesh.faces.ravel()
    return body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="mesh", mass=mass)


def model_spec(path: Path, name: str) -> mujoco.MjSpec:
    """Return an MJCF file's model, whose one top-level body gets a name and a free joint.

    Raises:
        ValueError: it is no MJCF model, or has another number of top-level bodies.
    """
    import mujoco

    spec = mujoco.MjSpec.from_file(str(path))
    spec.modelfiledir = str(path.parent)
    bodies = [body for body in spec.bodies if body.parent == spec.worldbody]
    if len(bodies) != 1:
        raise ValueError(f"{len(bodies)} top-level bodies, not one")
    body = bodies[0]
    body.name = name
    for joint in list(body.joints):
        spec.delete(joint)
    body.add_freejoint(name="free")
    body.pos, body.quat = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
    return spec


def _corners_of_model(path: Path, mass: float, source: str) -> NDArray[np.float64]:
    try:
        model = model_spec(path, "object").compile()
    except ValueError as error:
        said = next(iter(str(error).strip().splitlines()), "")
        raise ConfigurationError(source, "mesh", path.name, f"an MJCF model with one body ({said})") from None
    found = float(model.body_mass.sum())
    if abs(found - mass) > HEAVIER * mass:
        raise ConfigurationError(source, "mass", mass, f"the mass of {path.name}, {found:.4g} kg", "Correct either.")
    for mesh in range(model.nmesh):
        first, count = model.mesh_faceadr[mesh], model.mesh_facenum[mesh]
        check_closed(model.mesh_face[first : first + count].tolist(), f"{path.name}: {model.mesh(mesh).name}", source)
    import mujoco

    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    signs = np.array(np.meshgrid((-1, 1), (-1, 1), (-1, 1))).reshape(3, -1).T
    points = [
        data.geom_xpos[geom]
        + product(model.geom_aabb[geom, :3] + signs * model.geom_aabb[geom, 3:], data.geom_xmat[geom].reshape(3, 3).T)
        for geom in range(model.ngeom)
        if model.geom_contype[geom] or model.geom_conaffinity[geom]
    ]
    if not points:
        raise ConfigurationError(source, "mesh", path.name, "a model with a geom that collides")
    return np.concatenate(points)
