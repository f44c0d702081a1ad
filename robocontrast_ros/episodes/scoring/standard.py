"""The scores that every task has which names no others."""

from __future__ import annotations

from robocontrast_ros.domain import ScoreSpec
from robocontrast_ros.episodes.scoring.collisions import Collisions
from robocontrast_ros.episodes.scoring.distance_to_goal import DistanceToGoal
from robocontrast_ros.episodes.scoring.ndtw import NormalisedDtw
from robocontrast_ros.episodes.scoring.path_length import PathLength
from robocontrast_ros.episodes.scoring.progress import ProgressToGoal
from robocontrast_ros.episodes.scoring.score import Score
from robocontrast_ros.episodes.scoring.spl import Spl
from robocontrast_ros.episodes.scoring.subgoals_reached import SubgoalsReached
from robocontrast_ros.episodes.scoring.success import Success

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
