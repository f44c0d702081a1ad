"""Start a session's processes, watch over them, and leave none behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from robocontrast_ros.configuration.disk import make_folder, writing
from robocontrast_ros.sessions.domain import die_with_parent
from robocontrast_ros.sessions.graph import NodeProcess
from robocontrast_ros.sessions.numerics import pin

LEADER = "episode_manager"
"""The process whose end is the session's end."""

GRACE = 8.0
"""Time for a process to end after a signal, before the next, harder one [s]."""

_PREFIX = re.compile(r"^\[(?:DEBUG|INFO|WARN|ERROR|FATAL)\] \[[\d.]+\] \[[^\]]*\]: ")
"""What ROS puts before what a node says: level, time and the node's name."""


class ProcessDied(Exception):
    """A process ended that should not have.

    Attributes:
        process: its name.
        exit_code: negative for the number of a signal.
        detail: what happened, in words, with the last line of its log.
    """

    def __init__(self, process: str, exit_code: int, last_line: str) -> None:
        """Say which process ended, and how."""
        self.process, self.exit_code = process, exit_code
        self.detail = f"process '{process}' {describe_exit(exit_code)}" + (
            f": {last_line}" if last_line else ""
        )
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
    ) -> None:
        """Start every process.

        Args:
            commands: name -> what to run.
            logs: folder for the log files.
            environment: of all of them.
            leader: the one whose end is the session's end; where it is none of them, they are only stopped.

        Raises:
            DiskError: the logs cannot be written; no process is left.
        """
        make_folder(logs)
        self._logs, self.leader = logs, leader
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._log_begins: dict[str, int] = {}
        try:
            for name, command in commands.items():
                self._begin(name, command, environment)
        except BaseException:
            self.stop()
            raise

    def _begin(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> None:
        log = self._logs / f"{name}.log"
        with writing(log):
            output = open(log, "ab")  # noqa: SIM115
        with output:
            # A session that goes on appends to the logs of the one before.
            self._log_begins[name] = output.tell()
            self._processes[name] = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                # Ctrl-C in the terminal is for us alone: we stop the processes in order.
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
                if process.poll() is not None:
                    raise ProcessDied(name, process.returncode, self.last_line(name))
            time.sleep(0.05)

    def last_line(self, name: str) -> str:
        """Return the last line that a process said, with the indented ones that go on with it; empty where none.

        What ROS puts before it is left out.
        """
        said = (self._logs / f"{name}.log").read_bytes()[self._log_begins[name] :]
        text = said.decode(errors="replace")
        lines = [line.rstrip() for line in text.splitlines() if line.strip()]
        first = len(lines) - 1
        while first > 0 and lines[first].startswith("  "):
            first -= 1
        return _PREFIX.sub("", "\n".join(lines[first:]).strip()) if lines else ""

    def stop(self, poll: Callable[[], None] = lambda: None) -> None:
        """End every process: the leader first, which still needs the others to stop the robot."""
        for names in ([self.leader], [name for name in self._processes if name != self.leader]):
            group = [self._processes[name] for name in names if name in self._processes]
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
                for process in group:
                    if process.poll() is None:
                        process.send_signal(number)
                if _all_ended(group, GRACE, poll):
                    break


def start_nodes(
    nodes: Sequence[NodeProcess], parameters: Path, logs: Path, domain: int, elsewhere: bool = False
) -> Processes:
    """Write the parameter files of a graph's nodes and start every node.

    Args:
        nodes: what to start.
        parameters: folder for the ROS parameter files.
        logs: folder for the log files.
        domain: ROS domain of the graph.
        elsewhere: whether a node of it may be on another machine.

    Raises:
        DiskError: parameters or logs cannot be written; no process is left.
    """
    make_folder(parameters)
    commands = {
        node.name: node_command(node.name, "--params-file", str(node.write_parameters(parameters)))
        for node in nodes
    }
    return Processes(commands, logs, node_environment(domain, elsewhere))


def node_environment(domain: int, elsewhere: bool = False) -> dict[str, str]:
    """Return the environment of node processes: ROS's paths found, the graph kept on this machine.

    Args:
        domain: ROS domain of the graph.
        elsewhere: whether nodes of other machines in the same network are to be found, too. Who sets
            ROS_AUTOMATIC_DISCOVERY_RANGE decides that alone.
    """
    environment = quiet_environment()
    environment["ROS_DOMAIN_ID"] = str(domain)
    environment.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET" if elsewhere else "LOCALHOST")
    prefixes = environment.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    if sys.prefix not in prefixes:
        environment["AMENT_PREFIX_PATH"] = os.pathsep.join([sys.prefix, *filter(None, prefixes)])
    return environment


def quiet_environment() -> dict[str, str]:
    """Return the environment of every process of a session: numeric libraries pinned, and logs as they are written."""
    environment = dict(os.environ)
    pin(environment)
    environment["PYTHONUNBUFFERED"] = "1"
    return environment


def node_command(name: str, *ros_arguments: str) -> list[str]:
    """Return the command that runs a node of ours."""
    main = f"from robocontrast_ros.nodes.{name}_node import main; main()"
    return [sys.executable, "-c", main, "--ros-args", *ros_arguments]


def _all_ended(group: Sequence[subprocess.Popen[bytes]], timeout: float, poll: Callable[[], None]) -> bool:
    deadline = time.monotonic() + timeout
    while any(process.poll() is None for process in group):
        if time.monotonic() > deadline:
            return False
        poll()
        time.sleep(0.02)
    return True
