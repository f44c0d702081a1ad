"""How exactly a person set the scenes of a session up, as far as something saw it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robocontrast_ros.runs.events import SetUp


@dataclass(frozen=True)
class Spread:
    """How errors spread: their median, 95th percentile and maximum."""

    median: float
    most: float
    greatest: float

    @classmethod
    def of(cls, errors: Sequence[float]) -> Spread:
        """Return that of errors, at least one."""
        return cls(float(np.median(errors)), float(np.quantile(errors, 0.95)), max(errors))


@dataclass(frozen=True)
class Placing:
    """How exactly a person set scenes up.

    Attributes:
        set_ups: of a person, of which something saw how they stood.
        objects: that the person placed in them and that were seen for certain.
        position: distance of these from where they should be [m]; None without one.
        orientation: angle by which they were turned [rad]; None without one.
        overruled: trials whose set-up was in doubt, and what was, where the person said that it stands right.
    """

    set_ups: int
    objects: int
    position: Spread | None
    orientation: Spread | None
    overruled: tuple[tuple[str, str], ...]


def placing_of(set_ups: Sequence[SetUp]) -> Placing | None:
    """Return how exactly a person set scenes up; None where nothing saw it, and nobody was overruled."""
    seen = [event for event in set_ups if event.read is not None]
    overruled = tuple((event.trial.trial_id, "; ".join(event.overruled)) for event in set_ups if event.overruled)
    if not seen and not overruled:
        return None
    errors = [error for event in seen for error in event.errors]
    position, orientation = (Spread.of(some) for some in zip(*errors, strict=True)) if errors else (None, None)
    return Placing(len(seen), len(errors), position, orientation, overruled)
