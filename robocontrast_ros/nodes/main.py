"""Start and end of every node process, so that all of them behave alike."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import NoReturn

import rclpy
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.configuration.disk import DiskError
from robocontrast_ros.nodes.executor import lockstep_executor
from robocontrast_ros.sessions.bench import BenchFault
from robocontrast_ros.sessions.journal import JournalError

POLL = 0.1
"""How often a node is asked whether it is done [s]."""


def run_node(make: Callable[[], Node], threads: int = 1) -> None:
    """Initialise ROS, make the node, spin until it is told to end, and exit.

    Ends the process with one line and code 2 on a mistake in the parameters, or a session that is running
    already, code 3 when another node that it needs from the start does not come up, or the disk is full,
    else with 0. SIGINT and SIGTERM are the ordinary end:
    a node with ``interrupt()`` is asked to end its work, and the process ends, with the node's
    ``exit_code``, once that is set; any other node ends at once. A node with ``on_end()`` is told before
    its handles go.

    Args:
        make: makes the node, with the parameters that ROS was started with.
        threads: more than one for a node with callbacks that wait for other nodes.
    """
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    stop = _StopRequest()
    try:
        node = make()
    except (ConfigurationError, JournalError) as error:
        _refuse(make, error, 2)
    except (BenchFault, DiskError) as error:
        _refuse(make, error, 3)
    except KeyboardInterrupt:
        raise SystemExit(0) from None
    stop.interrupt = getattr(node, "interrupt", None)
    executor = lockstep_executor() if threads == 1 else MultiThreadedExecutor(threads)
    executor.add_node(node)
    try:
        while not stop.now and getattr(node, "exit_code", None) is None:
            executor.spin_once(timeout_sec=POLL)
    except ExternalShutdownException:
        pass
    finally:
        on_end = getattr(node, "on_end", None)
        if on_end is not None:
            on_end()
        executor.shutdown(timeout_sec=1.0)
        node.destroy_node()
        rclpy.try_shutdown()
    raise SystemExit(getattr(node, "exit_code", None) or 0)


class _StopRequest:
    """SIGINT and SIGTERM, turned into a flag or into the node's own way of ending."""

    def __init__(self) -> None:
        self.now = False
        self.interrupt: Callable[[], None] | None = None
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._handle)

    def _handle(self, number: int, frame: object) -> None:
        if self.interrupt is not None:
            self.interrupt()
        else:
            self.now = True


def _refuse(make: Callable[[], Node], error: Exception, code: int) -> NoReturn:
    """Say why as an error of the node, which may not be made, and end the process at once.

    What was made of the node has threads and handles. At an ordinary end they go in no certain order, and one process
    in some hundreds ended with a segmentation fault in place of its code.
    """
    # A node's module is named after it.
    name = make.__module__.rpartition(".")[2].removesuffix("_node")
    get_logger(name).fatal(str(error))
    sys.stdout.flush()
    os._exit(code)
