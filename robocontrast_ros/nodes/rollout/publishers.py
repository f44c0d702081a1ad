"""Who publishes a topic: that of the robot's state must have one source for each joint."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any

from rclpy.node import Node

APART = 1.0
"""Time for the messages of each publisher to come once another is there, and between two looks in an episode [s]."""

POLL = 0.05
"""How often a wait for them looks [s]."""

UNKNOWN = "_UNKNOWN_"
"""End of what a graph has for name and namespace of a node that it does not know yet."""


class Publishers:
    """The publishers of one topic of a robot's state.

    Arm and hand may publish their joints separately. Who sent a message is not known in all releases of rclpy: so two
    publishers are taken to be of different joints where messages of as many sets of joints come, with none in common.
    """

    def __init__(self, node: Node, topic: str) -> None:
        """Take the topic."""
        self._node, self._topic = node, topic
        self._known: frozenset[tuple[int, ...]] | None = None
        self._changed = self._looked = 0.0

    def look(self, groups: set[frozenset[str]], every: float = APART) -> str:
        """Say as ``rivals`` who publishes the same, without waiting, and at most once in a time [s]."""
        now = time.monotonic()
        if now - self._looked < every:
            return ""
        self._looked = now
        return self._problem(groups) or ""

    def rivals(self, groups: Callable[[], set[frozenset[str]]]) -> str:
        """Say which nodes publish the same joints, or the same odometry, and what to do; empty where none does.

        Args:
            groups: returns the joints of each kind of message that came; emptied when there are other publishers than
                before.
        """
        while (problem := self._problem(groups())) is None:
            time.sleep(POLL)
        return problem

    def _problem(self, groups: set[frozenset[str]]) -> str | None:
        """Return the problem, empty for none; None where it is too early to say."""
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
    """Return who publishes a topic, with type and quality of service; empty for nobody."""
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
