"""Find the sessions of a ROS domain, and whether nodes discover each other: a process before those of a session.

``robocontrast_ros.graph.ros_domain`` starts it, for the command and for the launch file.
"""

from __future__ import annotations

import os
import sys
import time

import rclpy
from rclpy.context import Context
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from robocontrast_ros.graph.names import NO_LOG_FILES

POLL = 0.02
"""How often the discovered services are listed [s]."""

PARTICIPANTS, APART = 8, 0.1
"""How many participants search, and how long each one starts after the one before [s].

Where the first messages of a new participant are lost, as in one case of six, it discovers an existing one only with
that one's next announcement, which comes every 3 s. Another new participant does not have to wait for that.
"""

NOBODY = 10.0
"""Time after which a participant that no other of this process has discovered will not be [s]."""

SERVICE, TYPE = "/swap_policy", "robocontrast_ros/srv/SwapPolicy"
"""A service that each session's episode manager has, and nothing else."""


def main() -> None:
    """Print what ``search`` finds, one a line; the arguments are its own."""
    seconds, wanted = sys.argv[1:]
    print("\n".join(search(float(seconds), wanted)), flush=True)


def search(seconds: float, wanted: str) -> list[str]:
    """Return the full names of the episode managers that are visible.

    Args:
        seconds: how long to search [s].
        wanted: the name with which it ends at once; empty for any.

    Raises:
        SystemExit: no participant discovers another.
    """
    began, nodes, found = time.monotonic(), [_join(0)], set[str]()
    while not (wanted in found if wanted else found):
        passed = time.monotonic() - began
        if passed >= seconds:
            if any(map(_sees_another, nodes)):
                break
            if passed >= NOBODY:
                sys.exit("nodes of this machine do not discover each other")
        if len(nodes) < PARTICIPANTS and passed >= APART * len(nodes):
            nodes.append(_join(len(nodes)))
        time.sleep(POLL)
        found = {name for node in nodes for name in _managers(node)}
    # Others wait for seconds for a participant that does not leave in order, which slows down the next probe.
    for node in nodes:
        node.destroy_node()
        rclpy.try_shutdown(context=node.context)
    return sorted(found)


def _join(number: int) -> Node:
    """Return a hidden node in a participant of its own."""
    context = Context()
    rclpy.init(args=NO_LOG_FILES, context=context, signal_handler_options=SignalHandlerOptions.NO)
    return Node(
        f"_graph_probe_{os.getpid()}_{number}",
        context=context,
        enable_rosout=False,
        start_parameter_services=False,
    )


def _sees_another(node: Node) -> bool:
    """Tell whether a participant has discovered a node of another one, each of which has this publisher."""
    return node.count_publishers("/parameter_events") > 1


def _managers(node: Node) -> list[str]:
    """Return the episode managers that are visible.

    By a service and not by the names of nodes, which come in a later round of the discovery, up to 3 s later where a
    message is lost.
    """
    return [
        name.removesuffix(SERVICE)
        for name, types in node.get_service_names_and_types()
        # A service is listed for its clients, too.
        if name.endswith(SERVICE) and TYPE in types and node.count_services(name) > 0
    ]
