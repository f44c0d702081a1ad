"""A gripper whose two fingers are the couplers of parallelograms, as the Robotiq 2F-85's are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal
from xml.etree import ElementTree as ET

from pydantic import Field

from robocontrast_ros.configuration import record
from robocontrast_ros.robots.end_effectors.base import HandJoint
from robocontrast_ros.robots.end_effectors.jaw import RIGID, Jaw, moved, side_body
from robocontrast_ros.robots.mjcf import add_shapes, numbers
from robocontrast_ros.robots.profile_base import Shape, Triple

FULL = 0.02
"""Distance of the set point ahead of the crank at which it presses with its whole force [rad]."""

DAMPING = 4.0
"""Damping of the actuator [Nms/rad]: no finger bounces off an object."""

ARMATURE = 0.005
"""Inertia of the drive that each joint moves with [kg m^2]; it keeps the light links stable."""


@record
class Crank:
    """The crank that carries the finger at y > 0: it turns about x, in the frame `hand`."""

    pivot: tuple[float, float] = Field(description="Where its axis is: y, z [m].")
    length: float = Field(gt=0.0, description="From its axis to the finger's [m].")
    angle: float = Field(ge=0.0, le=math.pi / 2, description="Of the open hand's crank, from y towards z [rad].")
    mass: float = Field(gt=0.0, description="Mass [kg].")
    radius: float = Field(gt=0.0, description="Radius of its bar [m].")


@record
class ParallelogramJaw(Jaw):
    """Two fingers that move on arcs and stay parallel, so that they come out of the hand while they close.

    One joint drives both: its position is the cranks' angle from the open hand [rad].
    """

    type: Literal["parallelogram_jaw"] = Field(description="Type of end effector.")
    joint_name: str = Field(
        min_length=1, description="Name of the driven joint, that of the crank at y > 0, as in the driver."
    )
    crank: Crank = Field(description="One of the cranks.")
    finger_height: float = Field(gt=0.0, description="Distance of the open hand's pads' roots from the flange [m].")

    def __post_init__(self) -> None:
        reach = self.crank.length * math.cos(self.crank.angle)
        if reach - self.stroke / 2 < -self.crank.length:
            raise ValueError(
                f"a `stroke` that the cranks can close: at most {2 * (reach + self.crank.length):g} m (got "
                f"{self.stroke:g})"
            )

    @property
    def joints(self) -> tuple[HandJoint, ...]:
        """The driven joint."""
        return (HandJoint(self.joint_name, 0.0, self._turned(0.0)),)

    def width(self, positions: Sequence[float]) -> float:
        """Return the distance of the pads [m]."""
        crank = self.crank
        return self.stroke + 2 * crank.length * (math.cos(crank.angle + float(positions[0])) - math.cos(crank.angle))

    def positions(self, width: float) -> tuple[float, ...]:
        """Return the position of the driven joint [rad] for a distance of the pads [m]."""
        return (self._turned(width),)

    def advance(self, width: float) -> float:
        """Return the distance of the pads further out than in the open hand [m], for a distance of the pads [m]."""
        crank = self.crank
        return crank.length * (math.sin(crank.angle + self._turned(width)) - math.sin(crank.angle))

    @property
    def greatest_advance(self) -> float:
        """Greatest `advance` at any width [m]: with the cranks upright, or in the closed hand."""
        crank = self.crank
        upright = crank.angle + self.joints[0].closed >= math.pi / 2
        return crank.length * (1.0 - math.sin(crank.angle)) if upright else self.advance(0.0)

    @property
    def finger_root(self) -> Triple:
        """Origin of a finger's frame in the open hand, in the frame `hand` [m]."""
        return (0.0, self.stroke / 2, self.finger_height)

    @property
    def open_links(self) -> tuple[Shape, ...]:
        """The crank of the finger at y > 0."""
        return (moved(self._bar, (0.0, *self.crank.pivot)),)

    def add_fingers(self, hand: ET.Element, root: ET.Element) -> None:
        """Add cranks and fingers; each finger turns back by its crank's angle."""
        crank = self.crank
        y, z = crank.length * math.cos(crank.angle), crank.length * math.sin(crank.angle)
        closed = self.joints[0].closed
        cranks = (self.joint_name, f"{self.joint_name}_opposite")
        for side, name in zip((1, -1), cranks, strict=True):
            body = side_body(hand, name, (0.0, *crank.pivot), side)
            self._add_joint(body, name, (0.0, closed))
            add_shapes(body, (self._bar,), crank.mass)
            tip = f"{name}_finger"
            finger = ET.SubElement(body, "body", name=tip, gravcomp="1", pos=numbers((0.0, y, z)))
            self._add_joint(finger, tip, (-closed - 0.1, 0.1))
            away = (0.0, self.stroke / 2 - crank.pivot[0] - y, self.finger_height - crank.pivot[1] - z)
            self.finger.add_to(finger, away)
            self.couple(root, tip, name, -1.0)
        leader, follower = cranks
        self.couple(root, follower, leader, 1.0)
        # The lever is longest, and the force least, with the cranks upright: nearly closed.
        self.drive_both(root, cranks, self.force * crank.length, FULL, DAMPING)

    @property
    def _bar(self) -> Shape:
        """Return the crank of the open hand, from its axis on."""
        crank = self.crank
        end = (0.0, crank.length * math.cos(crank.angle), crank.length * math.sin(crank.angle))
        return Shape(type="capsule", start=(0.0, 0.0, 0.0), end=end, radius=crank.radius, color=(0.4, 0.4, 0.42))

    def _add_joint(self, body: ET.Element, name: str, limits: tuple[float, float]) -> None:
        ET.SubElement(
            body,
            "joint",
            name=name,
            axis="1 0 0",
            range=numbers(limits),
            armature=f"{ARMATURE:.9g}",
            solreflimit=RIGID["solref"],
            solimplimit=RIGID["solimp"],
        )

    def _turned(self, width: float) -> float:
        """Return the angle of the cranks from the open hand [rad] for a distance of the pads [m]."""
        crank = self.crank
        cosine = math.cos(crank.angle) - (self.stroke - width) / (2 * crank.length)
        return math.acos(min(max(cosine, -1.0), 1.0)) - crank.angle
