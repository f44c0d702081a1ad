"""The task file as one record: room, robot, furniture, arrangements and the generator's bounds, with units."""

from __future__ import annotations

import math
from typing import Literal

from pydantic import Field

from robocontrast_ros.configuration import record
from robocontrast_ros.tasks.base import TaskParameters
from robocontrast_ros.tasks.navigation.routes import Perturbing, Point

GENERATED = "generated"
"""The family of drawn instances; every other family is an arrangement of the file."""


@record
class Room:
    """The floor: a rectangle from (0, 0) in the world frame, with walls around it."""

    length: float = Field(gt=0, description="along x [m]")
    width: float = Field(gt=0, description="along y [m]")


@record
class Base:
    """The robot as the planner sees it: a disc."""

    radius: float = Field(gt=0, description="radius of the base, within which it collides [m]")
    margin: float = Field(ge=0, description="added to the radius when paths are planned [m]")

    @property
    def clearance(self) -> float:
        """Distance that the base's centre keeps from furniture and walls [m]; a passage is twice as wide."""
        return self.radius + self.margin


@record
class Furniture:
    """One model of furniture. Its frame: origin on the floor, +x to its front, its back towards -x."""

    nouns: tuple[str, ...] = Field(min_length=2, description="its names; the first is the plain one")
    colour: str = Field(min_length=1, description="main hue of the model, distinct from every other's")
    mass: float = Field(gt=0, description="of the real thing, which a person would carry [kg]")
    stands: Literal["at_wall", "near_wall", "free", "at_table"] = Field(
        description="where the generator puts it: with its back to a wall, not far from one, anywhere, or "
        "facing what one can sit at"
    )
    place: bool = Field(default=True, description="whether an instruction can send the robot there")
    seats: bool = Field(default=False, description="whether one sits at it, so that chairs belong there")
    polygons: tuple[tuple[Point, ...], ...] = Field(
        default=(), description="convex parts of the footprint, counter-clockwise, in the object's frame [m]"
    )
    radius: float | None = Field(default=None, gt=0, description="radius of a round footprint instead [m]")

    def __post_init__(self) -> None:
        if bool(self.polygons) == (self.radius is not None):
            raise ValueError("either `polygons` or `radius`")
        for polygon in self.polygons:
            if len(polygon) < 3 or not _convex(polygon):
                raise ValueError(f"convex polygons of at least 3 corners, counter-clockwise; not {polygon}")
        if not all(noun == noun.lower().strip() and noun for noun in self.nouns):
            raise ValueError("nouns in lower case")


@record
class Arrangement:
    """One way to furnish the room, with an instruction, as each participant of seed 000, C.2, made one."""

    instruction: str = Field(min_length=1, description="free text with two places")
    robot: tuple[float, float, float] = Field(description="where the robot starts: x, y [m], yaw [rad]")
    furniture: dict[str, tuple[float, float, float]] = Field(
        min_length=2, description="object -> x, y [m], yaw [rad] of its origin"
    )


@record
class Generator:
    """Bounds within which instances are drawn; reaching the number of draws is an error."""

    draws: int = Field(gt=0, description="scenes drawn for one instance, at most")
    places_per_object: int = Field(gt=0, description="places tried for one object, at most")
    gap: float = Field(ge=0, description="between two pieces of furniture, at least [m]")
    wall_gap: float = Field(ge=0, description="between a piece of furniture and a wall, at least [m]")
    leg: float = Field(gt=0, description="length of each half of the path, at least [m]")
    path: tuple[float, float] = Field(description="length of the whole path, at least and at most [m]")
    open_share: float = Field(
        gt=0, le=1, description="share of the free floor that the robot can reach from its start, at least"
    )

    def __post_init__(self) -> None:
        """Refuse bounds that no path can meet."""
        if not 2 * self.leg <= self.path[1] or self.path[0] > self.path[1]:
            raise ValueError("`path` as [least, greatest], the greatest at least twice `leg`")


@record
class NavigationParameters(TaskParameters):
    """The file config/tasks/studio_apartment.yaml."""

    furniture_model: str = Field(description="URI of a piece of furniture; {model} stands for its name, e.g. couch")
    reach: float = Field(
        gt=0, description="a place is reached when the base's centre is within this of its footprint [m]"
    )
    room: Room
    base: Base
    furniture: dict[str, Furniture] = Field(min_length=3, description="model -> what it is")
    objects: dict[str, str] = Field(min_length=3, description="object -> model; all that is arranged")
    generator: Generator
    perturbing: Perturbing
    arrangements: dict[str, Arrangement] = Field(default_factory=dict, description="name -> arrangement")


def _convex(polygon: tuple[Point, ...]) -> bool:
    """Return whether each corner turns left and the corners go round once."""
    turned = 0.0
    count = len(polygon)
    for i, (x, y) in enumerate(polygon):
        (ax, ay), (bx, by) = polygon[i - 1], polygon[(i + 1) % count]
        cross = (x - ax) * (by - y) - (y - ay) * (bx - x)
        if cross <= 0.0:
            return False
        turned += math.atan2(cross, (x - ax) * (bx - x) + (y - ay) * (by - y))
    return abs(turned - math.tau) < 1e-6
