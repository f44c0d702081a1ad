"""Scores that a user might add."""

from __future__ import annotations

import math

from robocontrast_ros.domain import ScoreSpec
from robocontrast_ros.episodes.scoring import End, Sample, ScoredTrial


class Turning:
    """How much the robot's path turns, all corners together: 0 for a straight path."""

    spec = ScoreSpec(
        name="turning",
        symbol="turning",
        unit="rad",
        low=0.0,
        high=math.inf,
        better="lower",
        live=True,
        source="robot path",
        description="sum of the angles by which the robot's path turns",
    )

    def __init__(self, trial: ScoredTrial) -> None:
        self._path, self._sum = trial.path, 0.0

    def update(self, sample: Sample) -> None:
        if len(self._path.points) > 2:
            a, b, c = self._path.points[-3:]
            first, then = (math.atan2(q[1] - p[1], q[0] - p[0]) for p, q in ((a, b), (b, c)))
            self._sum += abs(math.remainder(then - first, math.tau))

    def value(self, end: End) -> float:
        return self._sum


class Grade:
    """A score between 1 and 5, as schools give them."""

    spec = ScoreSpec(
        name="grade",
        symbol="grade",
        unit="",
        low=1.0,
        high=5.0,
        better="lower",
        live=False,
        source="judgement",
        description="5 minus four times the progress",
    )

    def __init__(self, trial: ScoredTrial) -> None:
        self._judging = trial.judging

    def update(self, sample: Sample) -> None: ...

    def value(self, end: End) -> float:
        return 5.0 - 4.0 * self._judging.progress


class Second(Turning):
    """A score with the name of another."""


class NoSpec:
    """What has the methods of a score and no table row."""

    spec = "turning"

    def update(self, sample: Sample) -> None: ...

    def value(self, end: End) -> float:
        return 0.0
