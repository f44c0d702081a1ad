"""The way to set a thing upright that lies on its side: taken near its top, lifted, turned by a quarter, put down.

The hand closes across the thing's axis and turns about the line along which its fingers close. At the lying thing it is
tilted towards the end that is to be the top, at the standing one as far the other way, so that it never points level.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import shapely
from shapely import Polygon

from robocontrast_ros.domain import Pose
from robocontrast_ros.objects import Grasp, ObjectModel
from robocontrast_ros.objects.frames import about, compose, cross, from_axes, inverse, multiply, rotate
from robocontrast_ros.objects.shapes import bounds
from robocontrast_ros.tasks.plans import NoPlan
from robocontrast_ros.tasks.tabletop import shapes
from robocontrast_ros.tasks.tabletop.hand import ALONG, Obstacle
from robocontrast_ros.tasks.tabletop.parameters import Hand

TILT = math.radians(45.0)
"""Angle of the hand from straight down, at the lying thing and at the standing one [rad]."""

LEVEL = math.sin(math.radians(20.0))
"""Greatest height of a unit vector along the axis of a thing that lies on its side."""

ACROSS = math.sin(math.radians(50.0))
"""Least share of that vector across the robot's view: else joints of one of the arms meet their limits."""

ROUND = 12
"""Number of equal turns from which a thing is round: the fingers close along any line across it."""

FACING = math.radians(5.0)
"""Greatest angle between the fingers' line and a grasp's own of a thing that is not round [rad]."""

CENTRED = 1e-6
"""Greatest distance of a grasp from the thing's axis [m]."""

SLICE = 0.05
"""Length of the pieces in which the tilted hand is compared with other things [m]."""

Triple = tuple[float, float, float]


@dataclass(frozen=True)
class UprightWay:
    """How to set a thing upright.

    Attributes:
        thing: its name.
        grasp: the tool's pose when the hand closes.
        width: of the thing between the fingers [m].
        before: distance along the approach from which the hand goes to the thing, and to which it leaves [m].
        height: height of the tool on the way to there, and from there [m].
        carry: height of the tool while the thing is turned [m].
        place: the tool's pose with the thing at its target.
        drop: height above the ground at which the hand opens [m].
        target: pose of the thing at the end.
        path: the tool's path from the start, shape (n, 3), world frame [m].
    """

    thing: str
    grasp: Pose
    width: float
    before: float
    height: float
    carry: float
    place: Pose
    drop: float
    target: Pose
    path: tuple[Triple, ...]


def backed(tool: Pose, away: float) -> Pose:
    """Return a tool so far back along its approach [m]."""
    return compose(tool, Pose((0.0, 0.0, -away)))


