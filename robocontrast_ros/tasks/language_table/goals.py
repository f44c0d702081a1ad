"""Goals of instructions: regions for the source block's centre, and predicates over scenes."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocontrast_ros.domain import Instruction, Scene
from robocontrast_ros.domain.products import dot, norm
from robocontrast_ros.tasks.language_table.parameters import FAMILIES, Board, LanguageTableParameters
from robocontrast_ros.tasks.protocol import Polygon

# "up" is towards the robot (-x), "left" is -y: the directions as the camera sees the board.
VERTICAL = {"up": -1.0, "down": 1.0, "": 0.0}
HORIZONTAL = {"left": -1.0, "right": 1.0, "": 0.0}
DIRECTIONS = ("up", "down", "left", "right", "up_left", "up_right", "down_left", "down_right")

LOCATIONS = (
    "top",
    "top_left",
    "top_right",
    "center",
    "center_left",
    "center_right",
    "bottom",
    "bottom_left",
    "bottom_right",
)

DISTANCES = ("far", "near")

ARC = 13
"""Corners of a half circle on a map."""


def split_direction(direction: str) -> tuple[str, str]:
    """Return the vertical and the horizontal part of a direction, either of which may be empty."""
    parts = direction.split("_")
    vertical = parts[0] if parts[0] in ("up", "down") else ""
    horizontal = parts[-1] if parts[-1] in ("left", "right") else ""
    return vertical, horizontal


def direction_sign(direction: str) -> NDArray[np.float64]:
    """Return the signs along x and y of a direction, shape (2,)."""
    vertical, horizontal = split_direction(direction)
    return np.array([VERTICAL[vertical], HORIZONTAL[horizontal]])


def location_point(location: str, board: Board, x_offset: float) -> NDArray[np.float64]:
    """Return the place's point on the board, shape (2,), world frame [m]."""
    x = {"top": board.x_min, "center": (board.x_min + board.x_max) / 2, "bottom": board.x_max}
    y = {"left": board.y_min, "right": board.y_max}
    parts = location.split("_")
    return np.array([x[parts[0]] + x_offset, y.get(parts[-1], (board.y_min + board.y_max) / 2)])


