"""The publishers of a topic: the robot's state must have one source for each joint."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any

from rclpy.node import Node

APART = 1.0
"""Time for messages of all publishers to come after a new one appears, and period of checks in an episode [s]."""

POLL = 0.05
"""Period of the checks in a wait for them [s]."""

UNKNOWN = "_UNKNOWN_"
"""End of the graph's placeholder for name and namespace of a node that it does not know yet."""


class Publishers:
    """The publishers of one topic of a robot's state.

    Arm and hand may publish their joints separately. Not all releases of rclpy report the sender of a message. So two
    publishers are taken to have different joints if messages of as many sets of joints come, without a common joint.
    """

    def __init__(self, node: Node, topic: str) -> None:
        """Take the topic."""
        self._node, self._topic = node, topic
        self._known: frozenset[tuple[int, ...]] | None = None
        self._changed = self._looked = 0.0

    def look(self, groups: set[frozenset[str]], every: float = APART) -> str:
        """Return the problem of ``rivals``, without waiting, and at most once in a time [s]."""
        now = time.monotonic()
        if now - self._looked < every:
            return ""
        self._looked = now
        return self._problem(groups) or ""

    def rivals(self, groups: Callable[[], set[frozenset[str]]]) -> str:
        """Return the nodes that publish the same joints, or the same odometry, and the cure; empty for none.

        Args:
            groups: returns the joints of each kind of message that came; emptied when the publishers change.
        """
        while (problem := self._problem(groups())) is None:
            time.sleep(POLL)
        return problem

    def _problem(self, groups: set[frozenset[str]]) -> str | None:
        """Return the problem, empty for none; None if it is too early to decide."""
        found = self._node.get_publishers_info_by_topic(self._topic)
        known = frozenset(tuple(each.endpoint_gid) for each in found)
        if known != self._known:
            if self._known is not None:
                groups.clear()
            self._known, self._changed = known, time.monotonic()
        if len(found) < 2 or (len(groups) >= len(found) and _disjoint(set(groups))):
            return ""
        if time.monotonic() - self._changed < APART:
            return None
        names = sorted(map(node_name, found))
        killed = " A node that was killed is listed for some 20 s." if len(set(names)) < len(names) else ""
        return (
            f"{self._node.resolve_topic_name(self._topic)} has {len(found)} publishers: {', '.join(names)}. One alone "
            "may say where a joint, or a base, is: end the others, or give their topic another name (a "
            f"joint_state_publisher beside the driver publishes zeros).{killed}"
        )


def offers(node: Node, topic: str) -> str:
    """Return the publishers of a topic, with type and quality of service, in words; empty for none."""
    found = node.get_publishers_info_by_topic(topic)
    each = (f"{node_name(one)} ({one.topic_type}, {one.qos_profile.reliability.name.lower()})" for one in found)
    return f"{node.resolve_topic_name(topic)} is published by {', '.join(sorted(each))}" if found else ""


def node_name(endpoint: Any) -> str:
    """Return the full name of a publisher's node."""
    name, namespace = endpoint.node_name, endpoint.node_namespace
    if not name or name.endswith(UNKNOWN):
        return "(a node whose name is not known)"
    return f"{namespace.rstrip('/')}/{name}"


def _disjoint(groups: AbstractSet[frozenset[str]]) -> bool:
    return all(not a & b for a, b in itertools.combinations(groups, 2))
