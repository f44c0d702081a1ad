"""What a planner answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robocontrast_ros.domain import Scene
from robocontrast_ros.domain.products import norm


@dataclass(frozen=True)
class Plan:
    """The planner's answer for one test instance.

    Attributes:
        path: robot path in the scene's frame, shape (n, 2), or (n, 3) where the task's paths count in space, from the
            start position [m].
        final_scene: the scene when the plan succeeds.
    """

    path: tuple[tuple[float, ...], ...]
    final_scene: Scene

    @property
    def length(self) -> float:
        """Length of the path [m]: the optimal path length l_i of SPL."""
        points = np.asarray(self.path, dtype=float)
        return float(norm(np.diff(points, axis=0)).sum())


@dataclass(frozen=True)
class Infeasible:
    """The answer in place of a plan, or of a test instance, where there is none.

    Attributes:
        reason: why, in words.
    """

    reason: str
