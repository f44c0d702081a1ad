"""Pacing of an episode: a simulator is stepped, or the wall clock waited for."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from robocontrast_ros.episodes.ports import PendingAnswer


class Lockstep:
    """The world waits: each control period is asked for.

    Attributes:
        steps_world, errors: see ``ports.NamedPacer``.
    """

    steps_world = True
    errors: Sequence[float] = ()

    def __init__(self, period: float, step: Callable[[], None]) -> None:
        """Take the control period [s] and the function that lets the world go on by one."""
        self._step = step

    def begin(self) -> None:
        """Do nothing: the world waits."""

    def step(self) -> None:
        """Let one control period of the world pass."""
        self._step()

    def answered(self, pending: PendingAnswer, wait: bool) -> bool:
        """Return true: the world waits for the policy."""
        return True


class WallClock:
    """The world goes on by itself: control steps follow each other at the control rate, by the steady clock.

    A control step that took longer than its period is followed by the next at once, and the following ones keep their
    distance from that: lost time is not caught up, because that would be faster than the control rate.

    Attributes:
        steps_world, errors: see ``ports.NamedPacer``.
    """

    steps_world = False

    def __init__(
        self,
        period: float,
        step: Callable[[], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Take the control period [s]; ``step`` is not used, ``clock`` is in seconds."""
        self._period, self._clock, self._sleep = period, clock, sleep
        self.begin()

    def begin(self) -> None:
        """Begin a control period now."""
        self._due = self._began = self._clock()
        self.errors: list[float] = []

    def step(self) -> None:
        """Wait for the end of the present control period."""
        self._due = max(self._due + self._period, self._clock())
        while (left := self._due - self._clock()) > 0.0:
            self._sleep(left)
        now = self._clock()
        self.errors.append(now - self._began - self._period)
        self._began = now

    def answered(self, pending: PendingAnswer, wait: bool) -> bool:
        """Return whether an answer is there; wait for it until the present control period ends at the latest."""
        left = max(self._due + self._period - self._clock(), 0.0)
        return pending.arrived(left if wait else 0.0)
