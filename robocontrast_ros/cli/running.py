"""Requests of other commands to a running session."""

from __future__ import annotations

import contextlib
import shlex
import subprocess
import sys

from robocontrast_ros.configuration import ConfigurationError, load_record, read_yaml
from robocontrast_ros.graph.environment import node_environment
from robocontrast_ros.graph.ros_domain import check_ros
from robocontrast_ros.runs.events import SessionFinished
from robocontrast_ros.runs.journal import JournalError, read_journal
from robocontrast_ros.runs.run_folder import GRAPH_VARIABLES, RunFolder
from robocontrast_ros.sessions.schema import SessionParameters


def graph_of(run: RunFolder, cure: str) -> dict[str, object]:
    """Return the description of a session's graph: the episode manager, the host and the environment of discovery.

    Args:
        run: the run folder.
        cure: the error's cure if the session has no graph.

    Raises:
        ConfigurationError: the session has no graph, or is not running.
    """
    if load_record(SessionParameters, run.session_file).fast:
        raise ConfigurationError(
            "command line",
            "RUN",
            str(run.path),
            "the folder of a session that runs as a graph; a fast one keeps its policy, and moves no robot",
            cure,
        )
    if not run.graph.is_file():
        raise not_running(run)
    return read_yaml(run.graph)


def not_running(run: RunFolder) -> ConfigurationError:
    """Return the error for a session that is not running; its cure is a command for the run folder."""
    end = None
    # A session whose journal cannot be read must not keep `stop` from stopping the others.
    with contextlib.suppress(JournalError):
        end = read_journal(run.journal).end
    folder = shlex.quote(str(run.path))
    if isinstance(end, SessionFinished):
        cure = f"This one has finished; its results: robocontrast results {folder}"
    else:
        resume = f"Resume an interrupted one with: robocontrast evaluate --resume {folder}"
        cure = resume if end else f"If it is still starting, try again in some seconds. {resume}"
    return ConfigurationError("command line", "RUN", str(run.path), "the folder of a session that is running", cure)


def ask(graph: dict[str, object], request: str, *arguments: str) -> tuple[int, str]:
    """Run a module of ``nodes`` in the session's ROS environment; return its exit code and the last line it printed.

    Raises:
        ConfigurationError: it failed and printed no answer, because ROS does not run in this terminal's environment.
    """
    # The variables of ROS discovery come from the session, not from this terminal.
    present = node_environment(0)
    environment = {k: v for k, v in present.items() if k not in GRAPH_VARIABLES} | graph["environment"]
    main = f"from robocontrast_ros.nodes.{request} import main; main()"
    answer = subprocess.run(
        [sys.executable, "-c", main, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode and not answer.stdout.strip():
        check_ros(environment)
    lines = (answer.stdout.strip() or answer.stderr.strip()).splitlines()
    return answer.returncode, lines[-1] if lines else f"no answer from the session on {graph['host']}"
