"""The models of `robocontrast export`, read from their SDF files: what a physics engine needs, without looks.

It reads what `worlds.exported` writes, and refuses what that never writes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from robocontrast_ros.domain import Pose
from robocontrast_ros.objects.frames import about, multiply
from robocontrast_ros.worlds.mujoco.entities import InvalidModel, ResourceNotFound, Triple

PLANE, BOX, SPHERE, CYLINDER, CAPSULE, ELLIPSOID, MESH = SHAPES = (
    *("plane", "box", "sphere", "cylinder", "capsule", "ellipsoid", "mesh"),
)
"""Kinds of collision shapes."""


@dataclass(frozen=True)
class Collision:
    """A shape that touches others.

    Attributes:
        kind: one of ``SHAPES``.
        size: edges of a box, semi-axes of an ellipsoid; radius, and length of the straight part, of others, then 0 [m].
        mesh: file of a mesh, whose corners are those of a convex body.
        pose: in the link's frame.
        friction: sliding friction of its side.
        category: bits of what it is.
        collide: bits of what it touches.
    """

    kind: str
    size: Triple
    mesh: Path | None
    pose: Pose
    friction: float
    category: int
    collide: int

    def touches(self, other: Collision) -> bool:
        """Return whether the two can touch each other."""
        return bool(self.category & other.collide or other.category & self.collide)


@dataclass(frozen=True)
class Axis:
    """A joint with one degree of freedom.

    Attributes:
        name: name of the joint.
        slides: whether it is prismatic; else it turns.
        direction: its axis, in the frame of its link.
        anchor: a point on it, in the frame of its link [m].
        range: least and greatest position [rad, m]; infinite without limits.
        damping: force a velocity [N m s/rad, N s/m].
        friction: force of dry friction [N m, N].
    """

    name: str
    slides: bool
    direction: Triple
    anchor: Triple
    range: tuple[float, float]
    damping: float
    friction: float


@dataclass(frozen=True)
class Link:
    """A rigid body.

    Attributes:
        name: unique in the model.
        parent: link that it is joined to; empty for the model's own frame.
        pose: in the parent's frame, with its joint at 0.
        mass: [kg]; 0 if the file has none.
        centre: centre of mass, in its frame [m].
        moments: xx, yy, zz, xy, xz, yz about the centre, along its axes [kg m2].
        collisions: shapes that touch others.
        axis: joint to its parent; None if it is fixed there.
    """

    name: str
    parent: str
    pose: Pose
    mass: float
    centre: Triple
    moments: tuple[float, float, float, float, float, float]
    collisions: tuple[Collision, ...]
    axis: Axis | None


@dataclass(frozen=True)
class SdfModel:
    """A model.

    Attributes:
        links: its links, each after its parent.
        free: whether it moves as a whole; else it is fixed in the world.
    """

    links: tuple[Link, ...]
    free: bool


def read_sdf(file: Path) -> SdfModel:
    """Read the model of an SDF file.

    Raises:
        ResourceNotFound: the file cannot be read.
        InvalidModel: it is no SDF file with one model, or has what no exported file has.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ResourceNotFound(f"'{file}' cannot be read: {error}") from None
    return parse_sdf(text, file.parent, str(file))


def parse_sdf(text: str, folder: Path, source: str = "the text") -> SdfModel:
    """Read a model from a document.

    Args:
        text: the document.
        folder: folder of its meshes.
        source: what it is, for the error.

    Raises:
        InvalidModel: it is no SDF document with one model, or has what no exported one has.
    """
    try:
        models = ET.fromstring(text).findall("model")
        if len(models) != 1:
            raise ValueError(f"{len(models)} models, expected one")
        return _model(models[0], folder)
    except (ET.ParseError, ValueError, TypeError, AttributeError, KeyError) as error:
        raise InvalidModel(f"{source} is no model that `robocontrast export` writes: {error}") from None


def _model(model: ET.Element, folder: Path) -> SdfModel:
    joints = {joint.findtext("child"): joint for joint in model.findall("joint")}
    found = [_link(link, joints.get(link.get("name")), folder) for link in model.findall("link")]
    static = model.findtext("static") == "true"
    return SdfModel(tuple(found), not static and not joints.keys() & {each.name for each in found if not each.parent})


def _link(link: ET.Element, joint: ET.Element | None, folder: Path) -> Link:
    name, place = link.get("name"), link.find("pose")
    parent = "" if joint is None or joint.findtext("parent") == "world" else joint.findtext("parent")
    if (place.get("relative_to") or "") != parent:
        raise ValueError(f"link '{name}' is placed relative to another link than its joint's parent")
    inertial = link.find("inertial")
    mass, centre, moments = 0.0, (0.0, 0.0, 0.0), (0.0,) * 6
    if inertial is not None:
        mass, centre = float(inertial.findtext("mass")), _numbers(inertial.find("pose"))[:3]
        matrix = inertial.find("inertia")
        moments = tuple(float(matrix.findtext(f"i{part}")) for part in ("xx", "yy", "zz", "xy", "xz", "yz"))
    collisions = tuple(_collision(each, folder) for each in link.findall("collision"))
    return Link(name, parent, _pose(place), mass, centre, moments, collisions, _axis(joint))


def _axis(joint: ET.Element | None) -> Axis | None:
    if joint is None or joint.get("type") == "fixed":
        return None
    kinds = {"prismatic": True, "revolute": False}
    axis, at = joint.find("axis"), joint.find("pose")
    return Axis(
        joint.get("name").removesuffix("_joint"),
        kinds[joint.get("type")],
        _numbers(axis.find("xyz")),
        (0.0, 0.0, 0.0) if at is None else _numbers(at)[:3],
        (float(axis.findtext("limit/lower")), float(axis.findtext("limit/upper"))),
        float(axis.findtext("dynamics/damping")),
        float(axis.findtext("dynamics/friction")),
    )


def _collision(element: ET.Element, folder: Path) -> Collision:
    (shape,) = element.find("geometry")
    if shape.tag not in SHAPES:
        raise ValueError(f"shape '{shape.tag}', expected one of {', '.join(SHAPES)}")
    size, mesh = (0.0, 0.0, 0.0), None
    if shape.tag == MESH:
        mesh = folder / shape.findtext("uri")
        if not mesh.is_file():
            raise ValueError(f"there is no mesh '{mesh}'")
    elif shape.tag in (BOX, ELLIPSOID):
        size = _numbers(shape.find("size" if shape.tag == BOX else "radii"))
    elif shape.tag != PLANE:
        size = (float(shape.findtext("radius")), float(shape.findtext("length") or 0.0), 0.0)
    bits = (int(element.findtext(f"surface/contact/{name}_bitmask"), 16) for name in ("category", "collide"))
    friction = float(element.findtext("surface/friction/ode/mu"))
    return Collision(shape.tag, size, mesh, _pose(element.find("pose")), friction, *bits)


def _numbers(element: ET.Element) -> tuple[float, ...]:
    values = tuple(float(word) for word in element.text.split())
    if not all(map(math.isfinite, values)):
        raise ValueError(f"<{element.tag}> {element.text}")
    return values


def _pose(element: ET.Element) -> Pose:
    """Return the pose of position, and angles about the fixed axes x, y and z."""
    x, y, z, roll, pitch, yaw = _numbers(element)
    about_x, about_y, about_z = (
        about(axis, angle)
        for axis, angle in zip(((1.0, 0, 0), (0, 1.0, 0), (0, 0, 1.0)), (roll, pitch, yaw), strict=True)
    )
    return Pose((x, y, z), multiply(about_z, multiply(about_y, about_x)))
