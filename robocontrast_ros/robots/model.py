"""The MJCF model of a robot, made from its profile: one description for kinematics and physics.

Between two joints there is one fixed transform. With modified Denavit-Hartenberg parameters (Craig)
it stands before its joint: turn about x by alpha, then translate by (a, 0, d) in the turned frame.
With standard ones it stands after it: translate by (a, 0, d), then turn about x by alpha.
"""

from __future__ import annotations

import math
from xml.etree import ElementTree as ET

from robocontrast_ros.robots.profile import ManipulatorProfile, Pusher, Shape

TOOL_SITE = "tool"
"""Name of the site at the pusher's tip."""

BASE_BODY = "base"
"""Name of the model's one top-level body."""


def robot_mjcf(profile: ManipulatorProfile) -> str:
    """Return the robot as an MJCF document whose top-level body stands at the profile's base pose.

    Joints and actuators carry the driver's joint names. Contact bits let the robot touch everything but
    itself (docs/robots.md).
    """
    root = ET.Element("mujoco", model=profile.name)
    ET.SubElement(root, "compiler", angle="radian", autolimits="true")
    default = ET.SubElement(root, "default")
    ET.SubElement(
        default, "geom", contype="2", conaffinity="1", friction="0.3 0.002 0.0001", solref="0.006 1"
    )
    x, y, z, w = profile.base_pose.orientation
    body = ET.SubElement(
        ET.SubElement(root, "worldbody"),
        "body",
        name=BASE_BODY,
        pos=_numbers(profile.base_position),
        quat=_numbers((w, x, y, z)),
    )
    _add_shapes(body, profile.base, mass=0.0)
    rows = list(profile.kinematics)
    flange = rows.pop() if len(rows) > len(profile.joints) else None
    pending: list[dict[str, str]] = []
    for joint, link, row, armature in zip(
        profile.joints, profile.links, rows, [profile.servo.armature] * len(rows), strict=True
    ):
        if profile.convention == "modified":
            pending.append(_transform(profile.convention, row.a, row.d, row.alpha))
        body = ET.SubElement(
            body, "body", name=joint.name, gravcomp="1", **(pending.pop() if pending else {})
        )
        ET.SubElement(
            body,
            "joint",
            name=joint.name,
            axis="0 0 1",
            range=_numbers((joint.lower, joint.upper)),
            actuatorfrcrange=_numbers((-joint.effort, joint.effort)),
            armature=f"{armature:.9g}",
        )
        _add_shapes(body, link.shapes, link.mass)
        if profile.convention == "standard":
            pending.append(_transform(profile.convention, row.a, row.d, row.alpha))
    if flange is not None:
        pending.append(_transform(profile.convention, flange.a, flange.d, flange.alpha))
    for transform in pending:
        body = ET.SubElement(body, "body", gravcomp="1", **transform)
    pusher = profile.pusher
    body = ET.SubElement(body, "body", name="pusher", gravcomp="1", pos=_numbers((pusher.offset, 0.0, 0.0)))
    if pusher.offset:
        _add_shapes(body, (_bracket(pusher),), mass=0.0)
    ET.SubElement(
        body,
        "geom",
        type="cylinder",
        fromto=_numbers((0.0, 0.0, 0.0, 0.0, 0.0, pusher.length)),
        size=f"{pusher.radius:.9g}",
        mass=f"{pusher.mass:.9g}",
        rgba=_numbers((*pusher.color, 1.0)),
    )
    ET.SubElement(
        body, "site", name=TOOL_SITE, pos=_numbers((0.0, 0.0, pusher.length)), size="0.003", group="4"
    )
    actuators = ET.SubElement(root, "actuator")
    for joint, stiffness, damping in zip(
        profile.joints, profile.servo.stiffness, profile.servo.damping, strict=True
    ):
        ET.SubElement(
            actuators,
            "position",
            name=joint.name,
            joint=joint.name,
            kp=f"{stiffness:.9g}",
            kv=f"{damping:.9g}",
        )
    return ET.tostring(root, encoding="unicode")


def _transform(convention: str, a: float, d: float, alpha: float) -> dict[str, str]:
    """Return pos and quat of the fixed transform of one Denavit-Hartenberg row."""
    position = (a, 0.0, d)
    if convention == "modified":
        position = (a, -d * math.sin(alpha), d * math.cos(alpha))
    turn = (math.cos(alpha / 2), math.sin(alpha / 2), 0.0, 0.0)
    return {"pos": _numbers(position), "quat": _numbers(turn)}


def _bracket(pusher: Pusher) -> Shape:
    """Return the plate between the flange's axis and the rod, in the rod's frame."""
    half = pusher.offset / 2
    return Shape(type="box", start=(-half, 0.0, 0.008), end=(half + 0.03, 0.025, 0.006), color=pusher.color)


def _add_shapes(body: ET.Element, shapes: tuple[Shape, ...], mass: float) -> None:
    """Add geoms; the first carries the whole mass, as the primitives only sketch the link."""
    if mass and not shapes:
        ET.SubElement(
            body, "inertial", pos="0 0 0", mass=f"{mass:.9g}", diaginertia=_numbers((mass * 0.01,) * 3)
        )
    for index, shape in enumerate(shapes):
        attributes = {"type": shape.type, "rgba": _numbers((*shape.color, 1.0))}
        if shape.type == "box":
            attributes |= {"pos": _numbers(shape.start), "size": _numbers(shape.end)}
        else:
            attributes |= {"fromto": _numbers((*shape.start, *shape.end)), "size": f"{shape.radius:.9g}"}
        ET.SubElement(body, "geom", mass=f"{mass if index == 0 else 0.0:.9g}", **attributes)


def _numbers(values: tuple[float, ...]) -> str:
    return " ".join(f"{value:.17g}" for value in values)
