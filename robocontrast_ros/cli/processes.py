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
"""Time for a process to end after a signal, before the next, harder one [s]."""

_PREFIX = re.compile(r"^(?:\[(?:DEBUG|INFO|WARN|ERROR|FATAL)\] \[[\d.]+\] \[[^\]]*\]: |error: )")
"""The prefix of ROS log lines, which is level, time and the node's name, and that of a process without ROS."""

_ROUTINE = re.compile(r"^\[(?:DEBUG|INFO)\] ")
"""Start of an informational line, which does not say why a node ended."""


class ProcessDied(Exception):
    """A process ended unexpectedly.

    Attributes:
        process: its name.
        exit_code: negative for the number of a signal.
        detail: what happened, in words, with the last line of its log.
    """

    def __init__(self, process: str, exit_code: int, last_line: str) -> None:
        """Name the process and how it ended."""
        self.process, self.exit_code = process, exit_code
        self.detail = f"process '{process}' {describe_exit(exit_code)}" + (f": {last_line}" if last_line else "")
        super().__init__(self.detail)


def describe_exit(code: int) -> str:
    """Return how a process ended, in words."""
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
            commands: name -> what to run.
            logs: folder for the log files.
            environment: of all of them.
            leader: the process whose end is the session's end.
            server: forks the processes that it can run; None where each is a new interpreter.

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
            # Held open: it is read wherever it is by then. A resumed session appends to its logs.
            self._logs_read[name] = said = open(log, "rb")  # noqa: SIM115
            said.seek(0, os.SEEK_END)
            if self._server is not None and forkable(command):
                # A server that is gone is no reason not to begin.
                with contextlib.suppress(OSError):
                    self._processes[name] = self._server.start(command, environment, output.fileno())
                    return
            self._processes[name] = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                # Ctrl-C in the terminal reaches this process only, which stops the others in order.
                start_new_session=True,
                preexec_fn=die_with_parent,
            )

    def watch(self, poll: Callable[[], None]) -> int:
        """Return the leader's exit code when it ends; ``poll`` is called in between.

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
        """Tell whether another node ended because the leader ends: its node is gone a little before its process."""
        return code == 0 and _all_ended([self._processes[self.leader]], GRACE, poll)

    def last_line(self, name: str) -> str:
        """Return the last line of a process's log, with the indented lines that continue it; empty where none.

        Without the prefix of ROS, and without informational lines, which give no reason for an end.
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
        """End every process: the leader first, which still needs the others to stop the robot. Logs are closed."""
        leader = [process for name, process in self._processes.items() if name == self.leader]
        others = [process for name, process in self._processes.items() if name != self.leader]
        # On SIGINT it cancels the episode and has the bag closed; on SIGQUIT it ends without that.
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
        processes: what to start.
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
    """Return the command that runs an executable of ours, with its own arguments and with ROS's.

    It logs to its output alone.
    """
    main = starting(f"robocontrast_ros.nodes.{name}_node", "main")
    return [sys.executable, "-c", main, *arguments, *NO_LOG_FILES, *ros_arguments]


def in_namespace(namespace: str) -> list[str]:
    """Return ROS's arguments that put a process's nodes into a namespace; none for the root."""
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
