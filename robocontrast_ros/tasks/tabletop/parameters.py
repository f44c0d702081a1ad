"""The task file: every number of the task, with its unit, as one record."""

from __future__ import annotations

import math
from typing import Literal

import shapely
from pydantic import Field
from shapely import Polygon

from robocontrast_ros.configuration import ConfigurationError, record
from robocontrast_ros.tasks.base import TaskParameters

FAMILIES = ("pick", "move_near", "stack", "put_on", "put_in")
"""Families of instructions, which are the skills."""

NAMED = 2
"""Greatest number of things that an instruction names: target and reference."""

Triple = tuple[float, float, float]


def check_objects(objects: tuple[int, int]) -> None:
    """Refuse a least and a greatest number of objects if one is below 1, or if they are in the wrong order.

    Raises:
        ConfigurationError: they are refused; it names the key ``objects``.
    """
    fewest, most = objects
    if not 1 <= fewest <= most:
        raise ConfigurationError("", "objects", list(objects), "two numbers of 1 or more, the smaller one first")


@record
class TabletopRegion:
    """Region of the things: their footprints lie inside it. World frame; z = 0 is the table's top."""

    x_min: float = Field(description="edge on the robot's side [m]")
    x_max: float = Field(description="far edge [m]")
    y_min: float = Field(description="right edge [m]")
    y_max: float = Field(description="left edge [m]")

    def __post_init__(self) -> None:
        if self.x_max <= self.x_min or self.y_max <= self.y_min:
            raise ValueError("x_min < x_max and y_min < y_max")

    @property
    def box(self) -> Polygon:
        """The region as a polygon [m]."""
        return shapely.box(self.x_min, self.y_min, self.x_max, self.y_max)


@record
class Fixtures:
    """Objects of every scene that are never moved: one of each category, drawn uniformly."""

    tables: tuple[str, ...] = Field(min_length=1, description="tables")
    backgrounds: tuple[str, ...] = Field(min_length=1, description="backgrounds")
    lights: tuple[str, ...] = Field(min_length=1, description="lights")

    @property
    def kinds(self) -> dict[str, tuple[str, ...]]:
        """Category -> its models, in the order in which they are drawn."""
        return {"table": self.tables, "background": self.backgrounds, "light": self.lights}


@record
class HandBox:
    """A box of the open hand in the frame `tool`: z out of the hand, y along which the fingers close."""

    low: Triple = Field(description="corner of least x, y and z [m]")
    high: Triple = Field(description="corner of greatest x, y and z [m]")

    def __post_init__(self) -> None:
        if any(high <= low for low, high in zip(self.low, self.high, strict=True)):
            raise ValueError("low < high in x, y and z")


@record
class Hand:
    """The open hand as the planner sees it, and the wrist above: boxes that those in use fit in, tool down."""

    boxes: tuple[HandBox, ...] = Field(min_length=1, description="together around the open hand")
    opening: float = Field(gt=0, description="greatest width between the fingers that the planner uses [m]")
    slack: float = Field(ge=0, description="the open hand is at least this much wider than what it grasps [m]")
    margin: float = Field(ge=0, description="kept between the open hand and things beside it [m]")
    above: float = Field(ge=0, description="kept between the hand and what is below it [m]")
    retreat: float = Field(gt=0, description="the open hand ends this far above where it let go [m]")

    @property
    def tip(self) -> float:
        """Length of the hand below the origin of the frame `tool` [m]."""
        return max(box.high[2] for box in self.boxes)

    @property
    def radius(self) -> float:
        """Greatest horizontal distance of a point of the hand from the origin of the frame `tool` [m]."""
        return max(
            math.hypot(max(abs(box.low[0]), abs(box.high[0])), max(abs(box.low[1]), abs(box.high[1])))
            for box in self.boxes
        )


@record
class Success:
    """Thresholds of success."""

    lifted: float = Field(gt=0, description="the robot has lifted what it holds at least this far [m]")
    held: float = Field(gt=0, description="height above where it stood at which a picked object is held [m]")
    hold_time: float = Field(ge=0, description="a picked object is held for so long [s]")
    near: float = Field(gt=0, description="greatest gap between what is moved and what it is moved near [m]")
    height: float = Field(gt=0, description="greatest deviation from the height of what it stands on [m]")
    rest_speed: float = Field(gt=0, description="slower than this is at rest [m/s]")
    rest_time: float = Field(ge=0, description="what is placed is released and at rest for so long [s]")
    contact: float = Field(gt=0, description="distance that a missing grasp or a missing release counts as [m]")

    def __post_init__(self) -> None:
        if self.lifted >= self.held:
            raise ValueError(f"lifted below held ({self.held}), got {self.lifted}")


@record
class Placing:
    """Parameters of the planner's places to put things down."""

    gap: float = Field(ge=0, description="kept between what is put down and other things [m]")
    near: float = Field(gt=0, description="gap aimed at when something is put near another [m]")
    directions: int = Field(gt=0, description="directions, equally spaced, in which it is put near another")
    turns: int = Field(gt=0, description="turns, equally spaced, by which it is turned while it is carried")
    inset: float = Field(ge=0, description="what is put on or in something is this far inside the edge [m]")
    support: float = Field(gt=0, le=1, description="least share of what is put on something that is over its top")
    drop: float = Field(ge=0, description="height above the ground at which the hand opens [m]")
    highest_drop: float = Field(ge=0, description="the same above the ground of something hollow, at most [m]")
    drop_step: float = Field(gt=0, description="step between heights that are tried there [m]")
    carry: float = Field(ge=0, description="kept between what is carried and what it is carried over [m]")
    ceiling: float = Field(gt=0, description="the tool never goes higher [m]")
    rotation_cost: float = Field(ge=0, description="path that a turn of the hand counts as among equal ways [m/rad]")


