"""Length of the robot's path."""

from __future__ import annotations

import math

from robocontrast_ros.domain import ScoreSpec
from robocontrast_ros.episodes.scoring.score import End, OfTrial


class PathLength(OfTrial):
    """The p of SPL: the whole path, from the start position to the end of the trial."""

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
