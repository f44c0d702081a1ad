"""Start, watch and stop a session's processes."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from robocontrast_ros.graph.description import NodeProcess
from robocontrast_ros.graph.environment import node_environment
from robocontrast_ros.graph.names import LEADER, NO_LOG_FILES
from robocontrast_ros.system.disk import make_folder, writing
from robocontrast_ros.system.forking import Forked, ForkServer, forkable
from robocontrast_ros.system.processes import die_with_parent
from robocontrast_ros.system.starting import starting

GRACE = 8.0
"""Time for a process to end after a signal, before the next, stronger signal is sent [s]."""

_PREFIX = re.compile(r"^(?:\[(?:DEBUG|INFO|WARN|ERROR|FATAL)\] \[[\d.]+\] \[[^\]]*\]: |error: )")
"""Prefix of a log line: level, time and node name from ROS; "error:" from a process without ROS."""

_ROUTINE = re.compile(r"^\[(?:DEBUG|INFO)\] ")
"""Start of an informational line, which gives no reason for the end of a node."""


class ProcessDied(Exception):
    """A process ended unexpectedly.

    Attributes:
        process: its name.
        exit_code: exit code; the negative number of the signal if one killed it.
        detail: the end of the process, in words, with the last line of its log.
    """

    def __init__(self, process: str, exit_code: int, last_line: str) -> None:
        """Make the words from the name, the exit code and the log's last line."""
        self.process, self.exit_code = process, exit_code
        self.detail = f"process '{process}' {describe_exit(exit_code)}" + (f": {last_line}" if last_line else "")
        super().__init__(self.detail)


def describe_exit(code: int) -> str:
    """Return the end of a process, in words."""
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


class Processes:
    """The processes of one session, each with a log file; one of them leads."""

    def __init__(
        self,
        commands: Mapping[str, Sequence[str]],
        logs: Path,
        environment: Mapping[str, str],
        leader: str = LEADER,
        server: ForkServer | None = None,
    ) -> None:
        """Start every process.

        Args:
            commands: name -> command.
            logs: folder for the log files.
            environment: of all of them.
            leader: the process whose end is the session's end.
            server: forks the processes that it can run; None if each process is a new interpreter.

        Raises:
            DiskError: the logs cannot be written; no process is left.
        """
        make_folder(logs)
        self.leader = leader
        self._server = server
        self._processes: dict[str, subprocess.Popen[bytes] | Forked] = {}
        self._logs_read: dict[str, BinaryIO] = {}
        try:
            for name, command in commands.items():
                self._begin(name, logs / f"{name}.log", command, environment)
        except BaseException:
            self.stop()
            raise

    def _begin(self, name: str, log: Path, command: Sequence[str], environment: Mapping[str, str]) -> None:
        with writing(log):
            output = open(log, "ab")  # noqa: SIM115
        with output:
            # The log is held open, so that it can be read even if it has been moved. Reading begins at its present
            # end, because a resumed session appends to its logs.
            self._logs_read[name] = said = open(log, "rb")  # noqa: SIM115
            said.seek(0, os.SEEK_END)
            if self._server is not None and forkable(command):
                # If the server is gone, the process is a new interpreter.
                with contextlib.suppress(OSError):
                    self._processes[name] = self._server.start(command, environment, output.fileno())
                    return
            self._processes[name] = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                # Ctrl-C in the terminal then reaches only this process, which stops the others in order.
                start_new_session=True,
                preexec_fn=die_with_parent,
            )

    def watch(self, poll: Callable[[], None]) -> int:
        """Return the leader's exit code when it ends; ``poll`` is called while waiting.

        Raises:
            ProcessDied: another node ended before, or the leader was killed.
        """
        while True:
            poll()
            code = self._processes[self.leader].poll()
            if code is not None and code >= 0:
                return code
            for name, process in self._processes.items():
                if process.poll() is None:
                    continue
                if self._leader_ends(process.returncode, poll):
                    break
                raise ProcessDied(name, process.returncode, self.last_line(name))
            time.sleep(0.05)

    def _leader_ends(self, code: int, poll: Callable[[], None]) -> bool:
        """Return whether another node ended, with exit code 0, because the leader's node ended just before.

        The leader's process ends a little later than its node.
        """
        return code == 0 and _all_ended([self._processes[self.leader]], GRACE, poll)

    def last_line(self, name: str) -> str:
        """Return the last line of a process's log, with the indented lines that continue it; empty if there is none.

        The prefix is removed. Informational lines are left out, because they give no reason for an end.
        """
        log = self._logs_read[name]
        begin = log.tell()
        text = log.read().decode(errors="replace")
        log.seek(begin)
        lines = [line.rstrip() for line in text.splitlines() if line.strip() and not _ROUTINE.match(line)]
        first = len(lines) - 1
        while first > 0 and lines[first].startswith("  "):
            first -= 1
        return _PREFIX.sub("", "\n".join(lines[first:]).strip()) if lines else ""

    def stop(self, poll: Callable[[], None] = lambda: None) -> None:
        """End every process and close the logs. The leader ends first: it needs the others to stop the robot."""
        leader = [process for name, process in self._processes.items() if name == self.leader]
        others = [process for name, process in self._processes.items() if name != self.leader]
        # On SIGINT the leader cancels the episode and has the bag closed; on SIGQUIT it ends without that.
        _stop(leader, {signal.SIGINT: 2 * GRACE, signal.SIGQUIT: GRACE, signal.SIGKILL: GRACE}, poll)
        # If the leader was killed, the others may wait for it for some time: SIGQUIT ends that.
        _stop(others, {signal.SIGINT: 1.0, signal.SIGQUIT: GRACE, signal.SIGKILL: GRACE}, poll)
        for log in self._logs_read.values():
            log.close()


