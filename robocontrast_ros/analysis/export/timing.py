"""Images of a trial at a constant rate, so that a video takes as long as the trial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from robocontrast_ros.domain import NANOSECONDS

FASTEST, SLOWEST = 240, Fraction(1, 10)
"""Greatest and least rate of a camera, by its stamps, that is believed [Hz]."""

ASSUMED = Fraction(10)
"""Rate of a video whose images do not tell one [Hz]."""

FINEST = 1001
"""Greatest denominator of a rate, that of 30000/1001 Hz."""


@dataclass(frozen=True)
class Timing:
    """When each image is shown.

    Attributes:
        rate: frames in a second.
        order: of each frame, the number of its image.
        problem: what is wrong with the stamps, as the rest of a sentence; empty if nothing is.
    """

    rate: Fraction
    order: tuple[int, ...]
    problem: str = ""

    @property
    def seconds(self) -> float:
        """Duration of all frames [s]."""
        return float(len(self.order) / self.rate)


def at_constant_rate(stamps: Sequence[int], duration: float) -> Timing:
    """Return the frames of images: at the rate of the stamps, each the newest image of its time.

    The first image is at 0 s, the last stays until the trial ends. An image that comes late by less than half a period
    is shown in its own frame. Where stamps are not to be believed, images are spread evenly over the trial.

    Args:
        stamps: of the images [ns], one at least, in any order.
        duration: of the trial [s]; images may last longer.
    """
    order = np.argsort(np.asarray(stamps, dtype=np.int64), kind="stable")
    since = np.asarray(stamps, dtype=np.int64)[order] - min(stamps)
    steps = np.diff(since)
    steps = steps[steps > 0]
    # The median says how many periods there are, even if images were lost; all of them say how long one is.
    periods = round(float(since[-1]) / float(np.median(steps))) if steps.size else 0
    rate = Fraction(periods * NANOSECONDS, int(since[-1])).limit_denominator(FINEST) if periods else Fraction(0)
    believed = SLOWEST <= rate <= FASTEST and float(since[-1]) / NANOSECONDS <= 2.0 * duration + 5.0
    if not believed:
        return _spread(len(stamps), duration)
    period = NANOSECONDS / float(rate)
    count = round(max(float(since[-1]), duration * NANOSECONDS) / period) + 1
    newest = np.searchsorted(since, (np.arange(count) + 0.5) * period) - 1
    return Timing(rate, tuple(int(order[number]) for number in newest))


def _spread(images: int, duration: float) -> Timing:
    if images == 1:
        return Timing(ASSUMED, (0,) * (round(duration * ASSUMED) + 1), "one image, shown throughout")
    problem = "images without usable stamps, spread evenly over the trial"
    if duration <= 0.0:
        return Timing(ASSUMED, tuple(range(images)), problem)
    rate = Fraction((images - 1) / duration).limit_denominator(FINEST)
    rate = min(max(rate, Fraction(1)), Fraction(FASTEST))
    count = round(duration * rate) + 1
    return Timing(rate, tuple(round(place) for place in np.linspace(0, images - 1, count)), problem)
