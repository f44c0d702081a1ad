"""A path past a first place to a last one, the distance of two paths, and the bounds of their perturbations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import shapely
from pydantic import Field
from shapely import LineString

from robocontrast_ros.configuration import record
from robocontrast_ros.domain.products import norm

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
        """Length of the whole path [m]."""
        return path_length(self.path)


@record
class Perturbing:
    """Bounds of the perturbations L, LB, S and SB, and of the difference beyond which a path is another one."""

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


def path_length(path: Sequence[Point]) -> float:
    """Return the length of a path [m], bit for bit that of ``Plan.length``."""
    return float(norm(np.diff(np.asarray(path, dtype=float), axis=0)).sum())


def frechet_distance(a: Sequence[Point], b: Sequence[Point], spacing: float = 0.02) -> float:
    """Return the discrete Fréchet distance of two paths [m], with points at most ``spacing`` [m] apart.

    It exceeds the Fréchet distance by at most the spacing.
    """
    lines = [shapely.segmentize(LineString(p if len(p) > 1 else (p[0], p[0])), spacing) for p in (a, b)]
    return float(shapely.frechet_distance(*lines))
