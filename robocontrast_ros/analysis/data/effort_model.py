"""The effort of a session's set-ups in metres and seconds, by the session's own parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from robocontrast_ros.domain import SetupMove
from robocontrast_ros.runs.events import SessionStarted
from robocontrast_ros.strategies.effort import (
    AnyTolerance,
    HandlingTimes,
    MetresMoved,
    SecondsToMove,
    Tolerance,
    Tolerances,
)


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
        """Return it in the unit ``m`` or ``s``."""
        return self.metres if unit == "m" else self.seconds


class EffortModel:
    """The effort of every set-up of a journal, in both units.

    Attributes:
        store: where objects stood that were in no scene [m]; None where it is not known.
        times: of the person, as the session has them.
    """

    def __init__(self, started: SessionStarted | None) -> None:
        """Take the session's parameters; their defaults where the journal names none."""
        session = started.parameters.get("session", {}) if started else {}
        self.tolerance = _tolerance(started.parameters if started else {})
        times = session.get("handling_times") or session.get("mover", {})  # its name in older journals
        store = started.parameters.get("task", {}).get("store") if started else None
        self.store = tuple(store) if store is not None else None
        self._metres = MetresMoved(self.store)
        self.times = HandlingTimes(**times)
        self._seconds = SecondsToMove(self.times, self.store)

    def of(self, moves: Sequence[SetupMove], measured: float | None = None) -> Effort:
        """Return the effort of moves; the seconds are the measured ones where there are."""
        return Effort(self._metres.cost(moves), self._seconds.cost(moves, measured))


def _tolerance(parameters: Mapping[str, Any]) -> AnyTolerance:
    """Return within what nothing was moved: the person's where one set up, else that of `setup`."""
    if (person := parameters.get("set_up_tolerances")) is not None:
        own = {model: Tolerance(**given) for model, given in person["own"].items()}
        return Tolerances(Tolerance(**person["usual"]), own, frozenset(person["fixed"]))
    setup = parameters.get("session", {}).get("setup", {})
    return Tolerance(setup.get("position_tolerance", 0.0), setup.get("orientation_tolerance", 0.0))
