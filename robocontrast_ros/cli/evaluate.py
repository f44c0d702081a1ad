"""`robocontrast evaluate`: run or resume a session, and show its results."""

from __future__ import annotations

import shlex
import signal
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from robocontrast_ros.cli.options import (
    NamespaceOption,
    SessionArgument,
    refuse_unknown,
    session_option,
    takes_overrides,
)
from robocontrast_ros.cli.terminal import Console
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.configuration.files import known_names
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.sessions.overrides import OPTIONS, Overrides
from robocontrast_ros.system.disk import DiskError


@takes_overrides(*(name for name, option in OPTIONS.items() if option.help and name != "practice"))
def evaluate(
    session: SessionArgument = None,
    *,
    overrides: Overrides,
    namespace: NamespaceOption = "",
    practice: Annotated[bool, session_option("practice")] = False,
    resume: Annotated[Path | None, typer.Option(help="Run folder of a session to resume.")] = None,
) -> None:
    """Run an evaluation session in simulation and show its results.

    Nodes run as separate processes; with --fast the session is one process without ROS.
    Ctrl-C, SIGTERM and SIGHUP stop the robot and end cleanly.
    Exit codes: 0 done, 2 invalid input, 3 interrupted (can be resumed), 130 Ctrl-C, 143 SIGTERM, 129 SIGHUP.
    """
    overrides = replace(overrides, practice=practice or None)
    if resume is not None:
        _refuse_beside_resume(session, overrides)
        RunFolder.open(resume)
    elif session is None:
        expected = f"one of {', '.join(known_names('sessions'))}, or a .yaml file"
        raise ConfigurationError("command line", "SESSION", "nothing", expected)
    else:
        refuse_unknown(session, overrides)
    from robocontrast_ros.cli.ahead import GraphAhead

    # It is started first, because it takes longer than all the imports below.
    with closing(GraphAhead(namespace, fast=bool(overrides.fast))) as ahead:
        from robocontrast_ros.cli.session import run_session
        from robocontrast_ros.graph.launch import reopened
        from robocontrast_ros.sessions.resolving import resolve

        console = Console()
        folder, resolved = (None, resolve(session, overrides)) if resume is None else reopened(resume)
        run, code = run_session(resolved, folder, console, namespace, ahead)
    if run is not None:
        code = _show_results_of(run, code, console)
    raise typer.Exit(code)


def _refuse_beside_resume(session: str | None, overrides: Overrides) -> None:
    """Raise ConfigurationError if the command line gives a session or an option beside --resume."""
    values = {name: getattr(overrides, name) for name in OPTIONS}
    given = [f"--{name.replace('_', '-')}" for name, value in values.items() if value is not None]
    given += [f"--set {key}" for key in overrides.settings] + (["SESSION"] if session is not None else [])
    if given:
        cure = "A session is resumed with its own parameters."
        raise ConfigurationError("command line", "--resume", ", ".join(given), "nothing else", cure)


def _show_results_of(run: RunFolder, code: int, console: Console) -> int:
    """Show the results of a session, and return the exit code."""
    again = shlex.join(["robocontrast", "results", str(run.path)])
    if code in (128 + signal.SIGTERM, 128 + signal.SIGHUP):
        # A supervisor that sends these signals kills the process soon, so there is no time for results.
        console.say(f"Tables, figure and maps: {again}")
        return code
    # Tables and figures need large libraries; they are imported here, because they must not delay the session.
    from robocontrast_ros.cli.results import show_results

    try:
        show_results(run, console)
    except DiskError as error:
        print(f"error: {error} The journal is whole; tables, figure and maps: {again}", file=sys.stderr)
        return code or 3
    return code
