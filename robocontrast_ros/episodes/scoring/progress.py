"""Progress of a trial to its goal."""

from __future__ import annotations

from robocontrast_ros.domain import ScoreSpec
from robocontrast_ros.episodes.scoring.score import End, OfTrial


class ProgressToGoal(OfTrial):
    """As the judge says."""

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
