"""The scores of a trial: success, SPL, progress-to-goal. The same code scores live and from a bag."""

from robocontrast_ros.scoring.episode import EpisodeScorer
from robocontrast_ros.scoring.joining import Sample, StampJoin
from robocontrast_ros.scoring.metrics import progress_to_goal, success_weighted_path_length

__all__ = [
    "EpisodeScorer",
    "Sample",
    "StampJoin",
    "progress_to_goal",
    "success_weighted_path_length",
]
