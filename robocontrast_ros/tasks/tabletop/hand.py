"""The open hand among things: the places with room for it, with the tool pointing down."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import shapely
from shapely import Polygon

from robocontrast_ros.domain import Pose
from robocontrast_ros.objects import Grasp
from robocontrast_ros.tasks.tabletop import shapes
from robocontrast_ros.tasks.tabletop.parameters import Hand

ALONG = math.cos(math.radians(5.0))
"""Least cosine between a grasp's approach and straight down."""


@dataclass(frozen=True)
class Obstacle:
    """Something that hand and target must not touch.

    Attributes:
        name: of the object.
        area: its area seen from above, world frame [m].
        top: height of its highest point [m].
    """

    name: str
    area: Polygon
    top: float


@dataclass(frozen=True)
class ToolPlace:
    """The tool, pointing down.

    Attributes:
        position: world frame [m].
        yaw: angle of the tool's x axis about the world's z [rad], in (-pi, pi].
    """

    position: tuple[float, float, float]
    yaw: float

    @property
    def pose(self) -> Pose:
        """The pose of the frame `tool` in the world."""
        return Pose(self.position, (math.cos(self.yaw / 2), math.sin(self.yaw / 2), 0.0, 0.0))

    @property
    def is_turned_little(self) -> bool:
        """Whether the tool is at most a quarter turn from yaw 0: no wrist meets a limit between two such yaws."""
        return abs(self.yaw) <= math.pi / 2 + 1e-9

    def other_finger(self) -> ToolPlace:
        """Return the place with the two fingers exchanged, which is the same for a hand of two equal fingers."""
        return ToolPlace(self.position, math.remainder(self.yaw + math.pi, math.tau))

    def carried(self, start: Pose, end: Pose) -> ToolPlace:
        """Return the tool's place after the held object has gone from one upright pose to another."""
        turn = end.yaw - start.yaw
        c, s = math.cos(turn), math.sin(turn)
        x, y = self.position[0] - start.position[0], self.position[1] - start.position[1]
        return ToolPlace(
            (
                end.position[0] + c * x - s * y,
                end.position[1] + s * x + c * y,
                self.position[2] + end.position[2] - start.position[2],
            ),
            math.remainder(self.yaw + turn, math.tau),
        )


def grasp_place(pose: Pose, grasp: Grasp, turn: int) -> ToolPlace | None:
    """Return the tool's place to hold an upright object by one of a grasp's equal turns; None if not from above.

    Args:
        pose: of the object.
        grasp: in the object's frame.
        turn: 0 up to ``grasp.turns - 1``.
    """
    if -grasp.approach[2] < ALONG:
        return None
    c, s = math.cos(pose.yaw), math.sin(pose.yaw)
    (x, y, z), (cx, cy, _) = grasp.point, grasp.closing
    position = (pose.position[0] + c * x - s * y, pose.position[1] + s * x + c * y, pose.position[2] + z)
    # The x axis of a tool that points down is a quarter turn from its y axis, along which the fingers close. A turn
    # about the approach, which points down, is one the other way about the world's z.
    yaw = math.atan2(cx, -cy) + pose.yaw - turn * math.tau / grasp.turns
    return ToolPlace(position, math.remainder(yaw, math.tau))


class HandRoom:
    """Finds the obstacles of the open hand, at a place and on the way straight down to it."""

    def __init__(self, hand: Hand) -> None:
        self._hand = hand
        self._bottoms = [box.high[2] for box in hand.boxes]
        self._boxes = [Polygon([(x, y) for x, y in _around(box.low, box.high)]) for box in hand.boxes]

    def in_the_way(self, tool: ToolPlace, obstacles: Sequence[Obstacle]) -> str | None:
        """Return the name of the first obstacle to which the open hand comes too close; None if it has room."""
        x, y, z = tool.position
        for box, bottom in zip(self._boxes, self._bottoms, strict=True):
            lowest = z - bottom - self._hand.above
            near = [obstacle for obstacle in obstacles if obstacle.top > lowest]
            if not near:
                continue
            # A tool that points down: its x axis is at the yaw, its y axis is mirrored.
            there = _mirrored(box, (x, y), tool.yaw)
            gaps = shapely.distance(there, np.array([obstacle.area for obstacle in near], dtype=object))
            close = np.flatnonzero(gaps < self._hand.margin)
            if close.size:
                return near[int(close[0])].name
        return None


def _around(low: tuple[float, ...], high: tuple[float, ...]) -> list[tuple[float, float]]:
    return [(low[0], low[1]), (high[0], low[1]), (high[0], high[1]), (low[0], high[1])]


def _mirrored(box: Polygon, xy: tuple[float, float], yaw: float) -> Polygon:
    x, y = shapely.get_coordinates(box).T
    return shapes.moved(Polygon(np.stack([x, -y], axis=1)), xy, yaw)
