"""SPL of a single trial: success weighted by path length (seed 000, section 5.1)."""

from __future__ import annotations

import math

from robocontrast_ros.domain import ScoreSpec
from robocontrast_ros.episodes.scoring.score import End, OfTrial, ScoredTrial


def success_weighted_path_length(success: bool, path_length: float, optimal_path_length: float) -> float:
    """Return the trial's term of SPL: S * l / max(p, l) (Anderson et al. 2018; seed 000, section 5.1).

    If the planner needs no motion (l = 0) the term is its limit: S for a robot that did not move, else 0. If l is
    unknown (NaN) the term is NaN, also for failures: leaving out the successes alone would bias the mean.

    Args:
        success: S.
        path_length: p, the length of the robot's path [m].
        optimal_path_length: l, the length of the planner's path [m]; NaN if unknown.

    Raises:
        ValueError: a length is negative or infinite, or the robot's is NaN.
    """
    if not (math.isfinite(path_length) and path_length >= 0.0):
        raise ValueError(f"path length: got {path_length}, expected a finite number of at least 0 m")
    if optimal_path_length < 0.0 or math.isinf(optimal_path_length):
        raise ValueError(
            f"optimal path length: got {optimal_path_length}, "
            "expected a finite number of at least 0 m, or NaN when unknown"
        )
    if math.isnan(optimal_path_length):
        return math.nan
    if not success:
        return 0.0
    longer = max(path_length, optimal_path_length)
    return optimal_path_length / longer if longer > 0.0 else 1.0


class Spl(OfTrial):
    """S * l / max(p, l); 0 after a fault of the policy."""

    spec = ScoreSpec(
        name="spl",
        symbol="SPL",
        unit="",
        low=0.0,
        high=1.0,
        better="higher",
        live=False,
        source="judgement, robot path",
        description="success weighted by path length",
    )

    def __init__(self, trial: ScoredTrial) -> None:
        """Begin a trial; an optimal path length that could not be scored is refused before it."""
        super().__init__(trial)
        self._optimal = trial.instance.optimal_path_length
        success_weighted_path_length(False, 0.0, self._optimal)

    def value(self, end: End) -> float:
        """Return the trial's term of SPL; NaN while the trial goes on."""
        if math.isnan(end.success):
            return math.nan
        return success_weighted_path_length(end.success == 1.0, self.trial.path.length, self._optimal)
