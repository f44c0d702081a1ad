"""Whether an estimated scene fulfils a goal, and whether that is certain."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from robocontrast_ros.domain import Pose, Scene
from robocontrast_ros.domain.words import name_in_words
from robocontrast_ros.perception.camera import Floats
from robocontrast_ros.perception.estimate import ObjectEstimate, SceneEstimate

SIGMAS = 3.0
"""Standard deviations by which objects are moved to check that the answer is stable."""
DIRECTIONS = 12
"""Directions in which each object is moved."""
LEAST = 0.001
"""Least distance by which objects are moved [m], because camera and goal are never more exact."""
NEAR_THE_LIMIT = "The result is near the limit between success and failure."


class Goal(Protocol):
    """A question about a scene, such as a goal of a task."""

    def satisfied(self, scene: Scene) -> bool:
        """Return whether the scene fulfils it."""


@dataclass(frozen=True)
class Verdict:
    """The answer of a camera about a goal.

    Attributes:
        success: whether the estimated scene fulfils it; None if an object of the goal is not seen.
        doubts: reasons for a person to decide, as lines for people; empty if it is certain.
    """

    success: bool | None
    doubts: tuple[str, ...] = ()

    @property
    def certain(self) -> bool:
        """Whether nothing is in doubt."""
        return self.success is not None and not self.doubts


def verdict(goal: Goal, estimate: SceneEstimate, names: Iterable[str]) -> Verdict:
    """Return whether an estimated scene fulfils a goal.

    It is certain if no object of the goal is in doubt, and the answer stays the same when each of them is moved and
    turned by three standard deviations: alone, by its uncertainty relative to the others; with the others, by the shift
    of all by the calibration's error. If an object may be at different heights, the answer has to be the same at each.
    A part on a joint is moved along that alone, to both ends of what the picture allows.

    Args:
        goal: goal of the task.
        estimate: estimate of the scene.
        names: objects that the goal is about.

    Raises:
        KeyError: an object was not looked for.
    """
    concerned = [estimate[name] for name in dict.fromkeys(names)]
    doubts = (*estimate.problems, *(f"{name_in_words(o.name)}: {reason}" for o in concerned for reason in o.unsure))
    if any(o.pose is None for o in concerned):
        return Verdict(None, doubts)
    scene = estimate.scene
    success = goal.satisfied(scene)
    found = [scene]
    for item in concerned:
        elsewhere = [scene.moved(item.name, other) for other in item.others]
        found += elsewhere
        if any(goal.satisfied(some) != success for some in elsewhere):
            doubts = (*doubts, *(words for words in item.words if words not in doubts))
    moved = itertools.chain.from_iterable(_moved(some, concerned) for some in found)
    if any(goal.satisfied(some) != success for some in moved):
        doubts = (*doubts, NEAR_THE_LIMIT)
    return Verdict(success, doubts)


def _moved(scene: Scene, concerned: Sequence[ObjectEstimate]) -> Iterator[Scene]:
    own = [max(o.position_std**2 - _spread(o.shifts).trace() / 2.0, 0.0) for o in concerned]
    for item in concerned:
        yield from (scene.moved(item.name, end) for end in item.ends)
        if item.ends:
            continue
        apart = max((_spread(_apart(item, other)) for other in concerned), key=np.trace)
        for x, y in _around(sum(own), apart):
            yield _shifted(scene, [item], x, y)
        turned, yaw = scene[item.name].pose, SIGMAS * item.yaw_std
        if turned.orientation[0] == turned.orientation[1] == 0.0:
            for sign in (-1.0, 1.0):
                yield scene.moved(item.name, Pose.planar(*turned.xy, turned.yaw + sign * yaw, turned.position[2]))
    together = [o for o in concerned if o.shifts]
    if together:
        for x, y in _around(max(own), max((_spread(o.shifts) for o in together), key=np.trace)):
            yield _shifted(scene, together, x, y)


def _around(own: float, shared: Floats) -> Iterator[tuple[float, float]]:
    """Yield a displacement in each direction for a variance along each axis and a covariance, shape (2, 2) [m2]."""
    for k in range(DIRECTIONS):
        x, y = math.cos(math.tau * k / DIRECTIONS), math.sin(math.tau * k / DIRECTIONS)
        variance = own + x * x * shared[0, 0] + 2.0 * x * y * shared[0, 1] + y * y * shared[1, 1]
        far = max(SIGMAS * math.sqrt(max(float(variance), 0.0)), LEAST)
        yield far * x, far * y


def _shifted(scene: Scene, items: Iterable[ObjectEstimate], x: float, y: float) -> Scene:
    for item in items:
        pose = scene[item.name].pose
        place = (pose.position[0] + x, pose.position[1] + y, pose.position[2])
        scene = scene.moved(item.name, Pose(place, pose.orientation))
    return scene


def _spread(shifts: Sequence[tuple[float, float]]) -> Floats:
    """Return the covariance of shifts that are independent of each other, shape (2, 2) [m2]."""
    columns = np.array(shifts, dtype=float).reshape(-1, 2)
    return np.einsum("ki,kj->ij", columns, columns)


def _apart(item: ObjectEstimate, other: ObjectEstimate) -> Sequence[tuple[float, float]]:
    """Return the shift of one object relative to another by each of the calibration's errors [m]."""
    if not (item.shifts and other.shifts):
        return ()
    return [(a - c, b - d) for (a, b), (c, d) in zip(item.shifts, other.shifts, strict=True)]