class GoalRegion(Protocol):
    """Points of the plane, with the distance to them."""

    def distance(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return the distance of points, shape (..., 2), from the region [m]; 0 inside and on the edge."""

    def nearest(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return the region's points nearest to points, shape (..., 2) both [m]."""

    def shrunk(self, by: float) -> GoalRegion:
        """Return the region without a rim of this width [m]."""

    def outline(self) -> Polygon:
        """Return the region's edge."""


SMALLEST = math.sqrt(sys.float_info.min)
"""Length below which a vector has no direction [m]: its squares have lost digits."""


@dataclass(frozen=True)
class Capsule:
    """All points within ``radius`` [m] of the segment from ``start`` to ``end``; a disc if they are one."""

    start: tuple[float, float]
    end: tuple[float, float]
    radius: float

    def distance(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return the distance of points from the capsule [m]."""
        p = np.asarray(points, dtype=float)
        if p.ndim == 1:
            return self._distance_of(*p.tolist())
        return np.maximum(norm(p - self._on_axis(p)) - self.radius, 0.0)

    def nearest(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return the capsule's points nearest to points [m]."""
        p = np.asarray(points, dtype=float)
        axis = self._on_axis(p)
        gap = norm(p - axis)[..., None]
        inside = gap <= self.radius
        return np.where(inside, p, axis + (p - axis) * (self.radius / np.where(inside, 1.0, gap)))

    def shrunk(self, by: float) -> Capsule:
        """Return a thinner capsule."""
        return Capsule(self.start, self.end, self.radius - by)

    def outline(self) -> Polygon:
        """Return the edge; each round end is half of a polygon with ``2 * ARC`` corners."""
        along = np.arctan2(self.end[1] - self.start[1], self.end[0] - self.start[0])
        turn = np.linspace(-np.pi / 2, np.pi / 2, ARC)
        return _arc(self.end, self.radius, along + turn) + _arc(self.start, self.radius, along + np.pi + turn)

    def _distance_of(self, x: float, y: float) -> np.float64:
        """Return the same for one point, in a seventh of the time and with the same bits; called at each step."""
        (ax, ay), (bx, by) = self.start, self.end
        along_x, along_y = bx - ax, by - ay
        length2 = along_x * along_x + along_y * along_y
        if length2 != 0.0:
            share = min(max(((x - ax) * along_x + (y - ay) * along_y) / length2, 0.0), 1.0)
            ax, ay = ax + share * along_x, ay + share * along_y
        gap_x, gap_y = x - ax, y - ay
        return np.float64(max(math.sqrt(gap_x * gap_x + gap_y * gap_y) - self.radius, 0.0))

    @cached_property
    def _axis(self) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """The segment's start, the way to its end, and its length squared."""
        start, along = np.asarray(self.start), np.subtract(self.end, self.start)
        return start, along, float(dot(along, along))

    def _on_axis(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the segment's points nearest to points, shape (..., 2); one for all if it is a point."""
        start, along, length2 = self._axis
        if length2 == 0.0:
            return start
        share = (dot(p - start, along) / length2).clip(0.0, 1.0)
        return start + share[..., None] * along


@dataclass(frozen=True)
class Outside:
    """All points at least ``radius`` [m] from ``centre``."""

    centre: tuple[float, float]
    radius: float

    def distance(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return the depth of points inside the excluded disc [m]."""
        gap = norm(np.asarray(points, dtype=float) - np.asarray(self.centre))
        return np.maximum(self.radius - gap, 0.0)

    def nearest(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return the points straight away from the centre [m]; along +x from the centre itself."""
        p = np.asarray(points, dtype=float)
        away = p - np.asarray(self.centre)
        gap = norm(away)[..., None]
        known = gap > SMALLEST
        unit = np.where(known, away / np.where(known, gap, 1.0), (1.0, 0.0))
        return np.where(gap >= self.radius, p, np.asarray(self.centre) + unit * self.radius)

    def shrunk(self, by: float) -> Outside:
        """Return the points still farther away."""
        return Outside(self.centre, self.radius + by)

    def outline(self) -> Polygon:
        """Return the edge of the excluded disc."""
        return _arc(self.centre, self.radius, np.linspace(0.0, 2.0 * np.pi, 2 * ARC, endpoint=False))


def _arc(centre: tuple[float, float], radius: float, angles: NDArray[np.float64]) -> Polygon:
    return tuple(
        (centre[0] + radius * c, centre[1] + radius * s)
        for c, s in zip(np.cos(angles).tolist(), np.sin(angles).tolist(), strict=True)
    )


@dataclass(frozen=True)
class BlockGoal:
    """The source block's centre lies in a region, which may move with the target block.

    Attributes:
        source: name of the block to be pushed.
        fixed: the region if it does not depend on a target block.
        target: name of the block to which the region is attached; empty without one.
        attached: the region in the frame of the target's centre, axes as the world's.
        target_start: the target's place at the start, (x, y) [m].
        drag_limit: greatest distance of the target from there [m].
        touches: whether the source may be pushed against the target.
    """

    source: str
    fixed: GoalRegion | None = None
    target: str = ""
    attached: GoalRegion | None = None
    target_start: tuple[float, float] = (0.0, 0.0)
    drag_limit: float = float("inf")
    touches: bool = False

    def region(self, scene: Scene) -> GoalRegion:
        """Return the region for the source's centre, given the target's place now; world frame."""
        if self.fixed is not None:
            return self.fixed
        x, y = scene[self.target].pose.xy
        match self.attached:
            case Capsule((ax, ay), (bx, by), radius):
                return Capsule((x + ax, y + ay), (x + bx, y + by), radius)
            case Outside((cx, cy), radius):
                return Outside((x + cx, y + cy), radius)
        raise TypeError(f"no region attached to {self.target}")

    def distance(self, scene: Scene) -> float:
        """Return the source's distance from the region plus the target's drag beyond its limit [m]."""
        outside = float(self.region(scene).distance(scene[self.source].pose.xy))
        if not self.target or not math.isfinite(self.drag_limit):
            return outside
        (x, y), (start_x, start_y) = scene[self.target].pose.xy, self.target_start
        dragged = float(np.hypot(x - start_x, y - start_y))
        return outside + max(dragged - self.drag_limit, 0.0)

    def satisfied(self, scene: Scene) -> bool:
        """Return whether the scene fulfils the instruction."""
        return self.distance(scene) == 0.0

    def in_words(self) -> str:
        """Return the condition of success in words."""
        source, target = (name.replace("_", " ") for name in (self.source, self.target))
        match self.fixed or self.attached:
            case Outside(_, radius):
                where = f"at least {radius * 100:.3g} cm from that of the {target}"
            case Capsule(start, end, radius) if start != end:
                near, far = sorted(math.hypot(*point) * 100 for point in (start, end))
                line = f"the line that leads from {near:.3g} to {far:.3g} cm away from the {target} to the named side"
                where = f"within {radius * 100:.3g} cm of {line}"
            case Capsule(_, _, radius) if self.target:
                where = f"within {radius * 100:.3g} cm of that of the {target}"
            case Capsule((x, y), _, radius):
                where = f"within {radius * 100:.3g} cm of x {x * 100:.1f} cm, y {y * 100:.1f} cm".replace("-", "\u2212")
        words = f"the centre of the {source} is {where}"
        if self.target and np.isfinite(self.drag_limit):
            words += f", and the {target} was moved by no more than {self.drag_limit * 100:.3g} cm"
        return words

    def regions(self, scene: Scene) -> tuple[Polygon, ...]:
        """Return the edge of the region for the source's centre."""
        return (self.region(scene).outline(),)


@dataclass(frozen=True)
class BlockGoals:
    """Makes the goals of a task's instructions.

    Attributes:
        parameters: of the task.
    """

    parameters: LanguageTableParameters

    def goal(self, instruction: Instruction, start: Scene) -> BlockGoal:
        """Return the goal of an instruction given in a starting scene.

        Raises:
            ValueError: the instruction's family is unknown, or an argument is missing or unknown.
            KeyError: the scene lacks a block that it names.
        """
        parameters, arguments = self.parameters, dict(instruction.arguments)
        try:
            source = arguments["source"]
            match instruction.family:
                case "block_to_block":
                    near = Capsule((0.0, 0.0), (0.0, 0.0), parameters.block_to_block.within)
                    return BlockGoal(source, target=arguments["target"], attached=near, touches=True)
                case "block_to_absolute_location":
                    rule = parameters.block_to_absolute_location
                    location = _known(arguments["location"], LOCATIONS)
                    point = _pair(location_point(location, parameters.board, rule.x_offset))
                    radius = rule.within_centre if location == "center" else rule.within
                    return BlockGoal(source, fixed=Capsule(point, point, radius))
                case "block_to_relative_location":
                    point = _pair(goal_point(instruction, start, parameters))
                    return BlockGoal(source, fixed=Capsule(point, point, parameters.block_to_relative_location.within))
                case "block_to_block_relative_location":
                    side = parameters.block_to_block_relative_location
                    offset = side_offset(_known(arguments["direction"], DIRECTIONS), parameters)
                    line = Capsule(_pair(offset * side.line_from), _pair(offset * side.line_to), side.within)
                    target = arguments["target"]
                    return BlockGoal(
                        source,
                        target=target,
                        attached=line,
                        target_start=start[target].pose.xy,
                        drag_limit=side.drag_limit,
                    )
                case "separate_blocks":
                    apart = Outside((0.0, 0.0), parameters.separate_blocks.apart)
                    return BlockGoal(source, target=arguments["target"], attached=apart)
        except KeyError as error:
            if error.args[0] not in ("source", "target", "location", "direction", "distance"):
                raise
            raise ValueError(f"{instruction.family}: no argument {error.args[0]} in {arguments}") from None
        raise ValueError(f"family: got '{instruction.family}', expected one of {', '.join(FAMILIES)}")


def goal_point(
    instruction: Instruction, start: Scene, parameters: LanguageTableParameters
) -> NDArray[np.float64] | None:
    """Return the point that a relative instruction names, shape (2,) [m]; None for the other families.

    The public environment draws an instance again when this point is within the margin of the edges.
    """
    arguments = dict(instruction.arguments)
    if instruction.family == "block_to_relative_location":
        rule = parameters.block_to_relative_location
        sign = direction_sign(_known(arguments["direction"], DIRECTIONS))
        length = {"near": rule.near, "far": rule.far}[_known(arguments["distance"], DISTANCES)]
        return np.asarray(start[arguments["source"]].pose.xy) + sign / norm(sign) * length
    if instruction.family == "block_to_block_relative_location":
        direction = _known(arguments["direction"], DIRECTIONS)
        return np.asarray(start[arguments["target"]].pose.xy) + side_offset(direction, parameters)
    return None


def side_offset(direction: str, parameters: LanguageTableParameters) -> NDArray[np.float64]:
    """Return the offset from a target block to its side, shape (2,) [m]."""
    rule = parameters.block_to_block_relative_location
    diagonal = all(split_direction(direction))
    return direction_sign(direction) * (rule.offset_diagonal if diagonal else rule.offset)


def _known(value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise ValueError(f"got '{value}', expected one of {', '.join(known)}")
    return value


def _pair(point: NDArray[np.float64] | None) -> tuple[float, float]:
    assert point is not None
    return float(point[0]), float(point[1])
