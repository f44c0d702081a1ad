"""Whether an estimated scene fulfils a goal, and whether that is certain."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from robocontrast_ros.domain import Pose, Scene
from robocontrast_ros.perception.estimate import ObjectEstimate, SceneEstimate

SIGMAS = 3.0
"""Standard deviations by which objects are moved to see whether the answer stays."""
DIRECTIONS = 12
"""In which each object is moved."""
LEAST = 0.001
"""Least distance by which objects are moved [m]: what camera and goal are never better than."""


class Goal(Protocol):
    """What can be asked of a scene, such as a goal of a task."""

    def satisfied(self, scene: Scene) -> bool:
        """Tell whether the scene fulfils it."""


@dataclass(frozen=True)
class Verdict:
    """What a camera says of a goal.

    Attributes:
        success: whether the estimated scene fulfils it; None where an object of it is not seen.
        doubts: why a person should decide, as lines for people; empty where it is certain.
    """

    success: bool | None
    doubts: tuple[str, ...] = ()

    @property
    def certain(self) -> bool:
        """Whether nothing is in doubt."""
        return self.success is not None and not self.doubts


def verdict(goal: Goal, estimate: SceneEstimate, names: Iterable[str]) -> Verdict:
    """Return whether an estimated scene fulfils a goal.

    It is certain where no object of the goal is in doubt, and the answer stays the same when each of them is moved and
    turned by three standard deviations of all.

    Args:
        goal: of the task.
        estimate: of the scene.
        names: objects that the goal is about.

    Raises:
        KeyError: an object was not looked for.
    """
    concerned = [estimate[name] for name in dict.fromkeys(names)]
    doubts = estimate.doubts([o.name for o in concerned])
    if any(o.pose is None for o in concerned):
        return Verdict(None, doubts)
    scene = estimate.scene
    success = goal.satisfied(scene)
    if any(goal.satisfied(other) != success for other in _moved(scene, concerned)):
        doubts = (*doubts, "The result is near the limit between success and failure.")
    return Verdict(success, doubts)


def _moved(scene: Scene, concerned: Iterable[ObjectEstimate]) -> Iterator[Scene]:
    concerned = list(concerned)
    far = max(SIGMAS * math.sqrt(sum(o.position_std**2 for o in concerned)), LEAST)
    for item in concerned:
        (x, y, z), yaw = item.pose.position, item.pose.yaw
        for k in range(DIRECTIONS):
            angle = math.tau * k / DIRECTIONS
            place = (x + far * math.cos(angle), y + far * math.sin(angle), z)
            yield scene.moved(item.name, Pose(place, item.pose.orientation))
        for sign in (-1.0, 1.0):
            turned = Pose.planar(x, y, yaw + sign * SIGMAS * item.yaw_std, z)
            if item.pose.orientation[0] == item.pose.orientation[1] == 0.0:
                yield scene.moved(item.name, turned)