@record
class Sampling:
    """Parameters of drawing scenes; reaching a bound is an error, never a wrong instance."""

    objects: tuple[int, int] = Field(
        description="fewest and most objects of a scene; those that the instruction names stand there in any case"
    )
    gap: float = Field(ge=0, description="least gap between the footprints of two objects [m]")
    named_gap: float = Field(ge=0, description="the same to an object that the instruction names [m]")
    near_beyond: float = Field(gt=0, description="gap at the start between what is to be put near each other [m]")
    condition_draws: int = Field(gt=0, description="pairs of objects drawn for one instance, at most")
    scene_draws: int = Field(gt=0, description="scenes drawn for one pair of objects, at most")
    place_draws: int = Field(gt=0, description="places tried for one object, at most")
    settled: float = Field(gt=0, description="farthest that an object may move while a drawn scene settles [m]")
    clear: bool = Field(
        default=False, description="whether words name things such that they stay clear whatever else is added"
    )

    def __post_init__(self) -> None:
        check_objects(self.objects)

    @property
    def most(self) -> int:
        """Greatest number of objects in a scene."""
        return max(self.objects[1], NAMED)


@record
class Perturbing:
    """Bounds of the perturbations, and thresholds of a wrong way."""

    draws: int = Field(gt=0, description="new places tried for one thing, at most")
    bystander_move: tuple[float, float] = Field(description="ΔS moves a thing by at least and at most [m]")
    named_move: tuple[float, float] = Field(description="ΔSB moves a thing by at least and at most [m]")
    beside: float = Field(
        gt=0, description="ΔSB: a thing is put at most this far from where the hand closes or opens, along x and y [m]"
    )
    off_grasp: float = Field(
        gt=0, description="ΔSB: a target is missed where it is this far from where the hand closes, at least [m]"
    )
    off_place: float = Field(
        gt=0, description="ΔLB, ΔSB: a place is missed where the target is put this far from it, at least [m]"
    )

    def __post_init__(self) -> None:
        for key, (least, greatest) in (("bystander_move", self.bystander_move), ("named_move", self.named_move)):
            if not 0 < least <= greatest:
                raise ValueError(f"{key} as [least, greatest], greater than 0; got {[least, greatest]}")


@record
class TabletopDistractors:
    """Drawing of distractors (seed 001, section III); gaps and thresholds are ours if the paper names none."""

    region: TabletopRegion = Field(description="where they stand; it may be larger than that of what is named")
    gap: float = Field(ge=0, description="least gap between the footprints of two things [m]")
    named_gap: float = Field(ge=0, description="the same to a thing that the instruction names [m]")
    scene_draws: int = Field(gt=0, description="scenes drawn for one instance, at most")
    place_draws: int = Field(gt=0, description="places tried for one thing, at most")
    shifted: float = Field(gt=0, description="farthest that anything may move while a drawn scene settles [m]")
    occluded: float = Field(gt=0, le=1, description="greatest share of the target that may be hidden")
    occlusion_step: float = Field(
        gt=0, le=1, description="an occluder hides the share that is wanted, give or take this"
    )
    occluder_draws: int = Field(gt=0, description="places of an occluder that are looked at, at most")
    robot_view: str = Field(min_length=1, description="camera of the world from which the target is hidden, or not")
    top_view: str = Field(min_length=1, description="camera of the world that looks from above")
    size: tuple[int, int] = Field(default=(320, 240), description="columns and rows of both images [pixel]")
    dvfc: Literal["mean", "max"] = Field(
        default="mean", description="how the feature congestion of both views makes one number; the paper does not say"
    )
    looks: Fixtures = Field(description="tables, backgrounds and lights that are drawn where looks are asked for")


@record
class TabletopParameters(TaskParameters):
    """The file config/tasks/tabletop.yaml."""

    start: Triple = Field(description="the tool when a trial starts, world frame [m]")
    store: Triple | None = Field(
        default=None, description="where a person takes objects from that are in no scene, world frame [m]; not known"
    )
    region: TabletopRegion
    fixtures: Fixtures
    hand: Hand
    success: Success
    placing: Placing
    sampling: Sampling
    perturbing: Perturbing
    distracting: TabletopDistractors | None = Field(
        default=None, description="of distractors; without it none can be added"
    )
    objects: tuple[str, ...] = Field(default=(), description="types or models in use; none named: the whole library")
    folders: tuple[str, ...] = Field(default=(), description="files and folders of objects of your own")

    def __post_init__(self) -> None:
        """Refuse a start that is not finite, and objects that are named twice."""
        if not all(map(math.isfinite, self.start)):
            raise ValueError("start of three finite numbers")
        if len(set(self.objects)) != len(self.objects):
            raise ValueError("each of the objects once")
        if self.perturbing.off_grasp <= self.hand.opening / 2:
            raise ValueError(f"perturbing.off_grasp above half of hand.opening ({self.hand.opening})")
        if self.placing.near >= self.success.near:
            raise ValueError(f"placing.near below success.near ({self.success.near})")

    @property
    def tool_region(self) -> tuple[tuple[float, float], tuple[float, float], tuple[float, float]]:
        """Least and greatest x, y and z of the tool [m]: above the things' region, from the table to the ceiling.

        At the least z the finger tips, which reach beyond the tool, touch the table.
        """
        where = self.region
        return (where.x_min, where.x_max), (where.y_min, where.y_max), (self.hand.tip, self.placing.ceiling)

    def steps(self, seconds: float) -> int:
        """Return the control steps in a time [s], at least 1."""
        return max(round(seconds * self.control_rate), 1)
