"""The set-up error: how far from where it should be an object stood that a person had placed."""

from __future__ import annotations

from robocontrast_ros.runs.events import SetUp
from robocontrast_ros.strategies.effort import angle_between


def set_up_errors(set_up: SetUp) -> tuple[tuple[float, float], ...]:
    """Return distance [m] and angle [rad] from where it should be of each object that was placed and seen."""
    if set_up.read is None:
        return ()
    placed = [move.name for move in set_up.moves if move.goal is not None and move.name in set_up.read]
    pairs = [(set_up.read[name].pose, set_up.target[name].pose) for name in placed]
    return tuple((seen.distance_to(wanted), angle_between(seen, wanted)) for seen, wanted in pairs)
