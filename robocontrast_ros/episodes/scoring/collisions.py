"""Number of times that the robot began to touch something."""

from __future__ import annotations

import math

from robocontrast_ros.domain import Scene, ScoreSpec
from robocontrast_ros.episodes.scoring.joining import Sample
from robocontrast_ros.episodes.scoring.score import End, ScoredTrial


class CollisionCounter:
    """Counts rising edges: an entity that is touched now and was not touched in the scene before.

    Touching one thing without pause is one collision, however long it lasts; letting go and touching it
    again is another; touching two things at once is two.

    Attributes:
        count: collisions so far.
    """

    def __init__(self, start: Scene) -> None:
        """Begin a trial; a contact in its start scene is no collision."""
        self._touched = frozenset(start.contacts)
        self.count = 0

    def update(self, scene: Scene) -> tuple[str, ...]:
        """Take the scene of one control step and return the entities that the robot began to touch."""
        began = tuple(name for name in scene.contacts if name not in self._touched)
        self._touched = frozenset(scene.contacts)
        self.count += len(began)
        return began


class Collisions:
    """The collisions of a trial, in the scenes that are known."""

    spec = ScoreSpec(
        name="collisions",
        symbol="collisions",
        unit="count",
        low=0.0,
        high=math.inf,
        better="lower",
        live=True,
        source="contacts",
        description="times that the robot began to touch something",
    )

    def __init__(self, trial: ScoredTrial) -> None:
        """Begin a trial."""
        self._counter = CollisionCounter(trial.start_scene)

    def update(self, sample: Sample) -> None:
        """Take one control step."""
        if sample.scene is not None:
            self._counter.update(sample.scene)

    def value(self, end: End) -> float:
        """Return the collisions so far."""
        return float(self._counter.count)
