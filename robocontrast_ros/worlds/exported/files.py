"""SDF and URDF files of a model.

SDF 1.11 (sdformat.org), which Gazebo Harmonic reads. URDF has no friction, no capsule and no ellipsoid.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
from transforms3d.euler import quat2euler
from transforms3d.quaternions import quat2mat

from robocontrast_ros.domain import Pose
from robocontrast_ros.worlds.exported.parts import Body, Model, Shape
from robocontrast_ros.worlds.exported.surfaces import NoCounterpart, Surface, Surfaces

SDF_VERSION = "1.11"
LARGE = 100.0
"""Edge of the box that takes the place of a plane in URDF, and its thickness below [m, m / 100]."""


def write_sdf(model: Model, surfaces: Surfaces, folder: Path) -> Path:
    """Write a model as SDF, and its meshes as OBJ beside it; return the file.

    Args:
        model: the model.
        surfaces: surfaces of its shapes.
        folder: folder of the file, which exists.

    Raises:
        OSError: a file cannot be written.
    """
    root = ET.Element("sdf", version=SDF_VERSION)
    top = ET.SubElement(root, "model", name=model.name)
    _text(top, "static", str(model.static).lower())
    for body in model.bodies:
        link = ET.SubElement(top, "link", name=body.name)
        pose = _text(link, "pose", _xyz_rpy(body.pose))
        if body.parent:
            pose.set("relative_to", body.parent)
        if body.mass:
            _sdf_inertial(link, body)
        for shape in body.shapes:
            if shape.drawn:
                _sdf_shape(link, "visual", shape, model, folder)
            for count, surface in enumerate(surfaces.of(shape, model) if shape.collides else ()):
                collision = _sdf_shape(link, "collision", shape, model, folder)
                collision.set("name", f"{shape.name}_{count}")
                _sdf_surface(collision, surface)
        if body.parent or not (model.free or model.static):
            _sdf_joint(top, body)
    return _written(root, folder / f"{model.name}.sdf")


def _sdf_inertial(link: ET.Element, body: Body) -> None:
    inertial = ET.SubElement(link, "inertial")
    _text(inertial, "pose", _xyz_rpy(Pose(body.centre.position)))
    _text(inertial, "mass", number(body.mass))
    inertia = ET.SubElement(inertial, "inertia")
    for name, value in _moments(body).items():
        _text(inertia, name, number(value))


def _sdf_shape(link: ET.Element, role: str, shape: Shape, model: Model, folder: Path) -> ET.Element:
    element = ET.SubElement(link, role, name=shape.name)
    _text(element, "pose", _xyz_rpy(shape.pose))
    _sdf_geometry(ET.SubElement(element, "geometry"), shape, model, folder)
    if role == "visual":
        colour = numbers(shape.colour)
        material = ET.SubElement(element, "material")
        _text(material, "ambient", colour)
        _text(material, "diffuse", colour)
    return element


def _sdf_geometry(parent: ET.Element, shape: Shape, model: Model, folder: Path) -> None:
    element = ET.SubElement(parent, shape.type)
    first, second, _ = shape.size
    if shape.type == "plane":
        _text(element, "normal", "0 0 1")
        _text(element, "size", f"{number(LARGE)} {number(LARGE)}")
    elif shape.type == "box":
        _text(element, "size", numbers(2.0 * half for half in shape.size))
    elif shape.type == "ellipsoid":
        _text(element, "radii", numbers(shape.size))
    elif shape.type == "mesh":
        _text(element, "uri", _mesh_file(shape, model, folder))
    else:
        _text(element, "radius", number(first))
        if shape.type != "sphere":
            _text(element, "length", number(2.0 * second))


def _sdf_surface(collision: ET.Element, surface: Surface) -> None:
    element = ET.SubElement(collision, "surface")
    ode = ET.SubElement(ET.SubElement(element, "friction"), "ode")
    _text(ode, "mu", number(surface.friction))
    _text(ode, "mu2", number(surface.friction))
    contact = ET.SubElement(element, "contact")
    _text(contact, "collide_bitmask", f"0x{surface.collide:04x}")
    _text(contact, "category_bitmask", f"0x{surface.category:04x}")


def _sdf_joint(top: ET.Element, body: Body) -> None:
    joint = body.joint
    element = ET.SubElement(top, "joint", name=f"{body.name}_joint", type=joint.type if joint else "fixed")
    _text(element, "parent", body.parent or "world")
    _text(element, "child", body.name)
    if joint is None:
        return
    _text(element, "pose", _xyz_rpy(Pose(joint.anchor)))
    axis = ET.SubElement(element, "axis")
    _text(axis, "xyz", numbers(joint.axis))
    limit = ET.SubElement(axis, "limit")
    low, high = joint.range or (-math.inf, math.inf)
    _text(limit, "lower", number(low))
    _text(limit, "upper", number(high))
    dynamics = ET.SubElement(axis, "dynamics")
    _text(dynamics, "damping", number(joint.damping))
    _text(dynamics, "friction", number(joint.friction))


def write_urdf(model: Model, surfaces: Surfaces, folder: Path) -> Path:
    """Write a model as URDF, and its meshes as OBJ beside it; return the file.

    Its friction is written as Bullet's ``lateral_friction`` of each link, and as Gazebo's ``mu1`` and ``mu2``; a plane
    becomes a box. URDF cannot say that two shapes do not touch, nor that a model is static.

    Raises:
        OSError: a file cannot be written.
        NoCounterpart: it has a capsule or an ellipsoid that collides, or a link whose shapes differ in friction.
    """
    root = ET.Element("robot", name=model.name)
    for body in model.bodies:
        link = ET.SubElement(root, "link", name=body.name)
        if body.mass:
            _urdf_inertial(link, body)
        touching = [shape for shape in body.shapes if shape.collides]
        for shape in body.shapes:
            if shape.drawn and shape.type not in _NOT_IN_URDF:
                _urdf_shape(link, "visual", shape, model, folder)
        for shape in touching:
            if shape.type in _NOT_IN_URDF:
                raise NoCounterpart(f"'{model.name}': URDF has no {shape.type} ('{shape.name}'); take SDF")
            _urdf_shape(link, "collision", shape, model, folder)
        sides = {surface.friction for shape in touching for surface in surfaces.of(shape, model)}
        _urdf_friction(root, link, body, sides)
        if body.parent:
            _urdf_joint(root, body)
    return _written(root, folder / f"{model.name}.urdf")


_NOT_IN_URDF = ("capsule", "ellipsoid")


def _urdf_inertial(link: ET.Element, body: Body) -> None:
    inertial = ET.SubElement(link, "inertial")
    _origin(inertial, Pose(body.centre.position))
    ET.SubElement(inertial, "mass", value=number(body.mass))
    ET.SubElement(inertial, "inertia", {name: number(value) for name, value in _moments(body).items()})


def _urdf_shape(link: ET.Element, role: str, shape: Shape, model: Model, folder: Path) -> None:
    element = ET.SubElement(link, role, name=shape.name)
    plane = shape.type == "plane"
    _origin(element, Pose((0.0, 0.0, -LARGE / 200.0)) if plane else shape.pose)
    geometry = ET.SubElement(element, "geometry")
    first, second, _ = shape.size
    if plane:
        ET.SubElement(geometry, "box", size=numbers((LARGE, LARGE, LARGE / 100.0)))
    elif shape.type == "box":
        ET.SubElement(geometry, "box", size=numbers(2.0 * half for half in shape.size))
    elif shape.type == "mesh":
        ET.SubElement(geometry, "mesh", filename=_mesh_file(shape, model, folder))
    elif shape.type == "sphere":
        ET.SubElement(geometry, "sphere", radius=number(first))
    else:
        ET.SubElement(geometry, "cylinder", radius=number(first), length=number(2.0 * second))
    if role == "visual":
        material = ET.SubElement(element, "material", name=f"{shape.name}_colour")
        ET.SubElement(material, "color", rgba=numbers(shape.colour))


def _urdf_friction(root: ET.Element, link: ET.Element, body: Body, frictions: set[float]) -> None:
    if not frictions:
        return
    if len(frictions) > 1:
        raise NoCounterpart(
            f"link '{body.name}' needs frictions of {' and '.join(map(number, sorted(frictions)))}, by what touches "
            "it, and URDF has one a link: take SDF"
        )
    value = number(*frictions)
    ET.SubElement(ET.SubElement(link, "contact"), "lateral_friction", value=value)
    gazebo = ET.SubElement(root, "gazebo", reference=body.name)
    _text(gazebo, "mu1", value)
    _text(gazebo, "mu2", value)


def _urdf_joint(root: ET.Element, body: Body) -> None:
    joint = body.joint
    kind = "fixed" if joint is None else joint.type
    if joint is not None and joint.range is None and kind == "revolute":
        kind = "continuous"
    element = ET.SubElement(root, "joint", name=f"{body.name}_joint", type=kind)
    if joint is not None and any(joint.anchor):
        raise NoCounterpart(f"link '{body.name}' turns about an axis beside its origin; take SDF, URDF has none")
    _origin(element, body.pose)
    ET.SubElement(element, "parent", link=body.parent)
    ET.SubElement(element, "child", link=body.name)
    if joint is None:
        return
    ET.SubElement(element, "axis", xyz=numbers(joint.axis))
    ET.SubElement(element, "dynamics", damping=number(joint.damping), friction=number(joint.friction))
    if joint.range is not None:
        low, high = joint.range
        ET.SubElement(element, "limit", lower=number(low), upper=number(high), effort="1000", velocity="100")


def _origin(parent: ET.Element, pose: Pose) -> None:
    x, y, z, *angles = _xyz_rpy(pose).split()
    ET.SubElement(parent, "origin", xyz=f"{x} {y} {z}", rpy=" ".join(angles))


def _moments(body: Body) -> dict[str, float]:
    """Return the moments of inertia about the centre of mass, along the axes of the body."""
    x, y, z, w = body.centre.orientation
    axes = quat2mat((w, x, y, z))
    found = np.einsum("ik,k,jk->ij", axes, body.inertia, axes)
    names = (("ixx", 0, 0), ("ixy", 0, 1), ("ixz", 0, 2), ("iyy", 1, 1), ("iyz", 1, 2), ("izz", 2, 2))
    return {name: float(found[row, column]) for name, row, column in names}


def _mesh_file(shape: Shape, model: Model, folder: Path) -> str:
    """Write a mesh beside the model's file; return its name."""
    file = folder / f"{model.name}_{shape.name}.obj"
    lines = [f"v {numbers(vertex)}" for vertex in shape.vertices.tolist()]
    lines += ["f " + " ".join(str(index + 1) for index in face) for face in shape.faces.tolist()]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file.name


def _xyz_rpy(pose: Pose) -> str:
    """Return position, and angles about the fixed axes x, y and z, as both formats have them."""
    x, y, z, w = pose.orientation
    return numbers((*pose.position, *quat2euler((w, x, y, z), "sxyz")))


def number(value: float) -> str:
    """Return the shortest text of a number that is read as the same; no digits of rounding errors of angles."""
    return f"{value:.12g}" if math.isfinite(value) else ("inf" if value > 0.0 else "-inf")


def numbers(values: Iterable[float]) -> str:
    """Return the texts of numbers, with a space between."""
    return " ".join(map(number, values))


def _text(parent: ET.Element, name: str, text: str) -> ET.Element:
    element = ET.SubElement(parent, name)
    element.text = text
    return element


def _written(root: ET.Element, file: Path) -> Path:
    ET.indent(root)
    file.write_bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n")
    return file
