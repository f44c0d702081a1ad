"""The MJCF model of an arm, made from its profile: one description for kinematics and physics.

Between two joints there is one fixed transform. With modified Denavit-Hartenberg parameters (Craig) it comes before its
joint: turn about x by alpha, then translate by (a, 0, d) in the turned frame. With standard ones it comes after it:
translate by (a, 0, d), then turn about x by alpha.
"""

from __future__ import annotations

import math
from xml.etree import ElementTree as ET

from robocontrast_ros.domain import Pose
from robocontrast_ros.robots.manipulator import HandCamera, ManipulatorProfile
from robocontrast_ros.robots.mjcf import BASE_BODY, add_shapes, numbers
from robocontrast_ros.robots.profile_base import Triple


def arm_mjcf(profile: ManipulatorProfile, moving_hand: bool = True) -> str:
    """Return the arm as an MJCF document whose top-level body is at the profile's base pose.

    Joints and the arm's actuators carry the driver's joint names. Contact bits let the robot touch everything but
    itself (docs/simulator.md).

    Args:
        profile: the arm.
        moving_hand: whether the fingers of a hand move; without, they are open, and the joints are the arm's.
    """
    root = ET.Element("mujoco", model=profile.name)
    ET.SubElement(root, "compiler", angle="radian", autolimits="true")
    default = ET.SubElement(root, "default")
    ET.SubElement(default, "geom", contype="2", conaffinity="1", friction="0.3 0.002 0.0001", solref="0.006 1")
    x, y, z, w = profile.base_pose.orientation
    body = ET.SubElement(
        ET.SubElement(root, "worldbody"),
        "body",
        name=BASE_BODY,
        pos=numbers(profile.base_position),
        quat=numbers((w, x, y, z)),
    )
    add_shapes(body, profile.base, mass=0.0)
    rows = list(profile.kinematics)
    flange = rows.pop() if len(rows) > len(profile.joints) else None
    pending: list[dict[str, str]] = []
    for joint, link, row, armature in zip(
        profile.joints, profile.links, rows, [profile.servo.armature] * len(rows), strict=True
    ):
        if profile.convention == "modified":
            pending.append(_transform(profile.convention, row.a, row.d, row.alpha))
        body = ET.SubElement(body, "body", name=joint.name, gravcomp="1", **(pending.pop() if pending else {}))
        ET.SubElement(
            body,
            "joint",
            name=joint.name,
            axis="0 0 1",
            range=numbers((joint.lower, joint.upper)),
            actuatorfrcrange=numbers((-joint.effort, joint.effort)),
            armature=f"{armature:.9g}",
        )
        add_shapes(body, link.shapes, link.mass)
        if profile.convention == "standard":
            pending.append(_transform(profile.convention, row.a, row.d, row.alpha))
    if flange is not None:
        pending.append(_transform(profile.convention, flange.a, flange.d, flange.alpha))
    for transform in pending:
        body = ET.SubElement(body, "body", gravcomp="1", **transform)
    actuators = ET.SubElement(root, "actuator")
    for joint, stiffness, damping in zip(profile.joints, profile.servo.stiffness, profile.servo.damping, strict=True):
        ET.SubElement(
            actuators,
            "position",
            name=joint.name,
            joint=joint.name,
            kp=f"{stiffness:.9g}",
            kv=f"{damping:.9g}",
        )
    profile.end_effector.add_to(body, root, moving_hand)
    if profile.mount is not None:
        _add_camera(body, profile.end_effector.tool_pose, profile.mount)
    return ET.tostring(root, encoding="unicode")


def _add_camera(flange: ET.Element, tool: Pose, mount: HandCamera) -> None:
    """Add the camera on the hand, in a body whose frame is `tool`."""
    x, y, z, w = tool.orientation
    body = ET.SubElement(
        flange, "body", name="camera", gravcomp="1", pos=numbers(tool.position), quat=numbers((w, x, y, z))
    )
    forward = _unit(tuple(there - here for here, there in zip(mount.lens, mount.target, strict=True)))
    # The image's right is the tool's y, less its part along the line of sight.
    right = _unit((-forward[0] * forward[1], 1.0 - forward[1] ** 2, -forward[2] * forward[1]))
    (fx, fy, fz), (rx, ry, rz) = forward, right
    up = (ry * fz - rz * fy, rz * fx - rx * fz, rx * fy - ry * fx)
    ET.SubElement(
        body,
        "camera",
        name=mount.camera,
        pos=numbers(mount.lens),
        xyaxes=numbers((*right, *up)),
        fovy=f"{math.degrees(mount.vertical_view):.9g}",
        resolution=f"{mount.width} {mount.height}",
    )


def _unit(vector: Triple) -> Triple:
    length = math.hypot(*vector)
    x, y, z = vector
    return (x / length, y / length, z / length)


def _transform(convention: str, a: float, d: float, alpha: float) -> dict[str, str]:
    """Return pos and quat of the fixed transform of one Denavit-Hartenberg row."""
    position = (a, 0.0, d)
    if convention == "modified":
        position = (a, -d * math.sin(alpha), d * math.cos(alpha))
    turn = (math.cos(alpha / 2), math.sin(alpha / 2), 0.0, 0.0)
    return {"pos": numbers(position), "quat": numbers(turn)}
