"""Stamps to messages. The way back is ``messages.decoding.stamp_from_msg``."""

from __future__ import annotations

from robocontrast_ros.nodes.conversions.types import DOMAIN

time_to_msg = DOMAIN.time
