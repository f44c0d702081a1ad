"""Effort of a set-up: the moves from the actual scene to the wanted one, and their cost.

Cost counts a person's work on the objects of the scene (seed 000, sections 4 and 5.1). Resetting the robot is free, and
so is a new instruction. An object that comes from outside the scene, or leaves it, is carried from or to the task's
store; if the task has none it costs nothing in either model, because its place is unknown. An object that a simulator
has thrown out of the room counts as lost: another one is brought in.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import pairwise
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from robocontrast_ros.configuration import record
from robocontrast_ros.domain import ObjectState, Pose, Scene, SetupMove, whole_of
from robocontrast_ros.domain.geometry import Vector3
from robocontrast_ros.domain.products import norm
from robocontrast_ros.objects.frames import compose, inverse

OUT_OF_THE_ROOM = 10.0
"""Distance from its wanted place from which an object is not fetched [m]."""

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Tolerance:
    """Distance and angle from its wanted pose at which an object may still stay.

    Attributes:
        position: distance [m].
        orientation: angle [rad].
    """

    position: float = 0.0
    orientation: float = 0.0
    fixed: ClassVar[frozenset[str]] = frozenset()

    def accepts(self, actual: Pose, wanted: Pose) -> bool:
        """Return whether an object at ``actual`` may stay when it is wanted at ``wanted``."""
        return actual.distance_to(wanted) <= self.position and angle_between(actual, wanted) <= self.orientation

    def of(self, model: str) -> Tolerance:
        """Return the tolerance for the objects of a model, which is the same for all."""
        return self


@dataclass(frozen=True)
class Tolerances:
    """Tolerances of objects if they differ from model to model.

    Attributes:
        usual: tolerance of all other objects, and of the robot's base.
        own: model -> tolerance of its objects.
        fixed: models of backgrounds, such as table, lamp and walls, at their places in the task's file: nobody carries
            them.
    """

    usual: Tolerance = field(default_factory=Tolerance)
    own: Mapping[str, Tolerance] = field(default_factory=dict)
    fixed: frozenset[str] = frozenset()

    def of(self, model: str) -> Tolerance:
        """Return the tolerance of the objects of a model."""
        return self.own.get(model, self.usual)


AnyTolerance = Tolerance | Tolerances
"""One tolerance for all objects, or one for each model."""


def angle_between(a: Pose, b: Pose) -> float:
    """Return the angle of the rotation from one orientation to the other [rad], in [0, pi]."""
    (ax, ay, az, aw), (bx, by, bz, bw) = a.orientation, b.orientation
    # conjugate(a) * b; atan2 keeps small angles exact, but acos of the dot product does not.
    vector = (
        aw * bx - ax * bw - ay * bz + az * by,
        aw * by + ax * bz - ay * bw - az * bx,
        aw * bz - ax * by + ay * bx - az * bw,
    )
    return 2.0 * math.atan2(math.hypot(*vector), abs(ax * bx + ay * by + az * bz + aw * bw))


def with_whole_in_place(scene: Scene, wanted: Scene, name: str) -> Pose:
    """Return the pose of an object of a scene; of a moving part, as if its object stood as in the wanted scene."""
    pose, whole = scene[name].pose, whole_of(name)
    if whole not in scene or whole not in wanted or scene[whole].pose == wanted[whole].pose:
        return pose
    return compose(wanted[whole].pose, compose(inverse(scene[whole].pose), pose))


def setup_moves(actual: Scene, wanted: Scene, tolerance: AnyTolerance) -> tuple[SetupMove, ...]:
    """Return the moves from a scene to another: first objects that leave it, then those that are moved or brought in.

    An object whose model changed under the same name is taken out and brought in. Fixed models are left out. A moving
    part, such as a drawer, comes and goes with its object, which takes it along; it is moved by itself from where it
    then is.

    Raises:
        ValueError: the scenes have different frames.
    """
    if actual.frame_id != wanted.frame_id:
        raise ValueError(f"scenes in one frame: got '{actual.frame_id}' and '{wanted.frame_id}'")

    def stays(a: ObjectState) -> bool:
        return a.name in wanted and wanted[a.name].model == a.model

    out = [SetupMove(a.name, a.model, a.pose, None) for a in actual if not stays(a) and not whole_of(a.name)]
    moved = []
    for w in wanted:
        here = actual[w.name] if w.name in actual and stays(actual[w.name]) else None
        if here is None and whole_of(w.name):
            continue
        start = None if here is None else with_whole_in_place(actual, wanted, w.name)
        if start is None or not tolerance.of(w.model).accepts(start, w.pose):
            moved.append(SetupMove(w.name, w.model, start, w.pose))
    return tuple(move for move in (*out, *moved) if move.model not in tolerance.fixed)


def scenes_match(actual: Scene, known: Scene, tolerance: AnyTolerance) -> bool:
    """Return whether two scenes hold the same objects at the same places within the tolerance."""
    return actual.frame_id == known.frame_id and not setup_moves(actual, known, tolerance)


class CostModel(Protocol):
    """The experimenter's cost of a set-up.

    Attributes:
        name: the name in parameter files.
        unit: its unit, ``m`` or ``s``.
        store: place of objects that are in no scene, in the scenes' frame [m]; None if it is unknown.
    """

    name: str
    unit: str
    store: Vector3 | None

    def cost(self, moves: Sequence[SetupMove], measured: float | None = None) -> float:
        """Return the cost of a set-up, at least 0.

        Args:
            moves: the moves, in order.
            measured: time that the person took [s]; None before it is done, and if it was not measured.
        """

    def costs(self, carried: Flags, starts: Floats, goals: Floats) -> Floats:
        """Return the cost of many set-ups of one scene, each from another one, at least 0, if there is no store.

        Args:
            carried: whether an object is carried, shape (n, objects), in the order of the moves.
            starts: its present place [m], shape (n, objects, 3); any value if it is not carried.
            goals: its wanted place [m], shape (objects, 3).

        Returns:
            Shape (n,): the ``cost`` of each.
        """


class MetresMoved:
    """Sum of the straight distances that objects are carried [m] (seed 000, sections 5.1 and 6.1)."""

    name = "metres_moved"
    unit = "m"

    def __init__(self, store: Vector3 | None = None) -> None:
        """Take the place of the task's store."""
        self.store = store

    def cost(self, moves: Sequence[SetupMove], measured: float | None = None) -> float:
        """Return the metres."""
        return math.fsum(math.dist(start, goal) for start, goal in _carried(moves, self.store))

    def costs(self, carried: Flags, starts: Floats, goals: Floats) -> Floats:
        """Return the metres."""
        return np.where(carried, norm(starts - goals), 0.0).sum(axis=-1)


