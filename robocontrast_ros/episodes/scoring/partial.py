"""The score with partial credit of seed 002: its mean over trials is Score(total) = SR + (1 - SR) Score(fail)."""

from __future__ import annotations

from robocontrast_ros.domain import ScoreSpec
from robocontrast_ros.episodes.scoring.score import End, OfTrial


class PartialCredit(OfTrial):
    """1 for a success, else the progress at the end."""

    spec = ScoreSpec(
        name="score",
        symbol="score",
        unit="",
        low=0.0,
        high=1.0,
        better="higher",
        live=False,
        source="judgement",
        description="1 for a success, else the progress at the end",
    )

    def value(self, end: End) -> float:
        """Return the score; NaN while the success is not known."""
        return end.success + (1.0 - end.success) * self.trial.judging.progress
