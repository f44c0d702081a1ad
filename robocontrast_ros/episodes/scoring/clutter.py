"""Scores of trials among distractors (seed 001, section IV): contacts with them, and the robot's progress.

All are made from scenes and tool poses, so a bag is enough. They are NaN if the task has no distractors
(``Task.clutter``), and if the scene of a control step is not known. For a robot that reports no contacts they mean that
nothing was touched.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container
from typing import Literal

from robocontrast_ros.domain import Scene, ScoreSpec
from robocontrast_ros.episodes.scoring.joining import Sample
from robocontrast_ros.episodes.scoring.score import End, ScoredTrial

Point = tuple[float, float, float]

LIFTED = 0.005
"""A thing is lifted if its lowest corner is farther than this above its height at the start [m].

Seed 001 gives no number for "grasped"; RoboLab's "picked up" (seed 002) takes 5 cm. This one means only that the thing
is off its support. Contacts name the things that a robot touches, not which of its fingers do. So a thing that is
lifted and touched counts as grasped, even if it lies on the hand.
"""

NEAR = 0.05
"""Distance from the target's box within which a tool has reached it [m]; our choice, seed 001 gives no number."""

MOVED = 0.05
"""Distance from its start beyond which a thing was moved [m]: RoboLab's for "object bumped" (seed 002)."""


def _spec(
    name: str,
    symbol: str,
    description: str,
    source: str = "contacts",
    unit: str = "count",
    high: float = math.inf,
    better: Literal["higher", "lower"] = "lower",
    live: bool = True,
) -> ScoreSpec:
    return ScoreSpec(name, symbol, unit, 0.0, high, better, live, source, description)


def lifted(scene: Scene, start: Scene, lowest: Callable[[Scene, str], float]) -> frozenset[str]:
    """Return the names of the lifted things that the robot touches.

    Args:
        scene: the present scene.
        start: the scene that the trial starts in.
        lowest: the height of a thing's lowest point in a scene [m].
    """
    return frozenset(
        name
        for name in scene.contacts
        if name in start and name in scene and lowest(scene, name) - lowest(start, name) > LIFTED
    )


def moved(scene: Scene, start: Scene, names: Container[str], distance: float) -> frozenset[str]:
    """Return the names of the things that are farther than a distance from their place at the start [m]."""
    return frozenset(
        thing.name
        for thing in scene
        if thing.name in names and thing.pose.distance_to(start[thing.name].pose) > distance
    )


class OfClutter:
    """Base class of the scores of this file.

    Attributes:
        clutter: the task's description of its distractors; None if it has none.
        start: the scene that the trial starts in.
        target: name of the object to handle; empty without distractors.
        distractors: names of the distractors of the start scene.
    """

    def __init__(self, trial: ScoredTrial) -> None:
        """Begin a trial."""
        self.clutter, self.start = trial.task.clutter, trial.start_scene
        self.target, self.distractors = "", frozenset()
        self._known = self.clutter is not None
        if self._known:
            instruction = trial.instance.instruction
            self.target = self.clutter.target(instruction)
            self.distractors = frozenset(self.clutter.distractors(instruction, self.start))

    def update(self, sample: Sample) -> None:
        """Take one control step."""
        self._known = self._known and sample.scene is not None
        if self._known:
            self.look(sample.scene, sample.tool_pose.position)

    def value(self, end: End) -> float:
        """Return the score so far; NaN if it does not exist."""
        return float(self.found(end)) if self._known else math.nan

    def look(self, scene: Scene, tool: Point) -> None:
        """Take the scene of one control step, and the tool's position [m]."""
        raise NotImplementedError

    def found(self, end: End) -> float:
        """Return the score so far."""
        raise NotImplementedError

    def held(self, scene: Scene) -> frozenset[str]:
        """Return the names of the lifted things that the robot touches."""
        return lifted(scene, self.start, self.clutter.lowest)


class HandlingSuccess(OfClutter):
    """Success without touching a distractor: the h-SR of seed 001."""

    spec = _spec(
        "h_success",
        "h-SR",
        "success, where neither the robot nor what it carried touched a distractor",
        source="judgement, contacts",
        unit="",
        high=1.0,
        better="higher",
        live=False,
    )

    def __init__(self, trial: ScoredTrial) -> None:
        """Begin a trial."""
        super().__init__(trial)
        self._touched = False

    def look(self, scene: Scene, tool: Point) -> None:
        """Note whether a distractor is touched."""
        self._touched = self._touched or not self.distractors.isdisjoint((*scene.contacts, *scene.carried))

    def found(self, end: End) -> float:
        """Return 1 or 0; NaN while the trial goes on."""
        return 0.0 if self._touched and not math.isnan(end.success) else end.success


