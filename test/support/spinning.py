"""A node for tests that is served while the test waits for something."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import rclpy
from rclpy.node import Node

from robocontrast_ros.nodes.runtime.executor import LockstepExecutor


@contextmanager
def spun_node(name: str) -> Iterator[Node]:
    """Spin a node of its own ROS context on a thread; at the end its executor must end, too."""
    context = rclpy.Context()
    rclpy.init(context=context)
    node = Node(name, context=context)
    executor = LockstepExecutor(context=context)
    executor.add_node(node)
    thread = threading.Thread(target=executor.spin, daemon=True)
    thread.start()
    try:
        yield node
    finally:
        executor.shutdown(timeout_sec=2.0)
        thread.join(timeout=60.0)
        assert not thread.is_alive(), "the executor ends when it is shut down"
        # An action server that is only dropped stays in the graph, and with it what nobody can use any more.
        for waitable in list(node.waitables):
            waitable.destroy()
        node.destroy_node()
        rclpy.shutdown(context=context)
