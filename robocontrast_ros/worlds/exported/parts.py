"""The bodies, shapes and joints of a compiled MuJoCo model, without MuJoCo."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import Pose

Triple = tuple[float, float, float]

SHAPES = {
    mujoco.mjtGeom.mjGEOM_PLANE: "plane",
    mujoco.mjtGeom.mjGEOM_BOX: "box",
    mujoco.mjtGeom.mjGEOM_SPHERE: "sphere",
    mujoco.mjtGeom.mjGEOM_CYLINDER: "cylinder",
    mujoco.mjtGeom.mjGEOM_CAPSULE: "capsule",
    mujoco.mjtGeom.mjGEOM_ELLIPSOID: "ellipsoid",
    mujoco.mjtGeom.mjGEOM_MESH: "mesh",
}
JOINTS = {mujoco.mjtJoint.mjJNT_HINGE: "revolute", mujoco.mjtJoint.mjJNT_SLIDE: "prismatic"}
HIDDEN = 3
"""First group of geometries that are not drawn."""


@dataclass(frozen=True)
class Shape:
    """A geometry of a body.

    Attributes:
        name: unique in the model.
        type: one of ``SHAPES``.
        size: half extents of a box; radius, and half length, of the others; semi-axes of an ellipsoid [m].
        pose: in the body's frame.
        friction: sliding friction of this side of a contact.
        contact: the bits ``contype`` and ``conaffinity``.
        colour: red, green, blue, opacity, 0 to 1.
        drawn: whether it is part of the looks.
        vertices: of a mesh, in its own frame, shape (n, 3) [m]; else shape (0, 3).
        faces: indices of its vertices, shape (m, 3).
    """

    name: str
    type: str
    size: Triple
    pose: Pose
    friction: float
    contact: tuple[int, int]
    colour: tuple[float, float, float, float]
    drawn: bool
    vertices: NDArray[np.float64]
    faces: NDArray[np.int32]

    @property
    def collides(self) -> bool:
        """Whether it can touch anything."""
        return self.contact != (0, 0)

    def meets(self, other: Shape) -> bool:
        """Return whether the two can touch each other."""
        return bool(self.contact[0] & other.contact[1] or other.contact[0] & self.contact[1])


@dataclass(frozen=True)
class Joint:
    """A joint between a body and its parent.

    Attributes:
        type: ``revolute`` or ``prismatic``.
        axis: its axis, in the body's frame.
        anchor: a point on it, in the body's frame [m].
        range: least and greatest position [rad, m]; None if it has no limits.
        damping: force a velocity [N m s/rad, N s/m].
        friction: force of dry friction [N m, N].
    """

    type: str
    axis: Triple
    anchor: Triple
    range: tuple[float, float] | None
    damping: float
    friction: float


@dataclass(frozen=True)
class Body:
    """A rigid body.

    Attributes:
        name: unique in the model.
        parent: name of its parent; empty for the model itself.
        pose: in the parent's frame, with its joint at 0; of a top-level body in the model's.
        mass: [kg].
        centre: centre of mass, and the axes of the moments, in the body's frame.
        inertia: principal moments [kg m2].
        shapes: its geometries.
        joint: joint to its parent; None if it is fixed there.
    """

    name: str
    parent: str
    pose: Pose
    mass: float
    centre: Pose
    inertia: Triple
    shapes: tuple[Shape, ...]
    joint: Joint | None


@dataclass(frozen=True)
class Model:
    """A model with one top-level body, or more.

    Attributes:
        name: name of the model.
        bodies: its bodies, each after its parent.
        free: whether it moves as a whole; else its top-level bodies are fixed in the world.
    """

    name: str
    bodies: tuple[Body, ...]
    free: bool

    @property
    def static(self) -> bool:
        """Whether physics moves no part of it."""
        return not self.free and all(body.joint is None for body in self.bodies)

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """All geometries."""
        return tuple(shape for body in self.bodies for shape in body.shapes)


def model_parts(name: str, model: mujoco.MjModel) -> Model:
    """Return the parts of a compiled model.

    Raises:
        ValueError: it has a joint or a geometry that has no counterpart.
    """
    bodies = tuple(_body(name, model, number) for number in range(1, model.nbody))
    free = bool((model.jnt_type == mujoco.mjtJoint.mjJNT_FREE).any())
    own = _shapes(name, model, 0)
    if own:
        bodies = (Body("surroundings", "", Pose(), 0.0, Pose(), (0.0, 0.0, 0.0), own, None), *bodies)
    return Model(name, bodies, free)


def _body(model_name: str, model: mujoco.MjModel, number: int) -> Body:
    parent = int(model.body_parentid[number])
    return Body(
        _body_name(model, number),
        _body_name(model, parent) if parent else "",
        _pose(model.body_pos[number], model.body_quat[number]),
        float(model.body_mass[number]),
        _pose(model.body_ipos[number], model.body_iquat[number]),
        _triple(model.body_inertia[number]),
        _shapes(model_name, model, number),
        _joint(model, number),
    )


def _body_name(model: mujoco.MjModel, number: int) -> str:
    return model.body(number).name or f"body_{number}"


def _joint(model: mujoco.MjModel, number: int) -> Joint | None:
    kinds = {j: mujoco.mjtJoint(int(model.jnt_type[j])) for j in np.flatnonzero(model.jnt_bodyid == number).tolist()}
    kinds = {j: kind for j, kind in kinds.items() if kind != mujoco.mjtJoint.mjJNT_FREE}
    if not kinds:
        return None
    if len(kinds) > 1 or not kinds.keys() <= {j for j, kind in kinds.items() if kind in JOINTS}:
        raise ValueError(f"body '{model.body(number).name}': expected at most one joint, a hinge or a slide")
    ((joint, kind),) = kinds.items()
    dof = model.jnt_dofadr[joint]
    limits = tuple(model.jnt_range[joint].tolist()) if model.jnt_limited[joint] else None
    return Joint(
        JOINTS[kind],
        _triple(model.jnt_axis[joint]),
        _triple(model.jnt_pos[joint]),
        limits,
        float(model.dof_damping[dof].item()),
        float(model.dof_frictionloss[dof].item()),
    )


def _shapes(model_name: str, model: mujoco.MjModel, body: int) -> tuple[Shape, ...]:
    found = []
    for geom in np.flatnonzero(model.geom_bodyid == body).tolist():
        kind = mujoco.mjtGeom(int(model.geom_type[geom]))
        if kind not in SHAPES:
            expected = ", ".join(SHAPES.values())
            raise ValueError(f"model '{model_name}': a geometry is {kind.name}, expected one of {expected}")
        material = int(model.geom_matid[geom])
        vertices, faces = _mesh(model, int(model.geom_dataid[geom])) if SHAPES[kind] == "mesh" else _mesh(model, -1)
        found.append(
            Shape(
                model.geom(geom).name or f"{model.body(body).name or 'surroundings'}_{len(found)}",
                SHAPES[kind],
                _triple(model.geom_size[geom]),
                _pose(model.geom_pos[geom], model.geom_quat[geom]),
                float(model.geom_friction[geom, 0]),
                (int(model.geom_contype[geom]), int(model.geom_conaffinity[geom])),
                tuple((model.geom_rgba[geom] if material < 0 else model.mat_rgba[material]).tolist()),
                bool(model.geom_group[geom] < HIDDEN),
                vertices,
                faces,
            )
        )
    return tuple(found)


def _mesh(model: mujoco.MjModel, mesh: int) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    if mesh < 0:
        return np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int32)
    first, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
    face, faces = int(model.mesh_faceadr[mesh]), int(model.mesh_facenum[mesh])
    return model.mesh_vert[first : first + count].astype(float), model.mesh_face[face : face + faces].copy()


def _pose(position: NDArray[np.float64], quaternion: NDArray[np.float64]) -> Pose:
    w, x, y, z = quaternion.tolist()
    return Pose(_triple(position), (x, y, z, w))


def _triple(values: NDArray[np.float64]) -> Triple:
    x, y, z = values.tolist()
    return x, y, z
