"""The scores of a trial: the standard ones, of clutter, mistakes, events and motion.

The same code scores live and from bags.
"""

from robocontrast_ros.episodes.scoring.collisions import CollisionCounter
from robocontrast_ros.episodes.scoring.joining import Sample, StampJoin
from robocontrast_ros.episodes.scoring.loading import load_scores
from robocontrast_ros.episodes.scoring.ndtw import normalised_dtw
from robocontrast_ros.episodes.scoring.score import End, Score, ScoredTrial, need_joints
from robocontrast_ros.episodes.scoring.scorer import EpisodeScorer
from robocontrast_ros.episodes.scoring.spl import success_weighted_path_length
from robocontrast_ros.episodes.scoring.standard import STANDARD, STANDARD_SPECS

__all__ = [
    "STANDARD",
    "STANDARD_SPECS",
    "CollisionCounter",
    "End",
    "EpisodeScorer",
    "Sample",
    "Score",
    "ScoredTrial",
    "StampJoin",
    "load_scores",
    "need_joints",
    "normalised_dtw",
    "success_weighted_path_length",
]
