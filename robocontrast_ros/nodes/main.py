"""Start and end of every node process, so that all of them behave alike."""

from __future__ import annotations

import sys
from collections.abc import Callable

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node

from robocontrast_ros.configuration import ConfigurationError


def run_node(make: Callable[[], Node]) -> None:
    """Initialise ROS, make the node, spin until it is told to end, and exit.

    Ends the process with code 2 and one line on a mistake in the parameters, else with 0; SIGINT and
    SIGTERM are the ordinary end. A node with ``on_end()`` is told before its handles go.
    """
    rclpy.init()
    try:
        node = make()
    except ConfigurationError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        rclpy.try_shutdown()
        raise SystemExit(2) from None
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    try:
        executor.spin()
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        on_end = getattr(node, "on_end", None)
        if on_end is not None:
            on_end()
        executor.shutdown(timeout_sec=1.0)
        node.destroy_node()
        rclpy.try_shutdown()
