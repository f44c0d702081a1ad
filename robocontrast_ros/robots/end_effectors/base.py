"""The interface of an end effector for kinematics, physics, controllers and planners."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from pydantic import Field

from robocontrast_ros.configuration import record
from robocontrast_ros.domain import Pose
from robocontrast_ros.robots.profile_base import Triple

DRIVE = "gripper"
"""Name of a hand's one actuator in its MJCF; its control is the position of the driven joint."""


@dataclass(frozen=True)
class HandJoint:
    """A joint of a hand; the first of a hand's joints is the driven one.

    Attributes:
        name: its name in the driver's joint_states.
        open: position of the wide open hand [rad or m].
        closed: position at which the finger tips touch [rad or m].
    """

    name: str
    open: float
    closed: float


@dataclass(frozen=True)
class Box:
    """A box along the axes of the frame `tool`.

    Attributes:
        center: its centre [m].
        half: half of its size along x, y, z [m].
    """

    center: Triple
    half: Triple


@record
class EndEffector:
    """An end effector at an arm's flange. Each type is a record that derives from this one, and an entry point.

    A type without joints, as the rod, has `tool_pose`, `add_to` and `envelope` alone. The frame `tool` has z out of the
    end effector; that of a hand is between the finger tips, which close along its y.
    """

    type: str = Field(description="Type of end effector, which decides the further keys.")

    @property
    def tool_pose(self) -> Pose:
        """Pose of the frame `tool` in the flange's, whatever the fingers do."""
        raise NotImplementedError

    def add_to(self, flange: ET.Element, root: ET.Element, moving: bool) -> None:
        """Add the MJCF: bodies below the flange's with a site `mjcf.TOOL_SITE`, and the parts of the whole model.

        A hand's joints have the names of `joints`. It adds one position actuator named `DRIVE` to the element
        `actuator` of the root, whose control is the position of the driven joint.

        Args:
            flange: the body of the flange.
            root: the document's root, which has the element `actuator` already.
            moving: whether the fingers have joints and the actuator; without, they are open (for kinematics).
        """
        raise NotImplementedError

    @property
    def joints(self) -> tuple[HandJoint, ...]:
        """Its joints, the driven one first; none if it has no fingers."""
        return ()

    @property
    def greatest_width(self) -> float | None:
        """Greatest distance between the finger tips [m]; None if it has none."""
        return None

    def width(self, positions: Sequence[float]) -> float:
        """Return the distance between the finger tips [m] at joint positions [rad or m]."""
        raise NotImplementedError

    def positions(self, width: float) -> tuple[float, ...]:
        """Return the joint positions [rad or m] for a distance between the finger tips [m]."""
        raise NotImplementedError

    @property
    def drive_speed(self) -> float:
        """Greatest speed of the driven joint [rad/s or m/s]; infinite if only its force limits it."""
        return math.inf

    @property
    def servo(self) -> tuple[float, float, float] | None:
        """Stiffness [N m/rad or N/m], damping and greatest effort of a position servo of each joint.

        None if its joints are more than servos of their own: then other engines than MuJoCo cannot move it.
        """
        return None

    @property
    def overhang(self) -> float:
        """Greatest reach of the end effector beyond the frame `tool`, along its z [m]."""
        return 0.0

    @property
    def envelope(self) -> tuple[Box, ...]:
        """Boxes that together hold the end effector with open fingers, for planners."""
        raise NotImplementedError

    def closed(self, width: float) -> float:
        """Return the closed share of a hand at a width [m]: 0 at its greatest width, 1 if the finger tips touch."""
        return min(max(1.0 - width / self.greatest_width, 0.0), 1.0)

    def drive(self, closed: float) -> float:
        """Return the position of the driven joint [rad or m] of a hand with this closed share, in [0, 1]."""
        return self.positions((1.0 - closed) * self.greatest_width)[0]
