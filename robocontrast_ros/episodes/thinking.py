"""An added delay of a policy: its answer is there, and is not used before a later time of the world."""

from __future__ import annotations

from collections.abc import Callable

from robocontrast_ros.domain import nanoseconds
from robocontrast_ros.episodes.ports import PendingAnswer
from robocontrast_ros.policies.protocol import PolicyFault
from robocontrast_ros.policies.serving.runner import Answer

ROUNDING = 1_000
"""Accuracy of delays and of the periods of control steps [ns]."""


class ThoughtOver:
    """An answer that counts as given some time after the observation that it answers."""

    def __init__(self, pending: PendingAnswer, asked: int, delay: Callable[[float], float]) -> None:
        """Take the answer, the observation's stamp [ns], and the function from the time taken [s] to the delay [s]."""
        self._pending, self._asked, self._delay = pending, asked, delay
        self._answer: Answer | PolicyFault | None = None
        self._due = 0

    def arrived(self, timeout: float) -> bool:
        """Wait up to a time [s], and return whether the policy itself has answered."""
        return self._answer is not None or self._pending.arrived(timeout)

    def due(self, now: int) -> bool:
        """Return whether the answer counts as given at a time of the world [ns]; a policy's failure counts at once."""
        if self._answer is None:
            try:
                self._answer = self._pending.result()
                self._due = self._asked + nanoseconds(self._delay(self._answer.latency))
            except PolicyFault as error:
                self._answer, self._due = error, self._asked
        return now >= self._due - ROUNDING

    def result(self) -> Answer:
        """Return the answer, however early; see ``PendingAnswer``."""
        self.due(self._asked)
        if isinstance(self._answer, PolicyFault):
            raise self._answer
        return self._answer
