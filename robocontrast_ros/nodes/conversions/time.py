"""Seconds to ROS time stamps and back."""

from __future__ import annotations

from builtin_interfaces.msg import Time

NANOSECONDS = 1_000_000_000


def time_to_msg(seconds: float) -> Time:
    """Return the stamp of a time [s], to the nanosecond."""
    total = round(seconds * NANOSECONDS)
    return Time(sec=total // NANOSECONDS, nanosec=total % NANOSECONDS)


def stamp_ns(stamp: Time) -> int:
    """Return a stamp in nanoseconds: exact, so it is what stamps are compared by."""
    return stamp.sec * NANOSECONDS + stamp.nanosec


def seconds(stamp: Time) -> float:
    """Return a stamp in seconds."""
    return stamp_ns(stamp) / NANOSECONDS
