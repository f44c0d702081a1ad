"""Mistakes of a trial: actions of the robot that its instruction does not ask for (seed 004, section III).

Seed 004 allows a mistake, or not: without, a trial succeeds only within the least number of actions. A robot that acts
several times a second has no such number, so here a mistake is an event: a thing that the instruction does not have the
robot deal with is moved, lifted, or (if the task says so) touched; or the robot's path becomes much longer than the
planner's. Instruction, start scene, scenes and tool poses are enough, and a bag has them. Nothing counts after the
success.
"""

from __future__ import annotations

import math

from robocontrast_ros.domain import Scene, ScoreSpec
from robocontrast_ros.episodes.scoring.clutter import LIFTED, lifted, moved
from robocontrast_ros.episodes.scoring.joining import Sample
from robocontrast_ros.episodes.scoring.score import End, ScoredTrial

MOVED = 0.01
"""Distance from its start beyond which a thing was moved [m]; our choice, seed 004 gives no number."""

LONGER = 1.5
"""Ratio to the planner's path length above which a path is too long.

It replaces a limit of time: no task knows the duration of its plan, and no bag the robot's greatest speed. To wait is
no mistake.
"""


class OfMistakes:
    """Base class of both scores.

    They are NaN if the task does not name the things to handle (``Task.handling``), if the planner's path length is not
    known, and if the scene of a control step up to the success is not known.
    """

    def __init__(self, trial: ScoredTrial) -> None:
        """Begin a trial."""
        self._trial, self._handling = trial, trial.task.handling
        self._limit = LONGER * trial.instance.optimal_path_length
        self._known = self._handling is not None and not math.isnan(self._limit)
        self._others: frozenset[str] = frozenset()
        self._right: frozenset[str] = frozenset()
        if self._handling is not None:
            self._right = frozenset(self._handling.handled(trial.instance.instruction, trial.start_scene))
            self._others = frozenset(trial.start_scene.names) - self._right
        self._wrong: set[str] = set()
        self._long = self._over = False

    def update(self, sample: Sample) -> None:
        """Take one control step, that of the success included."""
        if self._over:
            return
        self._known = self._known and sample.scene is not None
        if self._known:
            self._wrong |= self._mistaken(sample.scene)
            self._long = self._long or self._trial.path.length > self._limit
        self._over = self._trial.judging.succeeded

    @property
    def count(self) -> float:
        """Mistakes so far; NaN if not known."""
        return float(len(self._wrong) + self._long) if self._known else math.nan

    def _mistaken(self, scene: Scene) -> frozenset[str]:
        """Return the names of the things that are wrongly moved, lifted or touched in a scene."""
        handling, start = self._handling, self._trial.start_scene
        touched = frozenset(scene.contacts if handling.touching else ())
        return (
            moved(scene, start, self._others, MOVED) | (lifted(scene, start, handling.lowest) | touched) - self._right
        )


class Mistakes(OfMistakes):
    """Number of mistakes: each thing counts once, and a path that is too long once."""

    spec = ScoreSpec(
        name="mistakes",
        symbol="mistakes",
        unit="count",
        low=0.0,
        high=math.inf,
        better="lower",
        live=True,
        source="scene, contacts, robot path",
        description=(
            f"things wrongly moved by more than {MOVED * 100:g} cm, lifted by more than {LIFTED * 1000:g} mm or "
            f"touched, each once, and one for a path longer than {LONGER:g} times the planner's, up to the success"
        ),
    )

    def value(self, end: End) -> float:
        """Return the mistakes so far."""
        return self.count


class SuccessWithoutMistakes(OfMistakes):
    """Success without a mistake: the one that seed 004 counts if mistakes are not allowed."""

    spec = ScoreSpec(
        name="success_without_mistakes",
        symbol="no-mistake success",
        unit="",
        low=0.0,
        high=1.0,
        better="higher",
        live=False,
        source="judgement, scene, contacts, robot path",
        description="success, where no mistake came before",
    )

    def value(self, end: End) -> float:
        """Return 1 or 0; NaN while the trial goes on, and also for failures if mistakes are not known."""
        if math.isnan(self.count) or math.isnan(end.success):
            return math.nan
        return end.success if self.count == 0.0 else 0.0


OF_MISTAKES = (Mistakes, SuccessWithoutMistakes)
"""In the order of tables."""