@record
class HandlingTimes:
    """Speeds and times of a person who sets up scenes: chosen, not measured. Measure your own and enter them here.

    The defaults are for one person in a room. Walking: adults walk comfortably at 1.3 to 1.5 m/s (Bohannon 1997); a few
    metres between furniture, from standstill to standstill, are slower. Carrying: half of that, because the load is
    bulky and the floor is not free. Taking and putting down: a bend with a grip, and a bend with a look at the mark on
    the floor.
    """

    walking_speed: float = Field(default=1.0, gt=0, le=5, description="with empty hands [m/s]")
    carrying_speed: float = Field(default=0.5, gt=0, le=5, description="with an object [m/s]")
    taking: float = Field(default=4.0, ge=0, le=600, description="to take hold of an object [s]")
    placing: float = Field(default=6.0, ge=0, le=600, description="to put it where it belongs, and let go [s]")


class SecondsToMove:
    """Time that a person needs [s] (seed 000, appendix C.3): measured, else modelled.

    For each object, in the order of the moves, the person walks from the place of the last one, takes the object,
    carries it straight to its place and puts it down. The walk to the first object is left out, because the person's
    place before it is unknown. An object that only has to be turned costs taking and placing.
    """

    name = "seconds_to_move"
    unit = "s"

    def __init__(self, times: HandlingTimes | None = None, store: Vector3 | None = None) -> None:
        """Take the person's handling times, the defaults if left out, and the task's store."""
        self._times, self.store = times or HandlingTimes(), store

    def cost(self, moves: Sequence[SetupMove], measured: float | None = None) -> float:
        """Return the measured time if there is one, else the model's."""
        if measured is not None:
            return measured
        times, here, seconds = self._times, None, []
        for start, goal in _carried(moves, self.store):
            walk = 0.0 if here is None else math.dist(here, start)
            seconds.append(walk / times.walking_speed + times.taking)
            seconds.append(math.dist(start, goal) / times.carrying_speed + times.placing)
            here = goal
        return math.fsum(seconds)

    def costs(self, carried: Flags, starts: Floats, goals: Floats) -> Floats:
        """Return the model's time."""
        times, seconds = self._times, np.zeros(len(carried))
        here = np.full((len(carried), 3), np.nan)
        for moves, start, goal in zip(carried.T, starts.swapaxes(0, 1), goals, strict=True):
            # There is no walk to the first object: there `here` is not a number.
            walk = np.nan_to_num(norm(start - here))
            carry = norm(goal - start)
            handling = times.taking + times.placing
            time = walk / times.walking_speed + carry / times.carrying_speed + handling
            seconds += np.where(moves, time, 0.0)
            here = np.where(moves[:, None], goal, here)
        return seconds


