"""Events of a trial that a person would note down: each is counted as often as it begins (RoboLab, seed 002).

An event begins in the control step in which it is there and was not in the one before; what is there in the start scene
has not begun. It counts again after it has been over. Scenes, contacts, tool poses and, for one event, the gripper are
enough, and a bag has them. All are NaN if the task does not name the things to handle (``Task.handling``), and if the
scene of a control step is not known. Those that are made from contacts, or from the gripper, are refused for a robot
that does not report these.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, lru_cache

from robocontrast_ros.domain import ObjectState, Pose, Scene, ScoreSpec, whole_of
from robocontrast_ros.episodes.scoring.clutter import LIFTED, lifted
from robocontrast_ros.episodes.scoring.joining import Sample
from robocontrast_ros.episodes.scoring.score import End, ScoredTrial
from robocontrast_ros.objects import library_of
from robocontrast_ros.objects.frames import rotate

MOVING = 0.05
"""Speed above which a thing moves [m/s]: RoboLab's (seed 002). What is pushed more slowly does not move."""

BUMPED, FAR = 0.05, 0.50
"""Distances between the places before and after a motion, from which a thing was bumped, and moved far [m]: RoboLab's
(seed 002)."""

TIPPED = math.radians(45.0)
"""Angle between a thing's z axis and its direction at the start, above which it is tipped over [rad]; our choice."""

BELOW = 0.05
"""A thing is out of the scene if it is farther than this below all that could be moved at the start [m]; our choice.

RoboLab (seed 002) takes a box of 2 m about a Franka's table. This one holds for every table whose floor is lower.
"""

FALL = 0.02
"""Height of a fall out of the hand above which a thing was dropped [m]; our choice.

RoboLab (seed 002) counts whatever is let go on the way. A plan also lets things go some mm above their places.
"""

CLOSED = 0.75
"""Closed share of a gripper, by its own greatest width, from which its fingers are closed: RoboLab's (seed 002)."""

STILL = 0.1
"""Speed of that share up to which the fingers are at rest [1/s]; our choice.

A thing that is thinner than a quarter of the greatest width stops fingers that were closed before they touched it.
"""

NANOSECONDS = 1e9


def _spec(name: str, symbol: str, description: str, source: str = "scene, contacts") -> ScoreSpec:
    return ScoreSpec(name, symbol, "count", 0.0, math.inf, "lower", True, source, description)


