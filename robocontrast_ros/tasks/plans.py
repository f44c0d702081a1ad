"""The answers of a planner."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from robocontrast_ros.domain import Instruction, Scene
from robocontrast_ros.domain.products import norm


@dataclass(frozen=True)
class Plan:
    """The planner's answer for one test instance.

    Attributes:
        path: robot path in the scene's frame, shape (n, 2), or (n, 3) if the task's paths count in space, from the
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
    """The answer if there is no plan, or no test instance.

    Attributes:
        reason: why, in words.
    """

    reason: str


class NoPlan(ValueError):
    """An instruction cannot be fulfilled in a scene; the text has the reason."""


KEPT = 2048
"""Number of plans that are kept; a session's instances are all planned before the first is run."""


class KeptPlans:
    """The last answers of a planner.

    A test instance is planned when it is made, and again when its trial is predicted. An instruction counts as the same
    if its structure is; a scene if it is the same object, because equal ones may differ in the sign of a zero, and so
    in a plan's last bit.
    """

    def __init__(self, plan: Callable[[Instruction, Scene], Plan | Infeasible]) -> None:
        """Take the planner."""
        self._planned = plan
        self._kept: OrderedDict[tuple[Any, ...], tuple[Scene, Plan | Infeasible]] = OrderedDict()

    def plan(self, instruction: Instruction, scene: Scene) -> Plan | Infeasible:
        """Return the kept answer for this instruction and scene, or plan."""
        # The scene is kept with the answer, so that no other object has its id.
        key = instruction.family, instruction.arguments, id(scene)
        kept = self._kept.get(key)
        if kept is None:
            kept = self._kept[key] = scene, self._planned(instruction, scene)
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return kept[1]
