"""USD files of a model, for Isaac Sim: text (`.usda`) with the schema UsdPhysics (openusd.org, `usd_physics`).

Bodies are side by side below the model, since USD lets no rigid body be part of another one's; what is fixed to the
world is no rigid body.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from transforms3d.quaternions import axangle2quat

from robocontrast_ros.domain import Pose
from robocontrast_ros.objects.frames import compose
from robocontrast_ros.worlds.ellipsoids import ellipsoid
from robocontrast_ros.worlds.exported.files import number, numbers
from robocontrast_ros.worlds.exported.parts import Body, Model, Shape, Triple
from robocontrast_ros.worlds.exported.surfaces import Surface, Surfaces

HEADER = '#usda 1.0\n(\n    defaultPrim = "{}"\n    kilogramsPerUnit = 1\n    metersPerUnit = 1\n    upAxis = "Z"\n)\n'
CORNERS = (12, 6)
"""Of an ellipsoid, around and from pole to pole: 62 vertices, and PhysX takes at most 64 of a convex shape."""
JOINTS = {"revolute": ("PhysicsRevoluteJoint", "angular"), "prismatic": ("PhysicsPrismaticJoint", "linear")}
"""Type of a joint -> its USD type, and the instance of its drive."""


def write_usd(model: Model, surfaces: Surfaces, folder: Path) -> Path:
    """Write a model as USD; return the file.

    A shape that collides is there once for each friction that it has on something, invisible and in a collision group
    for each kind of contact; groups of all files of a task merge where these are referenced into one stage.

    Args:
        model: the model.
        surfaces: surfaces of its shapes.
        folder: folder of the file, which exists.

    Raises:
        OSError: a file cannot be written.
    """
    file = folder / f"{model.name}.usda"
    lines = _Model(model, surfaces).lines()
    file.write_text("\n".join([HEADER.format(model.name), *lines, ""]), encoding="utf-8")
    return file


class _Model:
    """A model, with the places of its bodies in the tree."""

    def __init__(self, model: Model, surfaces: Surfaces) -> None:
        self._model, self._surfaces = model, surfaces
        self._root = f"/{model.name}"
        self._bodies = _with_mass(model)
        self._groups: dict[Surface, list[str]] = {}

    def lines(self) -> list[str]:
        """Return the lines of the model's prim."""
        bodies = self._bodies.values()
        alone = self._model.free and len(bodies) == 1
        own = [line for body in bodies for line in self._body(body, alone)]
        joints = [line for body in bodies if self._moves(body) for line in self._joint(body)]
        if alone:
            (body,) = bodies
            apis, values = _mass(body)
            placed = _placed(self._pose(body))
        else:
            apis, values, placed = (["PhysicsArticulationRootAPI"] if joints else []), [], []
        inner = [*values, *placed, *own, *_scope("joints", joints), *self._materials(), *self._collision_groups()]
        return _prim("Xform", self._model.name, inner, [*apis], kind="component")

    def _moves(self, body: Body) -> bool:
        """Return whether physics moves a body: it, or one that it is fixed to, has a joint or is free."""
        if body.joint is not None:
            return True
        return self._moves(self._bodies[body.parent]) if body.parent else self._model.free

    def _pose(self, body: Body) -> Pose:
        """Return a body's pose in the model's frame, with all joints at 0."""
        return compose(self._pose(self._bodies[body.parent]), body.pose) if body.parent else body.pose

    def _path(self, body: Body) -> str:
        return f"{self._root}/{body.name}"

    def _body(self, body: Body, alone: bool) -> list[str]:
        path = self._root if alone else self._path(body)
        drawn = [line for shape in body.shapes if shape.drawn for line in _visual(shape)]
        touching = [line for shape in body.shapes for line in self._collisions(shape, path)]
        inner = [*_scope("visuals", drawn), *_scope("collisions", touching, hidden=True)]
        if alone:
            return inner
        apis, values = _mass(body) if self._moves(body) else ([], [])
        return _prim("Xform", body.name, [*values, *_placed(self._pose(body)), *inner], apis)

    def _collisions(self, shape: Shape, path: str) -> Iterator[str]:
        for count, surface in enumerate(self._surfaces.of(shape, self._model) if shape.collides else ()):
            name = f"{shape.name}_{count}"
            self._groups.setdefault(surface, []).append(f"{path}/collisions/{name}")
            apis = ["PhysicsCollisionAPI", "MaterialBindingAPI"]
            kind, values = _geometry(shape, exact=False)
            if kind == "Mesh":
                apis.append("PhysicsMeshCollisionAPI")
                values.append('uniform token physics:approximation = "convexHull"')
            material = f"rel material:binding:physics = <{self._root}/materials/{_material(surface.friction)}>"
            yield from _prim(kind, name, [*values, material], apis)

    def _joint(self, body: Body) -> list[str]:
        joint = body.joint
        if joint is None and not body.parent:
            return []
        anchor = Pose(joint.anchor, _to_axis(joint.axis)) if joint else Pose()
        parent = self._bodies.get(body.parent)
        values = [
            f"rel physics:body0 = <{self._path(parent) if parent else self._root}>",
            f"rel physics:body1 = <{self._path(body)}>",
            *_frame(0, compose(body.pose, anchor)),
            *_frame(1, anchor),
        ]
        if joint is None:
            return _prim("PhysicsFixedJoint", f"{body.name}_joint", values)
        kind, drive = JOINTS[joint.type]
        # Angles are in degrees, and so are the damping and the limits that go with them.
        degrees = math.degrees(1.0) if drive == "angular" else 1.0
        values.append('uniform token physics:axis = "X"')
        for name, limit in zip(("lower", "upper"), joint.range or (), strict=False):
            values.append(f"float physics:{name}Limit = {number(limit * degrees)}")
        values += [
            f'uniform token drive:{drive}:physics:type = "force"',
            f"float drive:{drive}:physics:damping = {number(joint.damping / degrees)}",
            f"float drive:{drive}:physics:stiffness = 0",
        ]
        return _prim(kind, f"{body.name}_joint", values, [f"PhysicsDriveAPI:{drive}"])

    def _materials(self) -> list[str]:
        found = []
        for friction in sorted({surface.friction for surface in self._groups}):
            values = [f"float physics:{which}Friction = {number(friction)}" for which in ("static", "dynamic")]
            values.append("float physics:restitution = 0")
            found += _prim("Material", _material(friction), values, ["PhysicsMaterialAPI"])
        return _scope("materials", found)

    def _collision_groups(self) -> list[str]:
        """Return the groups of all kinds of contact of the task, so that each file knows which ones it ignores."""
        found = []
        for surface in self._surfaces.kinds():
            ignored = [other for other in self._surfaces.kinds() if not surface.touches(other)]
            values = [f'string physics:mergeGroup = "{_group(surface)}"']
            values += _targets("physics:filteredGroups", [f"{self._root}/groups/{_group(other)}" for other in ignored])
            values += _targets("collection:colliders:includes", self._groups.get(surface, []))
            found += _prim("PhysicsCollisionGroup", _group(surface), values, ["CollectionAPI:colliders"])
        return _scope("groups", found)


