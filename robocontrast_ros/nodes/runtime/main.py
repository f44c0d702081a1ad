"""Start and end of every node process, the same for all of them."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from typing import NoReturn

import rclpy
from rclpy.executors import Executor, ExternalShutdownException, MultiThreadedExecutor
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.graph.names import NO_SHARED_MEMORY
from robocontrast_ros.nodes.runtime.channel import NoAnswer
from robocontrast_ros.nodes.runtime.executor import lockstep_executor
from robocontrast_ros.nodes.runtime.intra_process import overdue
from robocontrast_ros.nodes.runtime.middleware import tune_middleware
from robocontrast_ros.runs.errors import JournalError
from robocontrast_ros.system.disk import DiskError
from robocontrast_ros.system.processes import die_with_parent
from robocontrast_ros.system.starting import end_at_once

POLL = 0.1
"""Period of the checks whether a node has to end [s]."""

ORDERLY = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
AT_ONCE = signal.SIGQUIT

SAME_REQUEST = 1.0
"""Time within which a further signal is the same request [s]."""

END_WITH_PARENT = "ROBOCONTRAST_END_WITH_PARENT"
"""Environment variable: id of the process that starts the node; when that process is gone, the node ends in order."""


def run_node(cls: type[Node]) -> None:
    """Run one node in this process until it must end, and exit; see ``run_nodes``."""
    run_nodes([cls])


def run_nodes(classes: Sequence[type[Node]]) -> None:
    """Initialise ROS, run nodes in this process until they must end, and exit.

    The process ends with one line and code 2 for a mistake in the parameters, or a session that is running already;
    code 3 if another node that is needed from the start does not come up, or the disk is full; code 1 if a service that
    was called by reference hangs; else with the last node's ``exit_code``, or 0.

    SIGINT, SIGTERM and SIGHUP request the ordinary end. ``interrupt()`` of a node that has it is called, and the
    process ends once its ``exit_code`` is set. A node of a session, which names the session's manager in its parameter
    ``leader``, goes on until the manager has ended: an interrupted launch interrupts all nodes at once, and the manager
    needs the others to stop the robot and to close the bag. Any other node ends at once, and every node ends at once at
    a second signal, or at SIGQUIT. ``on_end()`` of a node that has it is called before its handles are destroyed.

    Args:
        classes: classes of the nodes. The attribute ``threads``, if a class has it, is more than one for callbacks that
            wait for other nodes; ``pause`` is the time for which messages may wait to be taken together [s]. Each node
            is served before the next one is made.
    """
    tune_middleware(shared_memory=NO_SHARED_MEMORY not in sys.argv)
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    signals = _Signals()
    _end_with_parent()
    running: list[_Running] = []
    try:
        for cls in classes:
            if running:
                running[-1].spin_on_a_thread()
            running.append(_Running(cls()))
    except (ConfigurationError, JournalError) as error:
        refuse(cls.__module__, error, 2)
    except (BenchFault, DiskError) as error:
        refuse(cls.__module__, error, 3)
    except KeyboardInterrupt:
        end_at_once(0)
    signals.nodes_are_made()
    last = running[-1]
    try:
        while not signals.time_to_end([each.node for each in running]) and all(e.exit_code is None for e in running):
            last.executor.spin_once(timeout_sec=POLL)
            if last.pause:
                time.sleep(last.pause)
            if any(each.failed for each in running):
                break
            if overdue():
                # The process itself may have been stopped for a while.
                time.sleep(POLL)
                if service := overdue():
                    refuse(type(last.node).__module__, NoAnswer(f"'{service}' hangs, in this process"), 1)
    except ExternalShutdownException:
        pass
    finally:
        signals.ignore()
        for each in reversed(running):
            each.end()
        rclpy.try_shutdown()
    raise SystemExit(1 if any(each.failed for each in running) else last.exit_code or 0)


class _Running:
    """A node with its executor."""

    def __init__(self, node: Node) -> None:
        self.node, self._failed = node, False
        threads, self.pause = getattr(node, "threads", 1), getattr(node, "pause", 0.0)
        self.executor: Executor = lockstep_executor() if threads == 1 else MultiThreadedExecutor(threads)
        self.executor.add_node(node)
        self._thread: threading.Thread | None = None

    @property
    def failed(self) -> bool:
        return self._failed or getattr(self.node, "failed", False)

    @property
    def exit_code(self) -> int | None:
        return getattr(self.node, "exit_code", None)

    def spin_on_a_thread(self) -> None:
        self._thread = threading.Thread(target=self._spin, name=self.node.get_name(), daemon=True)
        self._thread.start()

    def _spin(self) -> None:
        try:
            self.executor.spin()
        except ExternalShutdownException:
            pass
        except BaseException:
            self._failed = True
            raise

    def end(self) -> None:
        on_end = getattr(self.node, "on_end", None)
        if on_end is not None:
            on_end()
        self.executor.shutdown(timeout_sec=1.0)
        if self._thread is not None:
            self._thread.join(timeout=1.0)
        self.node.destroy_node()


class _Signals:
    """The received signals, and the decision when the process has to end."""

    def __init__(self) -> None:
        self._first: float | None = None
        self._at_once, self._interrupted, self._made = False, False, False
        for number in (*ORDERLY, AT_ONCE):
            signal.signal(number, self._handle)

    def nodes_are_made(self) -> None:
        """Let later signals end the process in order, not at once."""
        self._made = True

    def ignore(self) -> None:
        """Ignore further signals: they must not change the exit code of a process that is ending."""
        for number in (*ORDERLY, AT_ONCE):
            signal.signal(number, signal.SIG_IGN)

    def time_to_end(self, nodes: list[Node]) -> bool:
        """Return whether the process must end now; after the first signal, interrupt the nodes."""
        if self._first is None:
            return False
        interruptible = [node for node in nodes if hasattr(node, "interrupt")]
        if not self._interrupted:
            self._interrupted = True
            for node in interruptible:
                node.interrupt()
        return self._at_once or not (interruptible or any(map(_has_leader, nodes)))

    def _handle(self, number: int, frame: object) -> None:
        now = time.monotonic()
        # One request may come twice: a closing terminal signals a node and its launcher, which also signals the node.
        again = self._first is not None and now > self._first + SAME_REQUEST
        self._first = self._first or now
        self._at_once |= again or number == AT_ONCE
        # A node whose constructor runs may be waiting for others that have ended already.
        if not self._made:
            raise KeyboardInterrupt


def _end_with_parent() -> None:
    """End in order when the process that started this one has ended, if that process wants it.

    `ros2 launch` does not end its nodes when it is killed, or gets SIGTERM.
    """
    parent = os.environ.get(END_WITH_PARENT)
    if not parent or sys.platform != "linux":
        return
    die_with_parent()
    try:
        os.kill(int(parent), 0)
    except ProcessLookupError:
        # The parent ended before the kernel watched it.
        end_at_once(0)
    except PermissionError:
        pass


def _has_leader(node: Node) -> bool:
    """Return whether the node serves a session whose manager is still running."""
    leader = node.get_parameter("leader").value if node.has_parameter("leader") else ""
    if not leader:
        return False
    namespace, _, name = node.resolve_service_name(leader).rpartition("/")
    return (name, namespace or "/") in node.get_node_names_and_namespaces()


def refuse(module: str, error: Exception, code: int) -> NoReturn:
    """Log why a node cannot start, as an error of that node, and end the process with a code.

    Args:
        module: module of the node, which has its name.
        error: the reason.
        code: exit code.
    """
    get_logger(module.rpartition(".")[2].removesuffix("_node")).fatal(str(error))
    end_at_once(code)
