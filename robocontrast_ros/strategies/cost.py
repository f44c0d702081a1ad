"""What a set-up takes: the moves between the scene that is and the scene wanted, and what they cost.

Cost counts what a person does to the objects of the scene (seed 000, sections 4 and 5.1). Resetting the
robot is free, and so is a new instruction. Other cost models (time, for one) fit the same protocol.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from robocontrast_ros.domain import ObjectState, Pose, Scene, SetupMove


@dataclass(frozen=True)
class Tolerance:
    """How far an object may be from where it is wanted and still be left alone.

    Attributes:
        position: distance [m].
        orientation: angle [rad].
    """

    position: float = 0.0
    orientation: float = 0.0

    def accepts(self, actual: Pose, wanted: Pose) -> bool:
        """Tell whether an object at ``actual`` may stay when it is wanted at ``wanted``."""
        return (
            actual.distance_to(wanted) <= self.position and angle_between(actual, wanted) <= self.orientation
        )


def angle_between(a: Pose, b: Pose) -> float:
    """Return the angle of the rotation from one orientation to the other [rad], in [0, pi]."""
    (ax, ay, az, aw), (bx, by, bz, bw) = a.orientation, b.orientation
    # conjugate(a) * b; atan2 keeps small angles exact where acos of the dot product does not.
    vector = (
        aw * bx - ax * bw - ay * bz + az * by,
        aw * by + ax * bz - ay * bw - az * bx,
        aw * bz - ax * by + ay * bx - az * bw,
    )
    return 2.0 * math.atan2(math.hypot(*vector), abs(ax * bx + ay * by + az * bz + aw * bw))


def setup_moves(actual: Scene, wanted: Scene, tolerance: Tolerance) -> tuple[SetupMove, ...]:
    """Return what brings a scene to another: first what is taken out, then what is moved or brought in.

    An object whose model changed under the same name is taken out and brought in.

    Raises:
        ValueError: the scenes have different frames.
    """
    if actual.frame_id != wanted.frame_id:
        raise ValueError(f"scenes in one frame: got '{actual.frame_id}' and '{wanted.frame_id}'")

    def stays(a: ObjectState) -> bool:
        return a.name in wanted and wanted[a.name].model == a.model

    out = [SetupMove(a.name, a.model, a.pose, None) for a in actual if not stays(a)]
    moved = []
    for w in wanted:
        here = actual[w.name] if w.name in actual and stays(actual[w.name]) else None
        if here is None or not tolerance.accepts(here.pose, w.pose):
            moved.append(SetupMove(w.name, w.model, here.pose if here else None, w.pose))
    return (*out, *moved)


def agree(actual: Scene, known: Scene, tolerance: Tolerance) -> bool:
    """Tell whether two scenes hold the same objects at the same places within the tolerance."""
    return actual.frame_id == known.frame_id and not setup_moves(actual, known, tolerance)


class CostModel(Protocol):
    """What a set-up costs the experimenter.

    Attributes:
        name: the name in parameter files.
        unit: what it counts in, ``m`` or ``s``.
    """

    name: str
    unit: str

    def cost(self, moves: Sequence[SetupMove]) -> float:
        """Return the cost of a set-up, at least 0, before anything is moved."""


class MetresMoved:
    """Sum of the straight distances that objects are carried [m] (seed 000, section 5.1).

    An object brought in from outside the scene, or taken out, costs nothing: where it stood outside is
    not known.
    """

    name = "metres_moved"
    unit = "m"

    def cost(self, moves: Sequence[SetupMove]) -> float:
        """Return the metres."""
        return math.fsum(move.distance for move in moves)


COST_MODELS: dict[str, type[CostModel]] = {MetresMoved.name: MetresMoved}
