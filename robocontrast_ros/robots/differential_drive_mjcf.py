"""The MJCF model of a differential-drive base, made from its profile.

Its top-level body is the base frame: on the floor, midway between the wheels, x ahead. A wheel touches the
floor as a ball does, at one point below its middle, so that the distance between the wheels is exact; a
caster is a ball without friction.
"""

from __future__ import annotations

import math
from xml.etree import ElementTree as ET

from transforms3d.quaternions import qmult

from robocontrast_ros.robots.differential_drive import DifferentialDriveProfile
from robocontrast_ros.robots.mjcf import BASE_BODY, add_shapes, numbers


def base_mjcf(profile: DifferentialDriveProfile) -> str:
    """Return the base as an MJCF document whose top-level body has a free joint and is at the origin.

    Wheel joints and their actuators carry the driver's joint names, the camera its name in observations.
    Contact bits let the robot touch everything but itself (docs/simulator.md).
    """
    root = ET.Element("mujoco", model=profile.name)
    ET.SubElement(root, "compiler", angle="radian", autolimits="true")
    default = ET.SubElement(root, "default")
    ET.SubElement(default, "geom", contype="2", conaffinity="1", priority="1", friction="0.2 0.005 0.0001")
    base = ET.SubElement(ET.SubElement(root, "worldbody"), "body", name=BASE_BODY)
    ET.SubElement(base, "freejoint")
    body, wheels = profile.body, profile.wheels
    ET.SubElement(
        base,
        "inertial",
        pos=numbers(body.center_of_mass),
        mass=f"{body.mass:.9g}",
        diaginertia=numbers(body.inertia),
    )
    add_shapes(base, body.shapes, mass=0.0)
    for caster in profile.casters:
        ET.SubElement(
            base,
            "geom",
            type="sphere",
            pos=numbers((*caster.position, caster.radius + caster.clearance)),
            size=f"{caster.radius:.9g}",
            condim="1",
            mass="0",
            rgba="0.2 0.2 0.2 1",
        )
    for name, side in ((wheels.left, 0.5), (wheels.right, -0.5)):
        position = (0.0, side * wheels.separation, wheels.radius)
        wheel = ET.SubElement(base, "body", name=name, pos=numbers(position))
        ET.SubElement(wheel, "joint", name=name, axis="0 1 0", armature=f"{wheels.inertia:.9g}")
        ET.SubElement(
            wheel,
            "geom",
            type="sphere",
            size=f"{wheels.radius:.9g}",
            mass=f"{wheels.mass:.9g}",
            friction=numbers((wheels.friction, 0.005, 0.0001)),
            group="3",
        )
        ET.SubElement(
            wheel,
            "geom",
            type="cylinder",
            fromto=numbers((0.0, -wheels.width / 2, 0.0, 0.0, wheels.width / 2, 0.0)),
            size=f"{wheels.radius:.9g}",
            mass="0",
            contype="0",
            conaffinity="0",
            rgba="0.15 0.15 0.15 1",
        )
    mount, optical = profile.mount, profile.mount.optical_pose
    x, y, z, w = optical.orientation
    # MuJoCo's cameras look along -z with y up, optical frames along z with y down.
    view = qmult((w, x, y, z), (0.0, 1.0, 0.0, 0.0))
    ET.SubElement(
        base,
        "camera",
        name=mount.camera,
        pos=numbers(optical.position),
        quat=numbers(tuple(view.tolist())),
        fovy=f"{math.degrees(mount.vertical_view):.9g}",
        resolution=f"{mount.width} {mount.height}",
    )
    actuators = ET.SubElement(root, "actuator")
    for name in profile.joint_names:
        ET.SubElement(
            actuators,
            "velocity",
            name=name,
            joint=name,
            kv=f"{wheels.gain:.9g}",
            forcerange=numbers((-wheels.torque, wheels.torque)),
        )
    return ET.tostring(root, encoding="unicode")
