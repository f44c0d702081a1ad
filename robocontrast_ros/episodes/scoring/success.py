"""Success S of a trial."""

from __future__ import annotations

from robocontrast_ros.domain import ScoreSpec
from robocontrast_ros.episodes.scoring.score import End, OfTrial


class Success(OfTrial):
    """1 or 0, as the judge says; 0 after a fault of the policy."""

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
