"""The scores of a trial: success, SPL, progress, nDTW, collisions. The same code scores live and from bags."""

from robocontrast_ros.scoring.collisions import CollisionCounter
from robocontrast_ros.scoring.episode import EpisodeScorer
from robocontrast_ros.scoring.joining import Sample, StampJoin
from robocontrast_ros.scoring.metrics import progress_to_goal, success_weighted_path_length
from robocontrast_ros.scoring.ndtw import normalised_dtw

__all__ = [
    "CollisionCounter",
    "EpisodeScorer",
    "Sample",
    "StampJoin",
    "normalised_dtw",
    "progress_to_goal",
    "success_weighted_path_length",
]
