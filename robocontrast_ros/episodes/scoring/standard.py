"""The scores of every task that names no others; those that compute more have their own files."""

from __future__ import annotations

import math

from robocontrast_ros.domain import ScoreSpec
from robocontrast_ros.episodes.scoring.collisions import Collisions
from robocontrast_ros.episodes.scoring.ndtw import NormalisedDtw
from robocontrast_ros.episodes.scoring.score import End, OfTrial, Score
from robocontrast_ros.episodes.scoring.spl import Spl


class Success(OfTrial):
    """Success S of a trial: 1 or 0, as judged; 0 after a fault of the policy."""

    spec = ScoreSpec(
        name="success",
        symbol="success",
        unit="",
        low=0.0,
        high=1.0,
        better="higher",
        live=False,
        source="judgement",
        description="whether the goal was reached",
    )

    def value(self, end: End) -> float:
        """Return S."""
        return end.success


class ProgressToGoal(OfTrial):
    """Progress of a trial to its goal, as judged."""

    spec = ScoreSpec(
        name="progress",
        symbol="progress",
        unit="",
        low=0.0,
        high=1.0,
        better="higher",
        live=True,
        source="judgement",
        description="progress to the goal at the end",
    )

    def value(self, end: End) -> float:
        """Return the progress now."""
        return self.trial.judging.progress


class SubgoalsReached(OfTrial):
    """Number of subgoals reached: those of a goal with stages, in their order; a plain goal is one subgoal."""

    spec = ScoreSpec(
        name="subgoals_reached",
        symbol="subgoals",
        unit="count",
        low=0.0,
        high=math.inf,
        better="higher",
        live=True,
        source="judgement",
        description="subgoals reached, in their order",
    )

    def value(self, end: End) -> float:
        """Return the number of subgoals reached so far."""
        return float(self.trial.judging.reached)


class DistanceToGoal(OfTrial):
    """Distance to the goal at the end of a trial: the measure of the task's goal, as judged."""

    spec = ScoreSpec(
        name="distance_to_goal",
        symbol="distance to goal",
        unit="m",
        low=0.0,
        high=math.inf,
        better="lower",
        live=True,
        source="judgement",
        description="what the goal measures at the end",
    )

    def value(self, end: End) -> float:
        """Return the distance now [m]."""
        return self.trial.judging.distance


class PathLength(OfTrial):
    """Length of the robot's path, the p of SPL: the whole path, from the start position to the end of the trial."""

    spec = ScoreSpec(
        name="path_length",
        symbol="path length",
        unit="m",
        low=0.0,
        high=math.inf,
        better="lower",
        live=True,
        source="robot path",
        description="the robot's path",
    )

    def value(self, end: End) -> float:
        """Return the length so far [m]."""
        return self.trial.path.length


STANDARD: tuple[type[Score], ...] = (
    Success,
    Spl,
    ProgressToGoal,
    SubgoalsReached,
    NormalisedDtw,
    Collisions,
    DistanceToGoal,
    PathLength,
)

STANDARD_SPECS: tuple[ScoreSpec, ...] = tuple(score.spec for score in STANDARD)
