"""A robot's description as URDF, for RViz, Foxglove, robot_state_publisher, MoveIt."""

from __future__ import annotations

import math
from collections.abc import Iterable
from xml.etree import ElementTree as ET

from robocontrast_ros.domain import Pose
from robocontrast_ros.objects.frames import compose, rotate
from robocontrast_ros.robots.description import Joint, Link, RobotTree, Solid
from robocontrast_ros.robots.mjcf import numbers

_SINGULAR = 1e-10
"""Cosine of the pitch [1] below which roll and yaw turn about the same axis."""


def urdf_of(tree: RobotTree) -> str:
    """Return a robot as a URDF document. URDF has no capsule: it is a cylinder with a sphere at each end."""
    root = ET.Element("robot", name=tree.name)
    for link in tree.links:
        _add_link(root, link)
    for joint in tree.joints:
        _add_joint(root, joint)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode")


def _add_link(root: ET.Element, link: Link) -> None:
    element = ET.SubElement(root, "link", name=link.name)
    if link.mass:
        inertial = ET.SubElement(element, "inertial")
        _add_origin(inertial, link.center)
        ET.SubElement(inertial, "mass", value=_number(link.mass))
        terms = dict(zip(("ixx", "iyy", "izz"), map(_number, link.inertia), strict=True))
        ET.SubElement(inertial, "inertia", **terms, ixy="0", ixz="0", iyz="0")
    parts = [part for solid in link.solids for part in _parts(solid)]
    colors: dict[tuple[float, ...], str] = {}
    for part in parts:
        if part.shown:
            visual = ET.SubElement(element, "visual")
            _add_shape(visual, part)
            # A material's name is the whole document's.
            name = colors.setdefault(part.color, f"{link.name}_{len(colors)}")
            material = ET.SubElement(visual, "material", name=name)
            ET.SubElement(material, "color", rgba=" ".join(f"{value:.6g}" for value in part.color))
    for part in parts:
        if part.touches:
            _add_shape(ET.SubElement(element, "collision"), part)


def _parts(solid: Solid) -> Iterable[Solid]:
    """Return the URDF primitives of a solid."""
    if solid.type != "capsule":
        return (solid,)
    radius, half = solid.size
    ends = (compose(solid.pose, Pose((0.0, 0.0, side * half))) for side in (1.0, -1.0))

    def like(kind: str, pose: Pose, *size: float) -> Solid:
        return Solid(kind, pose, size, solid.color, solid.shown, solid.touches)

    return (like("cylinder", solid.pose, radius, half), *(like("sphere", end, radius) for end in ends))


def _add_shape(element: ET.Element, solid: Solid) -> None:
    _add_origin(element, solid.pose)
    geometry = ET.SubElement(element, "geometry")
    if solid.type == "box":
        ET.SubElement(geometry, "box", size=numbers(tuple(2.0 * half for half in solid.size)))
    elif solid.type == "sphere":
        ET.SubElement(geometry, "sphere", radius=_number(solid.size[0]))
    else:
        radius, half = solid.size
        ET.SubElement(geometry, "cylinder", radius=_number(radius), length=_number(2.0 * half))


def _add_joint(root: ET.Element, joint: Joint) -> None:
    element = ET.SubElement(root, "joint", name=joint.name, type=joint.type)
    _add_origin(element, joint.origin)
    ET.SubElement(element, "parent", link=joint.parent)
    ET.SubElement(element, "child", link=joint.child)
    if joint.type == "fixed":
        return
    ET.SubElement(element, "axis", xyz=numbers(joint.axis))
    limits = {"effort": _number(joint.effort), "velocity": _number(joint.velocity)}
    if joint.type != "continuous":
        limits |= dict(zip(("lower", "upper"), map(_number, joint.limits), strict=True))
    ET.SubElement(element, "limit", **limits)
    if joint.mimic is not None:
        factors = {"multiplier": _number(joint.mimic.multiplier), "offset": _number(joint.mimic.offset)}
        ET.SubElement(element, "mimic", joint=joint.mimic.joint, **factors)


def _add_origin(element: ET.Element, pose: Pose) -> None:
    ET.SubElement(element, "origin", xyz=numbers(pose.position), rpy=numbers(_roll_pitch_yaw(pose)))


def _roll_pitch_yaw(pose: Pose) -> tuple[float, float, float]:
    """Return the angles about the fixed x, y and z axes [rad].

    Roll and pitch are those that remain after the yaw, so that an inaccurate yaw, near the singularity, costs nothing.
    """
    xx, xy, xz = rotate(pose.orientation, (1.0, 0.0, 0.0))
    yx, yy, _ = rotate(pose.orientation, (0.0, 1.0, 0.0))
    zx, zy, _ = rotate(pose.orientation, (0.0, 0.0, 1.0))
    yaw = math.atan2(xy, xx) if math.hypot(xx, xy) > _SINGULAR else 0.0
    cosine, sine = math.cos(yaw), math.sin(yaw)
    pitch = math.atan2(-xz, cosine * xx + sine * xy)
    roll = math.atan2(sine * zx - cosine * zy, cosine * yy - sine * yx)
    return roll, pitch, yaw


def _number(value: float) -> str:
    return f"{value:.17g}"
