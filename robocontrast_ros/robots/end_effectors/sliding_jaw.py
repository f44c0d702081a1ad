"""A gripper whose two fingers slide on a straight line, as the Franka Hand's do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal
from xml.etree import ElementTree as ET

from pydantic import Field

from robocontrast_ros.configuration import record
from robocontrast_ros.robots.end_effectors.base import HandJoint
from robocontrast_ros.robots.end_effectors.jaw import RIGID, Jaw, side_body
from robocontrast_ros.robots.mjcf import numbers
from robocontrast_ros.robots.profile_base import Triple

FULL = 0.004
"""Distance of the set point ahead of the finger at which it presses with its whole force [m]."""

DAMPING = 1000.0
"""Damping of the actuator [Ns/m]: no finger bounces off an object."""

ARMATURE = 1.5
"""Mass of the geared drive that each finger moves with [kg]; with 0.1 kg round objects shoot out of the hand."""


@record
class SlidingJaw(Jaw):
    """Two fingers that slide along y; the position of each joint is the pad's distance from the middle [m]."""

    type: Literal["sliding_jaw"] = Field(description="Type of end effector.")
    joint_names: tuple[str, str] = Field(
        description="Names of the joints of the fingers at y > 0 and y < 0, as in the driver."
    )
    finger_height: float = Field(gt=0.0, description="Distance of the pads' roots from the flange [m].")

    def __post_init__(self) -> None:
        if self.joint_names[0] == self.joint_names[1]:
            raise ValueError(f"`joint_names` as two names (got '{self.joint_names[0]}' twice)")

    @property
    def joints(self) -> tuple[HandJoint, ...]:
        """Both fingers' joints."""
        return tuple(HandJoint(name, self.stroke / 2, 0.0) for name in self.joint_names)

    @property
    def servo(self) -> tuple[float, float, float]:
        """Half of the actuator's for each finger, so that both go to the same place."""
        return self.force / FULL, DAMPING / 2, self.force

    def width(self, positions: Sequence[float]) -> float:
        """Return the distance of the pads [m]."""
        return float(positions[0]) + float(positions[1])

    def positions(self, width: float) -> tuple[float, ...]:
        """Return the positions of both joints [m] for a distance of the pads [m]."""
        return (width / 2, width / 2)

    @property
    def finger_root(self) -> Triple:
        """Origin of a finger's frame in the open hand, in the frame `hand` [m]."""
        return (0.0, self.stroke / 2, self.finger_height)

    def add_fingers(self, hand: ET.Element, root: ET.Element) -> None:
        """Add two slides."""
        for side, name in zip((1, -1), self.joint_names, strict=True):
            body = side_body(hand, name, (0.0, 0.0, 0.0), side)
            ET.SubElement(
                body,
                "joint",
                name=name,
                type="slide",
                axis="0 1 0",
                range=numbers((0.0, self.stroke / 2)),
                armature=f"{ARMATURE:.9g}",
                solreflimit=RIGID["solref"],
                solimplimit=RIGID["solimp"],
            )
            self.finger.add_to(body, (0.0, 0.0, self.finger_height))
        leader, follower = self.joint_names
        self.couple(root, follower, leader, 1.0)
        self.drive_both(root, self.joint_names, self.force, FULL, DAMPING)