@dataclass(frozen=True)
class Handled:
    """A person's work in a set-up, as ``SecondsToMove`` counts it.

    Attributes:
        walked: way with empty hands, between objects [m].
        carried: way with an object [m].
        objects: number of objects taken and put down.
    """

    walked: float
    carried: float
    objects: int


def handled(moves: Sequence[SetupMove], store: Vector3 | None) -> Handled:
    """Return a person's work for moves, in their order, with the task's store."""
    ways = list(_carried(moves, store))
    walks = (math.dist(goal, start) for (_, goal), (start, _) in pairwise(ways))
    return Handled(math.fsum(walks), math.fsum(math.dist(start, goal) for start, goal in ways), len(ways))


def _carried(moves: Sequence[SetupMove], store: Vector3 | None) -> Iterator[tuple[Vector3, Vector3]]:
    """Yield the start and the goal of each carried object [m], but not if its place outside is unknown."""
    for move in moves:
        start = store if move.start is None else move.start.position
        goal = store if move.goal is None else move.goal.position
        if start is not None and goal is not None:
            gone = store is not None and math.dist(start, goal) >= OUT_OF_THE_ROOM
            yield (store if gone else start), goal


def transition_costs(
    left: Sequence[Scene], wanted: Sequence[Scene], model: CostModel, tolerance: AnyTolerance
) -> Floats:
    """Return the cost from each of some scenes to each of others.

    Returns:
        Shape (left, wanted): the cost of ``setup_moves`` of each pair.

    Raises:
        ValueError: the scenes have different frames.
    """
    frames = sorted({scene.frame_id for scene in (*left, *wanted)})
    if len(frames) > 1:
        raise ValueError(f"scenes in one frame: got {', '.join(map(repr, frames))}")
    if model.store is not None or any(whole_of(item.name) for scene in wanted for item in scene):
        # Objects that are taken out also count, in the order of the moves, and a part is moved after its object.
        return np.array([[model.cost(setup_moves(a, b, tolerance)) for b in wanted] for a in left])
    arrays = cache(partial(_object_arrays, tuple(left)))
    costs = np.empty((len(left), len(wanted)))
    for column, scene in enumerate(wanted):
        present, starts, turns = arrays(tuple((o.name, o.model) for o in scene))
        goals = np.array([o.pose.position for o in scene]).reshape(-1, 3)
        goal_turns = np.array([o.pose.orientation for o in scene]).reshape(-1, 4)
        own = [tolerance.of(o.model) for o in scene]
        off = norm(starts - goals) > np.array([each.position for each in own])
        turned = _angles_between(turns, goal_turns) > np.array([each.orientation for each in own])
        movable = np.array([o.model not in tolerance.fixed for o in scene], dtype=bool)
        costs[:, column] = model.costs(present & movable & (off | turned), starts, goals)
    return costs


def _angles_between(a: Floats, b: Floats) -> Floats:
    """Return ``angle_between`` of arrays of quaternions xyzw, shapes (n, k, 4) and (k, 4) -> (n, k)."""
    av, aw, bv, bw = a[..., :3], a[..., 3:], b[..., :3], b[..., 3:]
    vector = aw * bv - bw * av - np.cross(av, bv)
    return 2.0 * np.arctan2(norm(vector), np.abs((a * b).sum(axis=-1)))


def _object_arrays(scenes: tuple[Scene, ...], objects: tuple[tuple[str, str], ...]) -> tuple[Flags, Floats, Floats]:
    """Return whether each object (name, model) is in each scene, its position and its orientation."""
    present = np.zeros((len(scenes), len(objects)), dtype=bool)
    positions = np.zeros((*present.shape, 3))
    orientations = np.zeros((*present.shape, 4))
    for row, scene in enumerate(scenes):
        there = {(o.name, o.model): o.pose for o in scene}
        for column, key in enumerate(objects):
            if key in there:
                present[row, column] = True
                positions[row, column] = there[key].position
                orientations[row, column] = there[key].orientation
    return present, positions, orientations


COST_MODELS = (MetresMoved.name, SecondsToMove.name)
"""Names of the cost models in parameter files."""


def cost_model(name: str, times: HandlingTimes, store: Vector3 | None = None) -> CostModel:
    """Return the cost model of a name, for a task with a store or without.

    Raises:
        KeyError: there is none.
    """
    return {MetresMoved.name: MetresMoved(store), SecondsToMove.name: SecondsToMove(times, store)}[name]
