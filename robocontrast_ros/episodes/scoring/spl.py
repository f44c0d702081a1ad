"""The metrics M of a single trial (seed 000, sections 3 and 5.1)."""

from __future__ import annotations

import math


def progress_to_goal(distance: float, start_distance: float) -> float:
    """Return 1 - d / d0, clamped to [0, 1].

    Where the trial starts at its goal (d0 = 0) the quotient is undefined: the progress is then 1 as
    long as the goal holds and 0 when it has been lost.

    Args:
        distance: d, what the goal predicate measures now [m].
        start_distance: d0, what it measured at the start [m].

    Raises:
        ValueError: a distance is negative or not finite.
    """
    for name, value in (("distance to goal", distance), ("distance to goal at the start", start_distance)):
        if not (math.isfinite(value) and value >= 0.0):
            raise ValueError(f"{name}: got {value}, expected a finite number of at least 0 m")
    if start_distance == 0.0:
        return 1.0 if distance == 0.0 else 0.0
    return min(max(1.0 - distance / start_distance, 0.0), 1.0)


def success_weighted_path_length(success: bool, path_length: float, optimal_path_length: float) -> float:
    """Return the trial's term of SPL: S * l / max(p, l) (Anderson et al. 2018; seed 000, section 5.1).

    Where the planner needs no motion (l = 0) the term is its limit: S for a robot that did not move,
    else 0. Where l is unknown (NaN) the term is NaN, for failures too: leaving out the successes alone
    would bias the mean.

    Args:
        success: S.
        path_length: p, the length of the robot's path [m].
        optimal_path_length: l, the length of the planner's path [m]; NaN when unknown.

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
