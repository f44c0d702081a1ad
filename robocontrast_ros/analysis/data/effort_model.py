"""The effort of a session's set-ups in metres and seconds, by the session's own parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robocontrast_ros.domain import SetupMove
from robocontrast_ros.runs.events import SessionStarted
from robocontrast_ros.runs.recorded_session import RecordedSession
from robocontrast_ros.strategies.effort import MetresMoved, SecondsToMove


@dataclass(frozen=True)
class Effort:
    """An effort in both units: metres that objects were carried [m] and the time of a person [s]."""

    metres: float = 0.0
    seconds: float = 0.0

    def __add__(self, other: Effort) -> Effort:
        """Return the sum of both."""
        return Effort(self.metres + other.metres, self.seconds + other.seconds)

    def __truediv__(self, number: float) -> Effort:
        """Return one of so many equal shares."""
        return Effort(self.metres / number, self.seconds / number)

    def of(self, unit: str) -> float:
        """Return the effort in the unit ``m`` or ``s``."""
        return self.metres if unit == "m" else self.seconds


class EffortModel:
    """The effort of every set-up of a journal, in both units.

    Attributes:
        tolerance: distance and angle within which an object was not moved, as the session has them.
        store: place of the objects that were in no scene [m]; None if it is unknown.
        times: handling times of the person, as the session has them.
    """

    def __init__(self, started: SessionStarted | None) -> None:
        """Take the session's parameters; their defaults if the journal does not have them."""
        recorded = started.recorded if started else RecordedSession()
        self.tolerance, self.store, self.times = recorded.tolerance, recorded.store, recorded.handling_times
        self._metres = MetresMoved(self.store)
        self._seconds = SecondsToMove(self.times, self.store)

    def of(self, moves: Sequence[SetupMove], measured: float | None = None) -> Effort:
        """Return the effort of moves; the seconds are the measured ones [s], or the model's if there are none."""
        return Effort(self._metres.cost(moves), self._seconds.cost(moves, measured))
