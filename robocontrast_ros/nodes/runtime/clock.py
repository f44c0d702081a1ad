"""The clock of a node's stamps: the system's clock, or `/clock` if `use_sim_time` is true."""

from __future__ import annotations

import time

from rclpy.node import Node

from robocontrast_ros.domain import Fault
from robocontrast_ros.episodes.bench import BenchFault

POLL = 0.02
"""Period of the checks in a wait for the first time [s]."""


def now(node: Node, timeout: float) -> int:
    """Return the time in the clock of a node, which another thread serves [ns].

    Args:
        node: the node of the clock.
        timeout: limit of the wait for the first message on `/clock`, if `use_sim_time` is true [s].

    Raises:
        BenchFault: no message came on `/clock`.
    """
    end = time.monotonic() + timeout
    while not (stamp := node.get_clock().now().nanoseconds):
        # A clock that follows /clock is at 0 before the first message.
        if time.monotonic() > end:
            raise BenchFault(
                Fault.SIMULATOR_LOST,
                f"'{node.get_name()}' has `use_sim_time: true`, but nothing on /clock within {timeout:g} s; leave it "
                "false on a robot, and remap /clock where a simulator in a namespace publishes it",
            )
        time.sleep(POLL)
    return stamp
