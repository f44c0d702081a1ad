"""Faults of a driver in words, with their cures."""

from __future__ import annotations

import importlib
import threading
import time
from enum import Enum
from typing import Any

from rclpy.node import Node
from rclpy.publisher import Publisher

from robocontrast_ros.domain import Fault
from robocontrast_ros.episodes.bench import BenchFault

HIDDEN = "/_action/"
"""Part between the name of an action and the names of its services and topics."""

POLL = 0.1
"""Period of the checks in a wait for discovery [s]."""


def robot_fault(detail: str) -> BenchFault:
    """Return the fault of a driver that refuses."""
    return BenchFault(Fault.ROBOT_FAULT, detail)


class Trouble:
    """The first problem since the last ``clear``; any thread may report one."""

    def __init__(self) -> None:
        """Start without a problem."""
        self._lock, self._detail = threading.Lock(), ""

    def report(self, detail: str) -> None:
        """Keep a problem, unless there is an earlier one."""
        with self._lock:
            self._detail = self._detail or detail

    def clear(self) -> str:
        """Return the problem and forget it; empty for none."""
        with self._lock:
            detail, self._detail = self._detail, ""
            return detail


def interface(type_name: str) -> Any:
    """Return the class of a type such as ``franka_msgs/action/Move``, of a package that only some robots need.

    Raises:
        BenchFault: the package is not installed.
    """
    package, kind, name = type_name.split("/")
    try:
        return getattr(importlib.import_module(f"{package}.{kind}"), name)
    except (ImportError, AttributeError):
        raise robot_fault(
            f"{type_name} is not installed: install the ROS package {package}, and source its workspace"
        ) from None


class Kind(Enum):
    """A kind of thing that a robot's file names and that may be missing; the value is the message."""

    TOPIC = "nobody publishes {}"
    INPUT = "nobody subscribes to {}"
    SERVICE = "the service {} is not there"
    ACTION = "the action {} is not there"


def absence(node: Node, name: str, kind: Kind) -> str:
    """Return the message for a missing topic, service or action, with those of the same last name, and the cure.

    Args:
        node: the node in whose namespace the name is resolved.
        name: the name in the robot's file.
        kind: its kind.
    """
    wanted, relative = node.resolve_topic_name(name), "/" + name.strip("/")
    missing = kind.value.format(wanted)
    others = [other for other in _names(node, kind) if other != wanted]
    moved = [other for other in others if other.endswith(relative)]
    alike = [other for other in others if other.rpartition("/")[2] == name.rpartition("/")[2]]
    if moved:
        where = moved[0].removesuffix(relative) or "/"
        cure = f"start the session in the namespace {where}, or correct the name in the robot's file"
        return f"{missing}; there is {_listed(moved)}: {cure}"
    if alike:
        return f"{missing}; there is {_listed(alike)}: correct the name in the robot's file"
    return f"{missing}: start the robot's driver, in the same ROS_DOMAIN_ID, or correct the name in the robot's file"


def await_subscriber(node: Node, topic: str, timeout: float) -> None:
    """Wait until a topic has a subscriber.

    Raises:
        BenchFault: ROBOT_FAULT, with similar names that exist instead.
    """
    deadline = time.monotonic() + timeout
    while not node.count_subscribers(topic):
        if time.monotonic() > deadline:
            raise robot_fault(absence(node, topic, Kind.INPUT))
        time.sleep(POLL)


def require_subscriber(publisher: Publisher, topic: str) -> None:
    """Refuse to take a stop as sent if the topic has no subscriber.

    Raises:
        BenchFault: ROBOT_FAULT; there is none.
    """
    if not publisher.get_subscription_count():
        raise robot_fault(f"nobody takes commands on {topic}")


def _names(node: Node, kind: Kind) -> list[str]:
    if kind in (Kind.TOPIC, Kind.INPUT):
        count = node.count_publishers if kind is Kind.TOPIC else node.count_subscribers
        return sorted(name for name, _ in node.get_topic_names_and_types() if HIDDEN not in name and count(name))
    parts = [name.partition(HIDDEN) for name, _ in node.get_service_names_and_types()]
    hidden = kind is Kind.ACTION
    return sorted({name for name, between, _ in parts if bool(between) is hidden})


def _listed(names: list[str]) -> str:
    return ", ".join(names[:4])
