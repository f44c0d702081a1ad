"""Stamps: the times of messages.

A stamp is an ``int`` of nanoseconds everywhere, as in builtin_interfaces/Time: a float of seconds has not enough digits
for a wall clock, so that a stamp would change. Two stamps are compared, and subtracted, as integers; the time between
them may be a float [s]. If any time will do, -1 is a time before the first stamp.
"""

from __future__ import annotations

NANOSECONDS = 1_000_000_000
"""Nanoseconds of one second."""


def nanoseconds(duration: float) -> int:
    """Return a duration [s] to the next nanosecond [ns]."""
    return round(duration * NANOSECONDS)


def seconds(duration: int) -> float:
    """Return a duration [ns], such as the difference of two stamps, in seconds."""
    return duration / NANOSECONDS


def stamp_text(stamp: int) -> str:
    """Return a stamp [ns] for a person, in seconds with three decimals."""
    return f"{seconds(stamp):.3f} s"