def righted(orientation: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    """Return the shortest turn that brings a thing's axis up."""
    axis = rotate(orientation, (0.0, 0.0, 1.0))
    x, y, _ = level = cross(axis, (0.0, 0.0, 1.0))
    size = math.hypot(x, y)
    if size == 0.0:
        return (0.0, 0.0, 0.0, 1.0)
    return about([part / size for part in level], math.atan2(size, axis[2]))


def holds(model: ObjectModel, lying: Pose, hand: Hand) -> Iterator[tuple[Pose, float]]:
    """Yield the tool at a lying thing, in the thing's frame, and the width between the fingers [m].

    Raises:
        NoPlan: it does not lie as a hand could set it upright; the text says why, without its subject.
    """
    x, y, z = rotate(lying.orientation, (0.0, 0.0, 1.0))
    if abs(z) > LEVEL:
        raise NoPlan("does not lie on its side")
    size = math.hypot(x, y)
    top = (x / size, y / size, 0.0)
    if abs(top[1]) < ACROSS:
        raise NoPlan("has its top towards the robot or away from it, where no hand turns it upright")
    closing = cross(top, (0.0, 0.0, 1.0))
    c, s = math.cos(TILT), math.sin(TILT)
    approach = (s * top[0], s * top[1], -c)
    standing = Pose((0.0, 0.0, 0.0), multiply(righted(lying.orientation), lying.orientation))
    tool = Pose((0.0, 0.0, 0.0), from_axes(cross(closing, approach), closing, approach))
    within = compose(inverse(standing), tool).orientation
    ahead = rotate(within, (0.0, 1.0, 0.0))
    for grasp in model.grasps:
        if -grasp.approach[2] < ALONG or math.hypot(*grasp.point[:2]) > CENTRED:
            continue
        angle = math.atan2(ahead[1], ahead[0]) - math.atan2(grasp.closing[1], grasp.closing[0])
        if grasp.turns < ROUND and abs(math.remainder(angle, math.tau / grasp.turns)) > FACING:
            continue
        if grasp.width + hand.slack > hand.opening:
            continue
        at = _clear_of_palm(model, grasp, within, hand)
        if at.position[2] + hand.boxes[0].high[0] <= model.size[2]:
            yield at, grasp.width


def _clear_of_palm(
    model: ObjectModel, grasp: Grasp, orientation: tuple[float, float, float, float], hand: Hand
) -> Pose:
    """Return the tool in the thing's frame, as much above the grasp as the thing would reach into the palm."""
    at, palm = Pose(grasp.point, orientation), min(-box.high[2] for box in hand.boxes[1:]) - hand.above
    parts = [(part.type, part.pose, part.size) for part in model.parts]
    parts = parts or [("box", Pose((0.0, 0.0, model.size[2] / 2)), model.size)]
    nearest = max(-bounds(kind, compose(inverse(at), pose), size)[0][2] for kind, pose, size in parts)
    x, y, z = grasp.point
    return Pose((x, y, z + max(nearest - palm, 0.0) / math.cos(TILT)), orientation)


def in_the_way(hand: Hand, tools: Sequence[Pose], others: Sequence[Obstacle]) -> str | None:
    """Return the first thing to which the open hand, tilted, comes too close at one of some poses; None if none."""
    for tool in tools:
        for area, lowest in _outlines(hand, tool):
            for other in others:
                if other.top > lowest - hand.above and shapely.distance(area, other.area) < hand.margin:
                    return other.name
    return None


def _outlines(hand: Hand, tool: Pose) -> Iterator[tuple[Polygon, float]]:
    """Yield the outlines of pieces of the hand, seen from above, each with the height of its lowest point [m]."""
    for box in hand.boxes:
        low, high = box.low[2], box.high[2]
        count = math.ceil((high - low) / SLICE)
        levels = [low + (high - low) * k / count for k in range(count + 1)]
        for pair in itertools.pairwise(levels):
            corners = [
                compose(tool, Pose((x, y, z))).position
                for x in (box.low[0], box.high[0])
                for y in (box.low[1], box.high[1])
                for z in pair
            ]
            yield shapely.MultiPoint([corner[:2] for corner in corners]).convex_hull, min(z for _, _, z in corners)


def reach(model: ObjectModel, at: Pose) -> float:
    """Return the greatest distance of a thing's box from the tool that holds it [m]."""
    x, y, z = model.size
    corners = [(i * x / 2, j * y / 2, k * z) for i in (-1, 1) for j in (-1, 1) for k in (0, 1)]
    return max(math.dist(at.position, corner) for corner in corners)


def stood(lying: Pose, at: Pose) -> Pose:
    """Return the pose of a thing on the ground that is set upright where its grasp is, seen from above."""
    x, y, _ = compose(lying, at).position
    return Pose((x, y, 0.0), multiply(righted(lying.orientation), lying.orientation))


def swept(model: ObjectModel, lying: Pose, target: Pose) -> Polygon:
    """Return the area over which a thing is turned upright."""
    return shapely.union(shapes.footprint(model, lying), shapes.footprint(model, target)).convex_hull
