"""Seconds to ROS time stamps and back."""

from __future__ import annotations

from builtin_interfaces.msg import Time

from robocontrast_ros.messages.decoding import NANOSECONDS, stamp_from_msg
from robocontrast_ros.nodes.conversions.encoders import DOMAIN

time_to_msg = DOMAIN.time


def seconds(stamp: Time) -> float:
    """Return a stamp in seconds."""
    return stamp_from_msg(stamp) / NANOSECONDS
