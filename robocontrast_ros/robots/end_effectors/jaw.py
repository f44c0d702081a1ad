"""The common part of grippers with two fingers: the palm, the pads, the force, the frame `tool`."""

from __future__ import annotations

import math
from abc import abstractmethod
from xml.etree import ElementTree as ET

from pydantic import Field

from robocontrast_ros.configuration import record
from robocontrast_ros.domain import Pose
from robocontrast_ros.robots.end_effectors.base import DRIVE, Box, EndEffector
from robocontrast_ros.robots.mjcf import TOOL_SITE, add_shapes, numbers
from robocontrast_ros.robots.profile_base import Rgb, Shape, Triple

RIGID = {"solref": "0.004 1", "solimp": "0.95 0.99 0.001"}
"""Stiffness of the pads, of the fingers' coupling and of their stops; softer ones slowly lose a held object."""

FRICTION, TORSION, ROLLING = 1.2, 0.01, 0.0001
"""Friction of rubber pads; it applies to everything that they touch (docs/robot_hands.md)."""


@record
class Finger:
    """The finger at y > 0; the other one is equal, turned by half a turn about z.

    In its own frame y points away from the other finger, z out of the hand. The origin is on the surface of the pad, at
    its root: the pad is a box from z = 0 to the tip, and touches things at y = 0.
    """

    mass: float = Field(gt=0.0, description="Mass [kg].")
    pad: Triple = Field(description="Size of the box of the pad: x across, y thick, z long [m].")
    shapes: tuple[Shape, ...] = Field(default=(), description="Of the finger behind and below its pad.")
    color: Rgb = Field(default=(0.2, 0.2, 0.22), description="Of the pad: red, green and blue in [0, 1].")

    def __post_init__(self) -> None:
        if min(self.pad) <= 0.0:
            raise ValueError(f"`finger.pad` as three sizes above 0 m (got {list(self.pad)})")

    def add_to(self, body: ET.Element, origin: Triple) -> None:
        """Add the geoms to a body in whose frame the finger's has this origin [m] and the same axes."""
        (x, y, z), (across, thick, long) = origin, self.pad
        ET.SubElement(
            body,
            "geom",
            type="box",
            pos=numbers((x, y + thick / 2, z + long / 2)),
            size=numbers((across / 2, thick / 2, long / 2)),
            mass=f"{self.mass:.9g}",
            friction=numbers((FRICTION, TORSION, ROLLING)),
            condim="4",
            priority="1",
            rgba=numbers((*self.color, 1.0)),
            **RIGID,
        )
        add_shapes(body, tuple(moved(shape, origin) for shape in self.shapes), mass=0.0)


