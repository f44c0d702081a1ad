"""Search for sessions in a ROS domain, and check that nodes discover each other, before a session starts.

``robocontrast_ros.graph.ros_domain`` starts this process, for the command and for the launch file.
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
"""Period at which the discovered services are listed [s]."""

PARTICIPANTS, APART = 8, 0.1
"""Number of participants that search, and delay of each one after the one before [s].

If the first messages of a new participant are lost, as in one case of six, it discovers an existing one only with that
one's next announcement, which comes every 3 s. Another new participant does not have to wait for it.
"""

NOBODY = 10.0
"""Time limit for a participant to be discovered by another one of this process [s]."""

SERVICE, TYPE = "/swap_policy", "robocontrast_ros/srv/SwapPolicy"
"""A service that only a session's episode manager has."""


def main() -> None:
    """Print the results of ``search``, one a line; the arguments are those of ``search``."""
    seconds, wanted = sys.argv[1:]
    print("\n".join(search(float(seconds), wanted)), flush=True)


def search(seconds: float, wanted: str) -> list[str]:
    """Return the full names of the visible episode managers.

    Args:
        seconds: time of the search [s].
        wanted: the name that ends the search at once; empty for any.

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
    # If a participant does not leave in order, others wait for it for seconds, which slows down the next probe.
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
    """Return whether a participant has discovered a node of another one, each of which has this publisher."""
    return node.count_publishers("/parameter_events") > 1


def _managers(node: Node) -> list[str]:
    """Return the visible episode managers.

    They are found by a service and not by the names of nodes, which come in a later round of the discovery, up to 3 s
    later if a message is lost.
    """
    return [
        name.removesuffix(SERVICE)
        for name, types in node.get_service_names_and_types()
        # A service is also listed for its clients.
        if name.endswith(SERVICE) and TYPE in types and node.count_services(name) > 0
    ]