class _Things(OfClutter):
    """Counts things, each once."""

    def __init__(self, trial: ScoredTrial) -> None:
        """Begin a trial."""
        super().__init__(trial)
        self._seen: set[str] = set()

    def look(self, scene: Scene, tool: Point) -> None:
        """Note which of them are seen."""
        self._seen |= self.seen(scene)

    def found(self, end: End) -> float:
        """Return their number so far."""
        return len(self._seen)

    def seen(self, scene: Scene) -> frozenset[str]:
        """Return the names of those that count in a scene."""
        raise NotImplementedError


class TouchedByRobot(_Things):
    """Distractors that the robot touched."""

    spec = _spec("touched_by_robot", "touched by robot", "distractors that the robot touched, each once")

    def seen(self, scene: Scene) -> frozenset[str]:
        """Return those of this control step."""
        return self.distractors.intersection(scene.contacts)


class TouchedByCarried(_Things):
    """Distractors touched by a thing that the robot carried or pushed; the robot itself may also have touched them."""

    spec = _spec(
        "touched_by_carried",
        "touched by carried",
        "distractors that what the robot carried or pushed touched, each once",
    )

    def seen(self, scene: Scene) -> frozenset[str]:
        """Return those of this control step."""
        return self.distractors.intersection(scene.carried)


class Grasped(_Things):
    """Whether the robot ever lifted the target; 1 - its mean is the GFR of seed 001."""

    spec = _spec(
        "grasped",
        "grasped",
        f"whether the robot lifted the target by more than {LIFTED * 1000:g} mm",
        unit="",
        high=1.0,
        better="higher",
        source="scene, contacts",
    )

    def seen(self, scene: Scene) -> frozenset[str]:
        """Return the target if it is lifted."""
        return self.held(scene) & {self.target}


class WrongGrasped(_Things):
    """Other things that the robot lifted: distractors, and the object to which the target is to be brought."""

    spec = _spec(
        "wrong_grasped",
        "wrong grasped",
        f"things other than the target that the robot lifted by more than {LIFTED * 1000:g} mm, each once",
        source="scene, contacts",
    )

    def seen(self, scene: Scene) -> frozenset[str]:
        """Return those that are lifted."""
        return self.held(scene) - {self.target}


class WrongMoved(_Things):
    """Distractors that were moved, by any cause."""

    spec = _spec(
        "wrong_moved",
        "wrong moved",
        f"distractors that were ever more than {MOVED * 100:g} cm from where they started, each once",
        source="scene",
    )

    def seen(self, scene: Scene) -> frozenset[str]:
        """Return those that are away from their start."""
        return moved(scene, self.start, self.distractors, MOVED)


class Reached(OfClutter):
    """Whether the robot ever came to the target."""

    spec = _spec(
        "reached",
        "reached",
        f"whether the tool came within {NEAR * 100:g} cm of the target's box, or the robot touched it",
        source="scene, tool pose, contacts",
        unit="",
        high=1.0,
        better="higher",
    )

    def __init__(self, trial: ScoredTrial) -> None:
        """Begin a trial."""
        super().__init__(trial)
        self._reached = False

    def look(self, scene: Scene, tool: Point) -> None:
        """Note whether the tool has reached it."""
        self._reached = (
            self._reached or self.target in scene.contacts or self.clutter.distance(scene, self.target, tool) <= NEAR
        )

    def found(self, end: End) -> float:
        """Return 1 or 0."""
        return self._reached


class NearestDistance(OfClutter):
    """Least distance of the tool to the target before it was grasped; NaN before the first control step."""

    spec = _spec(
        "nearest_distance",
        "nearest distance",
        "least distance of the tool to the target's box up to the first grasp",
        source="scene, tool pose",
        unit="m",
    )

    def __init__(self, trial: ScoredTrial) -> None:
        """Begin a trial."""
        super().__init__(trial)
        self._nearest, self._grasped = math.inf, False

    def look(self, scene: Scene, tool: Point) -> None:
        """Take the distance, also that of the control step of the grasp."""
        if not self._grasped:
            self._nearest = min(self._nearest, self.clutter.distance(scene, self.target, tool))
            self._grasped = self.target in self.held(scene)

    def found(self, end: End) -> float:
        """Return the least distance so far [m]."""
        return self._nearest if math.isfinite(self._nearest) else math.nan


OF_CLUTTER = (
    HandlingSuccess,
    TouchedByRobot,
    TouchedByCarried,
    Reached,
    Grasped,
    NearestDistance,
    WrongGrasped,
    WrongMoved,
)
"""In the order of tables."""