@record
class Jaw(EndEffector):
    """A gripper of two fingers whose pads stay parallel.

    Its frame `hand` is the flange's, turned about z by `yaw`: z points out of the hand, the fingers close along y.
    """

    yaw: float = Field(default=0.0, description="Turn of the hand about the flange's z [rad].")
    tool_height: float = Field(gt=0.0, description="Distance of the frame `tool` from the flange [m].")
    stroke: float = Field(gt=0.0, description="Greatest distance of the pads [m].")
    force: float = Field(gt=0.0, description="Force with which each finger presses [N].")
    speed: float = Field(gt=0.0, description="Greatest speed of the pads towards each other [m/s].")
    mass: float = Field(gt=0.0, description="Mass of the palm [kg].")
    palm: tuple[Shape, ...] = Field(min_length=1, description="Shapes of the palm, in the frame `hand`.")
    finger: Finger = Field(description="One of the fingers.")

    @property
    @abstractmethod
    def finger_root(self) -> Triple:
        """Origin of the frame of the finger at y > 0 in the frame `hand`, the hand wide open [m]."""

    @property
    def open_links(self) -> tuple[Shape, ...]:
        """Shapes of the links of the finger at y > 0, in the frame `hand`, the hand wide open; none by default."""
        return ()

    @abstractmethod
    def add_fingers(self, hand: ET.Element, root: ET.Element) -> None:
        """Add both fingers with joints, their coupling, and the actuator."""

    def advance(self, width: float) -> float:
        """Return the distance of the pads further out than in the open hand [m], for a distance of the pads [m]."""
        return 0.0

    def tips(self, width: float) -> float:
        """Return the reach of the finger tips beyond the frame `tool`, along its z [m], for a distance of the pads [m].

        It is negative if they end before it. A planner that puts the frame `tool` at least this far above a surface,
        for the greatest of the widths on the way, keeps the tips off it.
        """
        return self.finger_root[2] + self.advance(width) + self.finger.pad[2] - self.tool_height

    @property
    def greatest_advance(self) -> float:
        """Greatest `advance` at any width [m]."""
        return 0.0

    @property
    def overhang(self) -> float:
        """Greatest reach of the finger tips beyond the frame `tool` [m]."""
        return self.tips(self.stroke) + self.greatest_advance

    @property
    def tool_pose(self) -> Pose:
        """Pose of the frame `tool` in the flange's; it stays there while the fingers move."""
        return Pose.planar(0.0, 0.0, self.yaw, self.tool_height)

    @property
    def greatest_width(self) -> float:
        """Greatest distance of the pads [m]."""
        return self.stroke

    @property
    def drive_speed(self) -> float:
        """Greatest speed of the driven joint [rad/s or m/s]."""
        driven = self.joints[0]
        return abs(driven.open - driven.closed) * self.speed / self.stroke

    def add_to(self, flange: ET.Element, root: ET.Element, moving: bool) -> None:
        """Add palm, fingers and frame; without ``moving`` the fingers are open."""
        half = self.yaw / 2
        turned = numbers((math.cos(half), 0.0, 0.0, math.sin(half)))
        hand = ET.SubElement(flange, "body", name="hand", gravcomp="1", quat=turned)
        add_shapes(hand, self.palm, self.mass)
        ET.SubElement(hand, "site", name=TOOL_SITE, pos=numbers((0.0, 0.0, self.tool_height)), size="0.003", group="4")
        if moving:
            self.add_fingers(hand, root)
            return
        for side in (1, -1):
            finger = side_body(hand, f"finger_{side}", (0.0, 0.0, 0.0), side)
            self.finger.add_to(finger, self.finger_root)
            add_shapes(finger, self.open_links, mass=0.0)

    @property
    def envelope(self) -> tuple[Box, ...]:
        """Boxes around the shapes of the palm, of the open fingers and of their links."""
        across, thick, long = self.finger.pad
        pad = Shape(type="box", start=(0.0, thick / 2, long / 2), end=(across / 2, thick / 2, long / 2))
        fingers = [moved(shape, self.finger_root) for shape in (pad, *self.finger.shapes)]
        fingers += self.open_links
        lower_upper = [_corners(shape) for shape in self.palm]
        for low, high in map(_corners, fingers):
            # The other finger is this one, turned by half a turn about z.
            lower_upper += [(low, high), ((-high[0], -high[1], low[2]), (-low[0], -low[1], high[2]))]
        return tuple(_box(low, high, self.tool_height) for low, high in lower_upper)

    def couple(self, root: ET.Element, follower: str, leader: str, sign: float) -> None:
        """Make a joint move as ``sign`` times the leader."""
        equality = root.find("equality")
        equality = ET.SubElement(root, "equality") if equality is None else equality
        polycoef = numbers((0.0, sign, 0.0, 0.0, 0.0))
        ET.SubElement(equality, "joint", joint1=follower, joint2=leader, polycoef=polycoef, **RIGID)

    def drive_both(self, root: ET.Element, joints: tuple[str, str], effort: float, full: float, damping: float) -> None:
        """Add the actuator: on both joints equally, so that their coupling carries no force.

        Args:
            root: the document's root.
            joints: joints of the two fingers.
            effort: that of each joint while the hand presses with its force [Nm or N].
            full: distance of the set point ahead of the joints for that [rad or m].
            damping: damping of the actuator [Nms/rad or Ns/m].
        """
        tendon = ET.SubElement(ET.SubElement(root, "tendon"), "fixed", name=DRIVE)
        for joint in joints:
            ET.SubElement(tendon, "joint", joint=joint, coef="0.5")
        limits = numbers((-2.0 * effort, 2.0 * effort))
        gains = {"kp": f"{2.0 * effort / full:.9g}", "kv": f"{damping:.9g}"}
        ET.SubElement(root.find("actuator"), "position", name=DRIVE, tendon=DRIVE, forcerange=limits, **gains)


def side_body(parent: ET.Element, name: str, place: Triple, side: int) -> ET.Element:
    """Add a body at a place [m] of the finger at y > 0, or turned by half a turn about z, for the other one."""
    x, y, z = place
    quat = "1 0 0 0" if side > 0 else "0 0 0 1"
    return ET.SubElement(parent, "body", name=name, gravcomp="1", pos=numbers((side * x, side * y, z)), quat=quat)


def moved(shape: Shape, by: Triple) -> Shape:
    """Return a shape elsewhere [m]."""
    start = tuple(a + b for a, b in zip(shape.start, by, strict=True))
    end = shape.end if shape.type == "box" else tuple(a + b for a, b in zip(shape.end, by, strict=True))
    return Shape(type=shape.type, start=start, end=end, radius=shape.radius, color=shape.color)


def _corners(shape: Shape) -> tuple[Triple, Triple]:
    """Return the least and greatest corner of a box that holds a shape [m]."""
    if shape.type == "box":
        low = tuple(c - h for c, h in zip(shape.start, shape.end, strict=True))
        return low, tuple(c + h for c, h in zip(shape.start, shape.end, strict=True))
    ends = list(zip(shape.start, shape.end, strict=True))
    if shape.type == "cylinder":
        # A cylinder does not reach beyond its ends along its own axis, when that is one of the frame's.
        along = [0.0 if sum(x != y for x, y in ends) == 1 and a != b else shape.radius for a, b in ends]
    else:
        along = [shape.radius] * 3
    low = tuple(min(pair) - r for pair, r in zip(ends, along, strict=True))
    return low, tuple(max(pair) + r for pair, r in zip(ends, along, strict=True))


def _box(low: Triple, high: Triple, height: float) -> Box:
    """Return a box in the frame `tool`, given in the frame `hand` by its corners."""
    x, y, z = ((a + b) / 2 for a, b in zip(low, high, strict=True))
    half = tuple((b - a) / 2 for a, b in zip(low, high, strict=True))
    return Box((x, y, z - height), half)
