"""Slowing of the robot from outside of a session: a speed slider, a mode in which it is held."""

from __future__ import annotations

import math
from typing import Literal

from robocontrast_ros.robots.drivers import OutsideLimit

SpeedScalingRule = Literal["void_when_lowered", "void_below_full", "mark"]
"""Rule for which trials of a slowed robot are void."""

TOLERANCE = 0.01
"""Share of full speed by which a robot may be slower and not count as slowed: readings of a slider differ by less."""


def share_of(limit: OutsideLimit, value: float) -> float:
    """Return the share of full speed that a value allows, 0 to 1; NaN if it has no meaning.

    A value that is not finite, or is negative, has none: drivers publish such values before they know.

    Args:
        limit: limit that the value belongs to.
        value: the published value.

    Raises:
        ValueError: it is greater than the value at full speed, so ``full`` in the robot's file is wrong.
    """
    if limit.full is None:
        return float(value in limit.free)
    share = value / limit.full
    if not math.isfinite(share) or share < 0.0:
        return math.nan
    if share > 1.0 + TOLERANCE:
        raise ValueError(
            f"{limit.topic} reports {value:g}, more than `full` ({limit.full:g}) of `driver.limits` in the robot's "
            "file: correct it; 100.0 for percent, 1.0 for a fraction"
        )
    return min(share, 1.0)


class SpeedScaling:
    """A session's rule for the share of full speed.

    Attributes:
        began: the share at which the session began, or the highest at the start of a trial since; NaN if unknown.
    """

    def __init__(self, rule: SpeedScalingRule) -> None:
        """Take the session's rule."""
        self._rule, self.began = rule, math.nan

    def starts(self, share: float) -> str:
        """Take the share at the start of a session or a trial; return the reason why none may begin, empty if it may.

        A robot that is held, a share of 0, is left to its port, which recovers it or refuses it.
        """
        if share == 0.0:
            return ""
        if reason := self.voids(share):
            return reason
        self.began = share if math.isnan(self.began) or share > self.began else self.began
        return ""

    def voids(self, share: float) -> str:
        """Return the reason why a trial with this lowest share is void; empty if it counts, or nothing is known."""
        if self._rule == "mark":
            return ""
        least, when = (1.0, "which `speed_scaling: void_below_full` demands")
        if self._rule == "void_when_lowered":
            least, when = self.began, "at which the session began"
        # Comparisons with NaN are false.
        if not share < least - TOLERANCE:
            return ""
        return (
            f"the robot was slowed from outside: {percent(share)} of full speed, less than the {percent(least)} {when}"
        )


def is_slowed(share: float | None) -> bool:
    """Return whether a share of full speed is known, and below full speed."""
    return share is not None and share < 1.0 - TOLERANCE


def percent(share: float) -> str:
    """Return a share in percent, for people."""
    return f"{100.0 * share:.3g} %"
