"""Errors of a person's set-ups in a session, as far as they were seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robocontrast_ros.runs.events import SetUp


@dataclass(frozen=True)
class Spread:
    """The spread of errors: their median, 95th percentile and maximum."""

    median: float
    most: float
    greatest: float

    @classmethod
    def of(cls, errors: Sequence[float]) -> Spread:
        """Return the spread of errors, at least one."""
        return cls(float(np.median(errors)), float(np.quantile(errors, 0.95)), max(errors))


@dataclass(frozen=True)
class Placing:
    """Errors of a person's set-ups.

    Attributes:
        set_ups: number of a person's set-ups that were seen.
        objects: number of objects that the person placed in them and that were seen for certain.
        position: distance of these from their wanted places [m]; None without one.
        orientation: angle of these to their wanted orientations [rad]; None without one.
        overruled: trial_id and doubts of each set-up that the person declared right in spite of doubts.
    """

    set_ups: int
    objects: int
    position: Spread | None
    orientation: Spread | None
    overruled: tuple[tuple[str, str], ...]


def placing_of(set_ups: Sequence[SetUp]) -> Placing | None:
    """Return the errors of a person's set-ups; None if none was seen, and no doubt was overruled."""
    seen = [event for event in set_ups if event.read is not None]
    overruled = tuple((event.trial.trial_id, "; ".join(event.overruled)) for event in set_ups if event.overruled)
    if not seen and not overruled:
        return None
    errors = [error for event in seen for error in event.errors]
    position, orientation = (Spread.of(some) for some in zip(*errors, strict=True)) if errors else (None, None)
    return Placing(len(seen), len(errors), position, orientation, overruled)