def _with_mass(model: Model) -> dict[str, Body]:
    """Return name -> body, with the shapes of each one without mass that is fixed to another at that one's."""
    found: dict[str, Body] = {}
    carriers: dict[str, tuple[str, Pose]] = {}
    for body in model.bodies:
        parent, pose = carriers.get(body.parent, (body.parent, Pose()))
        body = replace(body, parent=parent, pose=compose(pose, body.pose))
        if body.parent and body.joint is None and not body.mass:
            carriers[body.name] = (body.parent, body.pose)
            carrier = found[body.parent]
            own = tuple(replace(shape, pose=compose(body.pose, shape.pose)) for shape in body.shapes)
            found[body.parent] = replace(carrier, shapes=(*carrier.shapes, *own))
        else:
            found[body.name] = body
    return found


def _mass(body: Body) -> tuple[list[str], list[str]]:
    """Return the schemas and the values of a rigid body."""
    values = [
        f"float physics:mass = {number(body.mass)}",
        f"point3f physics:centerOfMass = {_tuple(body.centre.position)}",
        f"float3 physics:diagonalInertia = {_tuple(body.inertia)}",
        f"quatf physics:principalAxes = {_quaternion(body.centre)}",
    ]
    return ["PhysicsRigidBodyAPI", "PhysicsMassAPI"], values


def _visual(shape: Shape) -> list[str]:
    kind, values = _geometry(shape, exact=True)
    *colour, opacity = shape.colour
    values += [
        f"color3f[] primvars:displayColor = [{_tuple(colour)}]",
        f"float[] primvars:displayOpacity = [{number(opacity)}]",
    ]
    return _prim(kind, shape.name, values)


