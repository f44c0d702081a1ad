"""Seconds to ROS time stamps and back."""

from __future__ import annotations

from builtin_interfaces.msg import Time

from robocontrast_ros.messages.decoding import NANOSECONDS, stamp_from_msg


def time_to_msg(seconds: float) -> Time:
    """Return the stamp of a time [s], to the nanosecond."""
    total = round(seconds * NANOSECONDS)
    return Time(sec=total // NANOSECONDS, nanosec=total % NANOSECONDS)


def seconds(stamp: Time) -> float:
    """Return a stamp in seconds."""
    return stamp_from_msg(stamp) / NANOSECONDS
