"""Tolerances of the poses in which a person leaves the objects."""

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
"""Least number of corners of a circle's outline."""

EVEN = 0.98
"""Least radius of a circle's outline, as a share of its greatest."""

ANY_ANGLE = math.pi

PERSON = Tolerance(0.01, 0.15)
"""Tolerance of a set-up by a person if the session has none."""


def tolerances_of(task: Task, usual: Tolerance, own: Mapping[str, Tolerance]) -> Tolerances:
    """Return the tolerances of a task's objects.

    Round objects may have any angle, unless their model is in ``own``. Objects that their files call fixed are
    not placed.

    Args:
        task: the task of the objects.
        usual: tolerance of all models that are not in ``own``.
        own: model -> tolerance of its objects.
    """
    turned = replace(usual, orientation=ANY_ANGLE)
    return Tolerances(usual, {**dict.fromkeys(_round(task), turned), **own}, fixed_models(task.scenes.models.values()))


def is_round(outline: ArrayLike) -> bool:
    """Return whether an outline around its origin, shape (n, 2), is that of a round object."""
    radii = np.hypot(*np.asarray(outline, dtype=float).reshape(-1, 2).T)
    return len(radii) >= ROUND and bool(radii.min() > EVEN * radii.max())


def _round(task: Task) -> Iterable[str]:
    return (model for model in task.scenes.models if is_round(task.scenes.outline(model)))
