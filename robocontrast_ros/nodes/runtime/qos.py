"""Quality of service by purpose, in one place."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

from robocontrast_ros.bags.recorder_lag import history_depth


def _reliable(depth: int, durability: DurabilityPolicy = DurabilityPolicy.VOLATILE) -> QoSProfile:
    return QoSProfile(
        reliability=ReliabilityPolicy.RELIABLE,
        durability=durability,
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
    )


def recorded(size: int) -> QoSProfile:
    """Return the quality of a publisher on a recorded topic, for messages of a size [byte].

    A publisher that keeps the last messages never waits for a subscriber. A subscriber that is behind by more than the
    depth loses messages, so the depth is large, and rollout waits for a recorder that is too far behind. Any other
    subscriber, for instance in a second terminal, loses only its own messages.
    """
    return _reliable(history_depth(size))


RECORDED = recorded(1000)
"""Publishers of sensors, scenes and scores, whose messages are smaller than images."""

LOCKSTEP = _reliable(10)
"""Subscriptions to sensors, scenes and scores: the next message is published after the last one was taken."""

LATCHED = _reliable(1, DurabilityPolicy.TRANSIENT_LOCAL)
"""State that a late subscriber must still receive: the present trial, the session's status.

The last message is also enough for the recorder: the next trial is published after the recording of this one.
"""

STATE = _reliable(1)
"""A heartbeat, of which only the newest counts."""
