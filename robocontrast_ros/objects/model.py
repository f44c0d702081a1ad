"""The description of an object: its shape, its looks, its grasps, and places in and on it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from robocontrast_ros.domain.geometry import Pose, Vector3
from robocontrast_ros.objects.frames import about, compose, cross, from_axes, multiply
from robocontrast_ros.objects.joints import Joint
from robocontrast_ros.objects.schema import Light, Paint

Polygon = tuple[tuple[float, float], ...]
"""Corners of a convex polygon in the x-y plane of the object's frame, counter-clockwise [m]."""

FINGER_BEYOND = 0.009
"""Greatest reach of fingers beyond a grasp's point along its approach [m]; its point is further above ground."""


@dataclass(frozen=True)
class Primitive:
    """One geom of an object.

    Attributes:
        type: ``box``, ``cylinder``, ``capsule``, ``sphere`` or ``ellipsoid``.
        pose: pose of its centre, in the object's frame.
        size: as in MuJoCo: half lengths of a box or an ellipsoid, radius and half length of a cylinder or a capsule
            (without its caps), radius of a sphere; 0 for the rest [m].
        paint: colour and texture.
        weight: its density compared with the object's other parts.
        collides: False if it is visible, but has no contacts.
    """

    type: str
    pose: Pose
    size: Vector3
    paint: Paint
    weight: float
    collides: bool


@dataclass(frozen=True)
class Cavity:
    """A cavity for other objects, in the object's frame.

    Attributes:
        polygon: polygon of the opening's inside.
        floor: height of its floor [m].
        rim: height of its rim [m].
    """

    polygon: Polygon
    floor: float
    rim: float


@dataclass(frozen=True)
class Top:
    """A surface for other objects, in the object's frame.

    Attributes:
        polygon: polygon of the surface.
        z: its height [m].
    """

    polygon: Polygon
    z: float


@dataclass(frozen=True)
class Grasp:
    """One way to grasp an object with two parallel fingers, in the object's frame.

    Attributes:
        point: centre between the finger tips [m]; the fingers reach up to ``FINGER_BEYOND`` further along the approach.
        approach: unit vector of the hand's approach, the z axis of the frame ``tool``.
        closing: unit vector along which the fingers close, the y axis of ``tool``.
        width: width of the object there, along ``closing`` [m].
        turns: equally spaced turns about the approach that are the same grasp.
    """

    point: Vector3
    approach: Vector3
    closing: Vector3
    width: float
    turns: int


@dataclass(frozen=True)
class MovingPart:
    """A part of an object that moves on a joint. Its frame: origin where people take it, axes as the object's at 0.

    Attributes:
        name: its name in its object, such as ``top_drawer``.
        nouns: its names for people, the usual one first.
        joint: its joint, in the object's frame.
        parts: its shape and looks, in its own frame, as all that follows.
        footprint: convex polygon around its projection to the ground.
        cavity: cavity for other objects, or None.
        top: surface for other objects, or None.
        grasps: ways to take it, the preferred ones first.
        mass: [kg].
        damping: force at 1 m/s [N s/m] of a slide, or torque at 1 rad/s [N m s/rad].
        friction: force [N] or torque [N m] that starts it.
        armature: inertia that is added for the solver [kg, or kg m²].
    """

    name: str
    nouns: tuple[str, ...]
    joint: Joint
    parts: tuple[Primitive, ...]
    footprint: Polygon
    cavity: Cavity | None
    top: Top | None
    grasps: tuple[Grasp, ...]
    mass: float
    damping: float
    friction: float
    armature: float


@dataclass(frozen=True)
class ObjectModel:
    """One type of object in one colour. Its frame: origin at the centre of its footprint on the ground, z up.

    Attributes:
        model: its name, such as ``red_mug``.
        type: the name of its file, such as ``mug``.
        nouns: its names for people, the usual one first.
        category: the word for its kind, such as ``fruit``.
        colour: the word for its colour; empty if its colour is not part of its name.
        size: size of the box around the upright object, along x, y and z [m].
        mass: [kg].
        footprint: convex polygon around its projection to the ground.
        parts: its shape and looks; empty if it has a mesh.
        cavity: cavity for other objects, or None.
        top: surface for other objects, or None.
        stackable: whether things of its kind are stacked on each other.
        grasps: ways to grasp it, the preferred ones first.
        fixed: True for tables, backgrounds and lights, which physics never moves.
        uri: its file and variant, ``….yaml#variant``.
        lights: its lights.
        mesh: a user's file with its shape, OBJ or MJCF; None for one of parts.
        origin: origin of the object's frame in that of the mesh [m].
        paint: paint of the mesh.
        joints: its moving parts. As a model each is named ``OBJECT/PART``, and so it is in a scene.
    """

    model: str
    type: str
    nouns: tuple[str, ...]
    category: str
    colour: str
    size: Vector3
    mass: float
    footprint: Polygon
    parts: tuple[Primitive, ...]
    cavity: Cavity | None
    top: Top | None
    stackable: bool
    grasps: tuple[Grasp, ...]
    fixed: bool
    uri: str
    lights: tuple[Light, ...] = ()
    mesh: Path | None = None
    origin: Vector3 = (0.0, 0.0, 0.0)
    paint: Paint | None = None
    joints: tuple[MovingPart, ...] = ()


def tool_pose(object_pose: Pose, grasp: Grasp, turn: int = 0) -> Pose:
    """Return the pose of the frame ``tool`` with the hand at a grasp, in the frame of ``object_pose``.

    Args:
        object_pose: pose of the object.
        grasp: one of its grasps.
        turn: number of the grasp's equal turn, 0 to ``grasp.turns`` - 1.

    Raises:
        ValueError: the grasp has no such turn.
    """
    if not 0 <= turn < grasp.turns:
        raise ValueError(f"turn: got {turn}, expected 0 to {grasp.turns - 1}")
    own = from_axes(cross(grasp.closing, grasp.approach), grasp.closing, grasp.approach)
    turned = multiply(about(grasp.approach, math.tau * turn / grasp.turns), own)
    return compose(object_pose, Pose(grasp.point, turned))