@lru_cache(maxsize=64)
def _models(uris: tuple[str, ...]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the models of tables, and all that are fixed, among spawnable resources."""
    library = library_of(uris)
    tables = (name for name, model in library.items() if model.category == "table")
    return frozenset(tables), frozenset(name for name, model in library.items() if model.fixed)


class OfEvents:
    """Base class of the scores of this file.

    Attributes:
        needs_contacts: whether the count would be wrong for a robot that reports no contacts.
        needs_gripper: whether it needs to know how far a gripper is closed.
        trial: the trial.
        start: the scene that it starts in.
        handled: names of the things to handle.
        things: names of all that could be moved, without parts that move on joints.
        tables: names of tables; empty if the task does not say what they are.
        count: events so far.
    """

    needs_contacts = True
    needs_gripper = False

    def __init__(self, trial: ScoredTrial) -> None:
        """Begin a trial."""
        handling = trial.task.handling
        self.trial, self.start, self.count = trial, trial.start_scene, 0
        self.known = handling is not None
        self.handled: frozenset[str] = frozenset()
        if self.known:
            self.handled = frozenset(handling.handled(trial.instance.instruction, self.start))
        tables, fixed = _models(tuple(trial.task.scenes.models.values()))
        self.tables = self._named(lambda thing: thing.model in tables)
        self.things = self._named(lambda thing: thing.model not in fixed and not whole_of(thing.name))

    def update(self, sample: Sample) -> None:
        """Take one control step."""
        self.known = self.known and sample.scene is not None
        if self.known:
            self.look(sample.scene, sample)

    def value(self, end: End) -> float:
        """Return the events so far; NaN if not known."""
        return float(self.count) if self.known else math.nan

    def look(self, scene: Scene, sample: Sample) -> None:
        """Take the scene of one control step."""
        raise NotImplementedError

    def lowest(self, scene: Scene, name: str) -> float:
        """Return the height of the lowest point of a thing [m]."""
        return self.trial.task.handling.lowest(scene, name)

    def held(self, scene: Scene) -> frozenset[str]:
        """Return the names of the lifted things that the robot touches."""
        return lifted(scene, self.start, self.lowest) & self.things

    def _named(self, wanted: Callable[[ObjectState], bool]) -> frozenset[str]:
        return frozenset(thing.name for thing in self.start if wanted(thing))


class _Beginnings(OfEvents):
    """Counts what is there in a control step and was not in the one before."""

    def __init__(self, trial: ScoredTrial) -> None:
        """Begin a trial."""
        super().__init__(trial)
        self._there = self.there(self.start) if self.known else frozenset()

    def look(self, scene: Scene, sample: Sample) -> None:
        """Count what begins."""
        there = self.there(scene)
        self.count += len(there - self._there)
        self._there = there

    def there(self, scene: Scene) -> frozenset[str]:
        """Return the names of the things to which the event happens in a scene."""
        raise NotImplementedError


class WrongGrasps(_Beginnings):
    """Grasps of things that are not to be handled."""

    spec = _spec("wrong_grasps", "wrong grasps", "times that the robot lifted a thing that it is not to handle")

    def there(self, scene: Scene) -> frozenset[str]:
        """Return those that are held."""
        return self.held(scene) - self.handled


class SeveralGrasped(_Beginnings):
    """Grasps of more than one thing."""

    spec = _spec("several_grasped", "several grasped", "times that the robot began to lift two things or more at once")

    def there(self, scene: Scene) -> frozenset[str]:
        """Return one name if there are several things in the hand."""
        return frozenset({"several"} if len(self.held(scene)) > 1 else ())


class TableHits(_Beginnings):
    """Contacts of the robot with the table; NaN if the task does not say what a table is."""

    spec = _spec("table_hits", "table hits", "times that the robot began to touch the table", source="contacts")

    def there(self, scene: Scene) -> frozenset[str]:
        """Return the tables that are touched."""
        return self.tables.intersection(scene.contacts)

    def value(self, end: End) -> float:
        """Return the hits so far; NaN if not known."""
        return super().value(end) if self.tables else math.nan


class TippedOver(_Beginnings):
    """Things that fell over, whoever pushed them. A round thing that rolls counts once a turn."""

    needs_contacts = False
    spec = _spec(
        "tipped_over",
        "tipped over",
        f"times that a thing was tilted by more than {math.degrees(TIPPED):g} degrees, on its level",
        source="scene",
    )

    def there(self, scene: Scene) -> frozenset[str]:
        """Return those that lie on another side than at the start, and not in the hand."""
        return frozenset(
            thing.name
            for thing in scene
            if thing.name in self.things
            and _tilt(thing.pose, self.start[thing.name].pose) > TIPPED
            and self.lowest(scene, thing.name) - self.lowest(self.start, thing.name) <= LIFTED
        )


def _tilt(pose: Pose, start: Pose) -> float:
    """Return the angle between the z axes of two poses [rad]."""
    a, b = (rotate(one.orientation, (0.0, 0.0, 1.0)) for one in (pose, start))
    return math.acos(min(1.0, max(-1.0, math.fsum(x * y for x, y in zip(a, b, strict=True)))))


class OutOfScene(_Beginnings):
    """Things that fell off the table."""

    needs_contacts = False
    spec = _spec(
        "out_of_scene",
        "out of scene",
        f"times that a thing came more than {BELOW * 100:g} cm below the lowest thing of the start scene",
        source="scene",
    )

    def there(self, scene: Scene) -> frozenset[str]:
        """Return those that are below."""
        names = (thing.name for thing in scene if thing.name in self.things)
        return frozenset(name for name in names if self.lowest(scene, name) < self._level - BELOW)

    @cached_property
    def _level(self) -> float:
        return min(self.lowest(self.start, name) for name in self.things)


class _Motions(OfEvents):
    """Counts motions of things that are not to be handled.

    A motion is a series of control steps in each of which a thing is faster than ``MOVING``.

    Attributes:
        between: least distance between the places before and after a motion that counts, and the one above it [m].
    """

    needs_contacts = False
    between = (0.0, math.inf)

    def __init__(self, trial: ScoredTrial) -> None:
        """Begin a trial; the stamp of its start scene is not known, so the first step lasts a control period."""
        super().__init__(trial)
        self._before, self._stamp = self.start, None
        self._began: dict[str, Pose] = {}

    def look(self, scene: Scene, sample: Sample) -> None:
        """Begin motions, and count those that end."""
        period = 1.0 / self.trial.task.control_rate
        if self._stamp is not None:
            period = (sample.stamp - self._stamp) / NANOSECONDS
        for thing in scene:
            if thing.name in self.handled or thing.name not in self._before:
                continue
            before = self._before[thing.name].pose
            if before.distance_to(thing.pose) > MOVING * period:
                self._began.setdefault(thing.name, before)
            elif thing.name in self._began:
                self.count += self._counts(self._began.pop(thing.name), thing.pose)
        self._before, self._stamp = scene, sample.stamp

    def value(self, end: End) -> float:
        """Return the motions so far; one that goes on counts by its present distance. NaN if not known."""
        going_on = (self._counts(began, self._before[name].pose) for name, began in self._began.items())
        return super().value(end) + sum(going_on)

    def _counts(self, began: Pose, now: Pose) -> bool:
        least, above = self.between
        return least <= began.distance_to(now) < above


class StartedMoving(_Motions):
    """Motions, however short."""

    spec = _spec(
        "started_moving",
        "started moving",
        f"times that a thing that is not to be handled became faster than {MOVING * 100:g} cm/s",
        source="scene",
    )


class Bumped(_Motions):
    """Motions over a short distance."""

    between = (BUMPED, FAR)
    spec = _spec(
        "bumped",
        "bumped",
        f"motions of things that are not to be handled, over {BUMPED * 100:g} cm or more and less than {FAR * 100:g}",
        source="scene",
    )


class MovedFar(_Motions):
    """Motions over a long distance."""

    between = (FAR, math.inf)
    spec = _spec(
        "moved_far",
        "moved far",
        f"motions of things that are not to be handled, over {FAR * 100:g} cm or more",
        source="scene",
    )


class Dropped(OfEvents):
    """Falls of the thing to handle out of the hand, to a place at which the goal does not hold.

    The height of a fall begins where the thing would have been in the hand in the last control step of their contact,
    and no higher than in the step before. It ends where the thing is at rest, or held again.
    """

    spec = _spec(
        "dropped",
        "dropped",
        f"times that a thing to handle fell by more than {FALL * 100:g} cm out of the hand, and the goal did not hold",
        source="scene, contacts, tool pose",
    )

    def __init__(self, trial: ScoredTrial) -> None:
        """Begin a trial."""
        super().__init__(trial)
        self._before, self._stamp = self.start, 0
        self._in_hand: dict[str, tuple[float, float]] = {}
        self._from: dict[str, float] = {}

    def look(self, scene: Scene, sample: Sample) -> None:
        """Follow what was in the hand until it is at rest."""
        tool, held, period = sample.tool_pose.position[2], self.held(scene), (sample.stamp - self._stamp) / NANOSECONDS
        for name in self.handled & self.things:
            height, in_hand = self.lowest(scene, name), self._in_hand.pop(name, None)
            if in_hand is not None and name in scene.contacts:
                before, below_tool = in_hand
                self._from[name] = max(height, min(before, tool - below_tool))
            if name in held:
                if in_hand is None:
                    self._end(name, height, holds=False)
                    self._from[name] = height
                self._in_hand[name] = height, tool - height
                continue
            at_rest = self._before[name].pose.distance_to(scene[name].pose) <= MOVING * period
            if name in self._from and name not in scene.contacts and at_rest:
                self._end(name, height, self.trial.goal.satisfied(scene))
        self._before, self._stamp = scene, sample.stamp

    def _end(self, name: str, height: float, holds: bool) -> None:
        fall = self._from.pop(name, height) - height
        self.count += fall > FALL and not holds


class ClosedOnNothing(OfEvents):
    """Closings of the gripper with nothing between its fingers; NaN if it is not known how far it is closed.

    The fingers are closed from ``CLOSED`` of their way on. It counts once they are at rest (``STILL``) while the robot
    touches nothing but tables, and again after they have opened. Contacts do not tell fingers from other parts, so
    whatever is touched may be between them. A gripper that is closed in the first control step has not closed.
    """

    needs_gripper = True
    spec = _spec(
        "closed_on_nothing",
        "closed on nothing",
        f"times that the fingers closed, by {CLOSED * 100:g} % of their way or more, with nothing between them",
        source="contacts, joints",
    )

    def __init__(self, trial: ScoredTrial) -> None:
        """Begin a trial."""
        super().__init__(trial)
        self._opened, self._before, self._stamp = False, math.nan, 0

    def look(self, scene: Scene, sample: Sample) -> None:
        """Count the fingers that are closed and at rest."""
        closed = None if sample.joints is None else sample.joints.gripper_closed
        if closed is None or not math.isfinite(closed):
            self.known = False
            return
        if closed < CLOSED:
            self._opened = True
        elif self._opened and self.tables.issuperset(scene.contacts):
            period = (sample.stamp - self._stamp) / NANOSECONDS
            if abs(closed - self._before) <= STILL * period:
                self.count += 1
                self._opened = False
        self._before, self._stamp = closed, sample.stamp


OF_EVENTS = (
    WrongGrasps,
    SeveralGrasped,
    Dropped,
    TableHits,
    ClosedOnNothing,
    StartedMoving,
    Bumped,
    MovedFar,
    TippedOver,
    OutOfScene,
)
"""In the order of tables."""
