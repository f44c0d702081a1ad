"""How far a person may leave each object from where it should be."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from robocontrast_ros.objects import fixed_models
from robocontrast_ros.strategies.effort import Tolerance, Tolerances
from robocontrast_ros.tasks.protocol import Task

ROUND = 10
"""Corners from which on an outline may be a circle's."""

EVEN = 0.98
"""Least radius of a circle's outline, as a share of its greatest."""

ANY_ANGLE = math.pi

PERSON = Tolerance(0.01, 0.15)
"""How exactly a person sets things up where the session does not say it."""


def tolerances_of(task: Task, usual: Tolerance, own: Mapping[str, Tolerance]) -> Tolerances:
    """Return the tolerances of a task's objects.

    What is round may be turned by any angle, unless it is named. What the objects' files call fixed is not placed.

    Args:
        task: whose objects they are.
        usual: of all that are not named.
        own: model -> that of its objects.
    """
    turned = replace(usual, orientation=ANY_ANGLE)
    return Tolerances(usual, {**dict.fromkeys(_round(task), turned), **own}, fixed_models(task.scenes.models.values()))


def is_round(outline: ArrayLike) -> bool:
    """Tell whether an outline around its origin is that of something round, shape (n, 2)."""
    radii = np.hypot(*np.asarray(outline, dtype=float).reshape(-1, 2).T)
    return len(radii) >= ROUND and bool(radii.min() > EVEN * radii.max())


def _round(task: Task) -> Iterable[str]:
    return (model for model in task.scenes.models if is_round(task.scenes.outline(model)))
