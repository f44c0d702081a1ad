"""The scores of a trial: success, SPL, progress, nDTW, collisions. The same code scores live and from bags."""

from robocontrast_ros.episodes.scoring.collisions import CollisionCounter
from robocontrast_ros.episodes.scoring.joining import Sample, StampJoin
from robocontrast_ros.episodes.scoring.ndtw import normalised_dtw
from robocontrast_ros.episodes.scoring.scorer import EpisodeScorer
from robocontrast_ros.episodes.scoring.spl import success_weighted_path_length

__all__ = [
    "CollisionCounter",
    "EpisodeScorer",
    "Sample",
    "StampJoin",
    "normalised_dtw",
    "success_weighted_path_length",
]
