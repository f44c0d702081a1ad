"""Distance to the goal at the end of a trial."""

from __future__ import annotations

import math

from robocontrast_ros.domain import ScoreSpec
from robocontrast_ros.episodes.scoring.score import End, OfTrial


class DistanceToGoal(OfTrial):
    """What the task's goal measures, as the judge says."""

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
