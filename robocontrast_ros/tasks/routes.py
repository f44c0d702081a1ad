"""The capability of a navigation task for perturbations that prove their effect on the expected path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import shapely
from pydantic import Field
from shapely import LineString

from robocontrast_ros.configuration import record
from robocontrast_ros.domain import Instruction, Scene
from robocontrast_ros.domain.products import norm
from robocontrast_ros.tasks.plans import Infeasible

Point = tuple[float, float]


@dataclass(frozen=True)
class Route:
    """The shortest path of the base through the region of a first place to that of a last one.

    Attributes:
        path: from the start, shape (n, 2), scene's frame [m].
        via: index in the path of the point in which it enters the first region.
    """

    path: tuple[Point, ...]
    via: int

    @property
    def first_half(self) -> tuple[Point, ...]:
        """The path to the first region."""
        return self.path[: self.via + 1]

    @property
    def second_half(self) -> tuple[Point, ...]:
        """The path from there to the end."""
        return self.path[self.via :]

    @property
    def length(self) -> float:
        """Of the whole path [m]."""
        return path_length(self.path)


@record
class Perturbing:
    """Bounds of the perturbations L, LB, S and SB, and of the difference that makes a path another one."""

    draws: int = Field(gt=0, description="new places tried for one perturbation, at most")
    gap: float = Field(ge=0, description="from a moved object to furniture and walls, at least [m]")
    carried: float = Field(gt=0, description="heavier objects are moved only when they are the goal itself [kg]")
    scene_move: tuple[float, float] = Field(description="ΔS moves an object by at least and at most [m]")
    same_path: float = Field(
        gt=0, description="ΔS: the path's length and its Fréchet distance may change by this, at most [m]"
    )
    goal_move: tuple[float, float] = Field(description="ΔSB moves an object by at least and at most [m]")
    other_path: float = Field(
        gt=0, description="ΔSB: Fréchet distance from the path before to the one after, at least [m]"
    )
    detour: float = Field(
        gt=0,
        description="ΔLB: the path that keeps its first half is longer than the shortest by this, at most [m]",
    )
    other_end: float = Field(gt=0, description="ΔLB: Fréchet distance of the paths' second halves, at least [m]")
    missed_by: float = Field(
        gt=0, description="ΔLB, ΔSB by moving the goal: the path before ends this far from it, at least [m]"
    )
    half: float = Field(ge=0, description="ΔLB, ΔSB: length of each half of the new path, at least [m]")

    def __post_init__(self) -> None:
        """Refuse empty ranges, and bounds by which a path could be both the same and another one."""
        for key, (least, greatest) in (("scene_move", self.scene_move), ("goal_move", self.goal_move)):
            if not 0 < least <= greatest:
                raise ValueError(f"{key} as [least, greatest], greater than 0")
        if self.same_path >= min(self.other_path, self.other_end):
            raise ValueError("same_path smaller than other_path and other_end")


class Routes(Protocol):
    """The capability of sending a robot past a first place to a last one, among things that can be moved.

    Instructions have the arguments ``first`` and ``last``, which the task's ``rewording`` can change.

    Attributes:
        perturbing: how far its perturbations go.
    """

    perturbing: Perturbing

    def route(self, instruction: Instruction, scene: Scene) -> Route | Infeasible:
        """Return the shortest path of the scene's robot that fulfils the instruction, or why there is none."""

    def destinations(self, instruction: Instruction, scene: Scene) -> tuple[str, ...]:
        """Return the places that the instruction does not name and could end at."""

    def goal_objects(self, instruction: Instruction, scene: Scene) -> tuple[str, ...]:
        """Return the names of the objects that are the last place."""

    def passive_objects(self, instruction: Instruction, scene: Scene) -> tuple[str, ...]:
        """Return the names of the objects that a person can carry and that the instruction does not name."""

    def has_room(self, name: str, scene: Scene) -> bool:
        """Tell whether an object stands free of the others, the walls and the robot."""

    def collides(self, path: Sequence[Point], scene: Scene) -> bool:
        """Tell whether the robot would touch something on a path."""

    def keeps_clear(self, path: Sequence[Point], scene: Scene) -> bool:
        """Tell whether the robot keeps the planner's distance from everything on a path."""

    def misses(self, point: Point, instruction: Instruction, scene: Scene) -> float:
        """Return how far a point is outside the region of the last place, as the crow flies [m]."""


def path_length(path: Sequence[Point]) -> float:
    """Return the length of a path [m], bit for bit that of ``Plan.length``."""
    return float(norm(np.diff(np.asarray(path, dtype=float), axis=0)).sum())


def frechet_distance(a: Sequence[Point], b: Sequence[Point], spacing: float = 0.02) -> float:
    """Return the discrete Fréchet distance of two paths [m], with points at most ``spacing`` [m] apart.

    It exceeds the Fréchet distance by at most the spacing.
    """
    lines = [shapely.segmentize(LineString(p if len(p) > 1 else (p[0], p[0])), spacing) for p in (a, b)]
    return float(shapely.frechet_distance(*lines))