def start_nodes(
    processes: Sequence[NodeProcess],
    parameters: Path,
    logs: Path,
    domain: int,
    elsewhere: bool = False,
    namespace: str = "",
    server: ForkServer | None = None,
) -> Processes:
    """Write the parameter files of a graph's nodes and start every node.

    Args:
        processes: the nodes to start.
        parameters: folder for the ROS parameter files.
        logs: folder for the log files.
        domain: ROS domain of the graph.
        elsewhere: whether a node of it may be on another machine.
        namespace: of all nodes, without a slash at either end; empty for the root.
        server: see ``Processes``.

    Raises:
        DiskError: parameters or logs cannot be written; no process is left.
    """
    make_folder(parameters)
    commands = {}
    for process in processes:
        file = str(process.write_parameters(parameters, namespace))
        words = *in_namespace(namespace), "--params-file", file
        commands[process.name] = node_command(process.name, *words, arguments=process.arguments)
    return Processes(commands, logs, node_environment(domain, elsewhere), server=server)


def node_command(name: str, *ros_arguments: str, arguments: Sequence[str] = ()) -> list[str]:
    """Return the command that runs one of our nodes, with its own arguments and with those of ROS.

    The node logs only to its output, not to ROS's log files.
    """
    main = starting(f"robocontrast_ros.nodes.{name}_node", "main")
    return [sys.executable, "-c", main, *arguments, *NO_LOG_FILES, *ros_arguments]


def in_namespace(namespace: str) -> list[str]:
    """Return the ROS arguments that put a process's nodes into a namespace; none for the root."""
    return ["-r", f"__ns:=/{namespace}"] if namespace else []


def _stop(
    group: Sequence[subprocess.Popen[bytes] | Forked], signals: Mapping[int, float], poll: Callable[[], None]
) -> None:
    """Send processes one signal after the other, each with its time [s], until all have ended."""
    for number, timeout in signals.items():
        for process in group:
            if process.poll() is None:
                process.send_signal(number)
        if _all_ended(group, timeout, poll):
            return


def _all_ended(group: Sequence[subprocess.Popen[bytes] | Forked], timeout: float, poll: Callable[[], None]) -> bool:
    deadline = time.monotonic() + timeout
    while any(process.poll() is None for process in group):
        if time.monotonic() > deadline:
            return False
        poll()
        time.sleep(0.02)
    return True
