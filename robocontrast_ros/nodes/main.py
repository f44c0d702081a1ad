"""Start and end of every node process, so that all of them behave alike."""

from __future__ import annotations

import sys
from collections.abc import Callable

import rclpy
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor, SingleThreadedExecutor
from rclpy.node import Node

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.sessions.bench import BenchFault


def run_node(make: Callable[[], Node], threads: int = 1) -> None:
    """Initialise ROS, make the node, spin until it is told to end, and exit.

    Ends the process with one line and code 2 on a mistake in the parameters, code 1 when another node
    that it needs from the start does not come up, else with 0; SIGINT and SIGTERM are the ordinary end. A node with ``on_end()`` is told before its handles go.

    Args:
        make: makes the node, with the parameters that ROS was started with.
        threads: more than one for a node with callbacks that wait for other nodes.
    """
    rclpy.init()
    try:
        node = make()
    except ConfigurationError as error:
        raise SystemExit(_refused(error, 2)) from None
    except BenchFault as error:
        raise SystemExit(_refused(error, 1)) from None
    executor = SingleThreadedExecutor() if threads == 1 else MultiThreadedExecutor(threads)
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


def _refused(error: Exception, code: int) -> int:
    print(f"error: {error}", file=sys.stderr, flush=True)
    rclpy.try_shutdown()
    return code