def _geometry(shape: Shape, exact: bool) -> tuple[str, list[str]]:
    """Return the type and the values of a geometry.

    Args:
        shape: the geometry.
        exact: whether an ellipsoid is a stretched sphere, which can be drawn, or a mesh, which can collide.
    """
    first, second, _ = shape.size
    if shape.type == "box":
        return "Cube", ["double size = 2", *_placed(shape.pose, shape.size)]
    if shape.type == "sphere":
        return "Sphere", [f"double radius = {number(first)}", *_placed(shape.pose)]
    if shape.type == "ellipsoid" and exact:
        return "Sphere", ["double radius = 1", *_placed(shape.pose, shape.size)]
    if shape.type in ("ellipsoid", "mesh"):
        corners, faces = shape.vertices.tolist(), shape.faces.tolist()
        if shape.type == "ellipsoid":
            corners, faces = ellipsoid(shape.size, *CORNERS)
        return "Mesh", [*_mesh(corners, faces), *_placed(shape.pose)]
    if shape.type == "plane":
        return "Plane", ['uniform token axis = "Z"', *_placed(shape.pose)]
    length = [f"double radius = {number(first)}", f"double height = {number(2.0 * second)}"]
    return shape.type.capitalize(), ['uniform token axis = "Z"', *length, *_placed(shape.pose)]


def _mesh(points: Sequence[Sequence[float]], faces: Sequence[Sequence[int]]) -> list[str]:
    low, high = ([end(values) for values in zip(*points, strict=True)] for end in (min, max))
    return [
        f"point3f[] points = [{', '.join(map(_tuple, points))}]",
        f"int[] faceVertexCounts = [{', '.join(str(len(face)) for face in faces)}]",
        f"int[] faceVertexIndices = [{', '.join(str(index) for face in faces for index in face)}]",
        f"float3[] extent = [{_tuple(low)}, {_tuple(high)}]",
        'uniform token subdivisionScheme = "none"',
    ]


def _to_axis(axis: Triple) -> tuple[float, float, float, float]:
    """Return the orientation that turns +x to an axis."""
    x, y, z = (value / math.hypot(*axis) for value in axis)
    about = (0.0, 0.0, 1.0) if math.hypot(y, z) < 1e-9 else (0.0, -z, y)
    w, qx, qy, qz = axangle2quat(about, math.acos(max(-1.0, min(1.0, x)))).tolist()
    return qx, qy, qz, w


def _frame(side: int, pose: Pose) -> list[str]:
    return [
        f"point3f physics:localPos{side} = {_tuple(pose.position)}",
        f"quatf physics:localRot{side} = {_quaternion(pose)}",
    ]


def _placed(pose: Pose, scale: Triple | None = None) -> list[str]:
    steps = ['"xformOp:translate"', '"xformOp:orient"', *(['"xformOp:scale"'] if scale else [])]
    return [
        f"double3 xformOp:translate = {_tuple(pose.position)}",
        f"quatd xformOp:orient = {_quaternion(pose)}",
        *([f"double3 xformOp:scale = {_tuple(scale)}"] if scale else []),
        f"uniform token[] xformOpOrder = [{', '.join(steps)}]",
    ]


def _group(surface: Surface) -> str:
    return f"kind_{surface.category:04x}_{surface.collide:04x}_{_material(surface.friction)}"


def _material(friction: float) -> str:
    return f"friction_{number(friction)}".replace(".", "_").replace("-", "_")


def _quaternion(pose: Pose) -> str:
    x, y, z, w = pose.orientation
    return _tuple((w, x, y, z))


def _tuple(values: Iterable[float]) -> str:
    return f"({numbers(values).replace(' ', ', ')})"


def _targets(name: str, paths: Sequence[str]) -> list[str]:
    return [f"rel {name} = [{', '.join(f'<{path}>' for path in paths)}]"] if paths else []


def _scope(name: str, inner: Sequence[str], hidden: bool = False) -> list[str]:
    return _prim("Scope", name, [*(['token visibility = "invisible"'] if hidden else []), *inner]) if inner else []


def _prim(type_: str, name: str, inner: Iterable[str], apis: Sequence[str] = (), kind: str = "") -> list[str]:
    """Return the lines of a prim."""
    data = [f'    kind = "{kind}"'] if kind else []
    if apis:
        named = ", ".join(f'"{api}"' for api in apis)
        data.append(f"    prepend apiSchemas = [{named}]")
    head = f'def {type_} "{name}"'
    return [*([f"{head} (", *data, ")"] if data else [head]), "{", *(f"    {line}" for line in inner), "}"]
