"""How far a person may leave each object from where it should be."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from robocontrast_ros.strategies.effort import Tolerance
from robocontrast_ros.tasks.protocol import Task

ROUND = 10
"""Corners from which on an outline may be a circle's."""

EVEN = 0.98
"""Least radius of a circle's outline, as a share of its greatest."""

ANY_ANGLE = math.pi


@dataclass(frozen=True)
class Tolerances:
    """How far objects may be from where they should be.

    Attributes:
        usual: of what is not named, and of the robot's base.
        own: model -> that of its objects.
    """

    usual: Tolerance = field(default_factory=Tolerance)
    own: Mapping[str, Tolerance] = field(default_factory=dict)

    def of(self, model: str) -> Tolerance:
        """Return that of the objects of a model."""
        return self.own.get(model, self.usual)


def tolerances_of(task: Task, usual: Tolerance, own: Mapping[str, Tolerance]) -> Tolerances:
    """Return the tolerances of a task's objects: what is round may be turned by any angle, unless it is named.

    Args:
        task: whose objects they are.
        usual: of all that are not named.
        own: model -> that of its objects.
    """
    turned = replace(usual, orientation=ANY_ANGLE)
    return Tolerances(usual, {**dict.fromkeys(_round(task), turned), **own})


def is_round(outline: ArrayLike) -> bool:
    """Tell whether an outline around its origin is that of something round, shape (n, 2)."""
    radii = np.hypot(*np.asarray(outline, dtype=float).reshape(-1, 2).T)
    return len(radii) >= ROUND and bool(radii.min() > EVEN * radii.max())


def _round(task: Task) -> Iterable[str]:
    return (model for model in task.scenes.models if is_round(task.scenes.outline(model)))
