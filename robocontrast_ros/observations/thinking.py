"""Filters of the time from a policy's observation to its action: the world continues while the policy computes.

In lockstep the world waits for the policy, so that one which takes two seconds for an answer does as well as one that
takes two milliseconds. These filters show the same policy in a world that does not wait. Times are rounded up to whole
control steps: an answer counts from the first one that begins after its time.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from robocontrast_ros.policies.protocol import Observation

AMOUNTS = (0.1, 0.2, 0.4, 0.8, 1.6)
"""Time of an answer at each severity [s]."""


class _Thinking:
    plausible: ClassVar[bool] = True
    of_images: ClassVar[bool] = False
    delays_answers: ClassVar[bool] = True

    def __init__(self, severity: int, camera: str, rng: np.random.Generator) -> None:
        self._amount, self._rng = AMOUNTS[severity - 1], rng

    def apply(self, observation: Observation) -> Observation:
        """Return the observation unchanged: it shows the world at its own time."""
        return observation


class ThinkingTime(_Thinking):
    """Every answer takes the same time."""

    seconds: ClassVar[tuple[float, ...]] = AMOUNTS
    description: ClassVar[str] = "the world goes on while the policy thinks"
    levels: ClassVar[tuple[str, ...]] = tuple(f"{amount:g} s" for amount in AMOUNTS)

    def delay(self, latency: float) -> float:
        """Return the severity's time [s]."""
        return self._amount


class DrawnThinkingTime(_Thinking):
    """The time of each answer is drawn: lognormal, with the severity's time as its median and half a unit of log width.

    One answer in twenty then takes 2.3 times the median or longer, as on a shared GPU or network.
    """

    seconds: ClassVar[tuple[float, ...]] = AMOUNTS
    description: ClassVar[str] = "the world goes on while the policy thinks, for a time that is drawn"
    levels: ClassVar[tuple[str, ...]] = tuple(f"median {amount:g} s" for amount in AMOUNTS)

    def delay(self, latency: float) -> float:
        """Return a time that is drawn [s]."""
        return float(self._amount * np.exp(0.5 * self._rng.normal()))


class MeasuredThinkingTime(_Thinking):
    """Each answer takes as long as it took on this machine; the trials are then no more reproducible than that time."""

    description: ClassVar[str] = "the world goes on while the policy thinks, for as long as it took"
    levels: ClassVar[tuple[str, ...]] = ("as measured",)

    def delay(self, latency: float) -> float:
        """Return the time that it took [s]."""
        return latency
