"""Subgoals that were reached."""

from __future__ import annotations

import math

from robocontrast_ros.domain import ScoreSpec
from robocontrast_ros.episodes.scoring.score import End, OfTrial


class SubgoalsReached(OfTrial):
    """Those of a goal with stages, in their order; a plain goal is one subgoal."""

    spec = ScoreSpec(
        name="subgoals_reached",
        symbol="subgoals",
        unit="count",
        low=0.0,
        high=math.inf,
        better="higher",
        live=True,
        source="judgement",
        description="subgoals reached, in their order",
    )

    def value(self, end: End) -> float:
        """Return how many were reached so far."""
        return float(self.trial.judging.reached)
