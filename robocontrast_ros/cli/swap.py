"""`robocontrast swap`: swap the policy of a running session, from its next trial on."""

from __future__ import annotations

import time
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from robocontrast_ros.cli.live import Follower
from robocontrast_ros.cli.running import ask, graph_of
from robocontrast_ros.configuration import load_record
from robocontrast_ros.configuration.files import find_file, is_path
from robocontrast_ros.runs.events import (
    Event,
    PolicyLoaded,
    PolicyRefused,
    ProcessDied,
    SessionFinished,
    SessionInterrupted,
)
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.sessions.schema import SessionParameters

REFUSED, ENDED = 1, 3
"""Exit codes: the old policy still serves; the session has ended."""

POLL = 0.1
"""Period of reading the journal [s]."""


def swap_policy(folder: Path, policy: str, console: Console) -> int:
    """Request another policy of a running session, wait for the outcome, and return the exit code.

    Raises:
        ConfigurationError: the folder is not that of a running session, or there is no such policy.
    """
    run = RunFolder.open(folder)
    wanted = _wanted(run, policy)
    graph = graph_of(run, "Evaluate without --fast to swap, or run a session for each policy.")
    follower = Follower(run.journal)
    follower.new_events()
    code, answer = ask(graph, "swap_request", str(graph["episode_manager"]), wanted)
    if code:
        console.print(f"[red]error:[/] {escape(answer)}", markup=True, highlight=False, soft_wrap=True)
        return code
    console.print(answer, highlight=False, soft_wrap=True)
    while True:
        for event in follower.new_events():
            code = _outcome(event, wanted, console)
            if code is not None:
                return code
        time.sleep(POLL)


def _wanted(run: RunFolder, policy: str) -> str:
    """Return the policy as the policy server finds it; on another machine the name is not checked."""
    if load_record(SessionParameters, run.session_file).policy_server.external:
        return policy
    file = find_file("policies", policy, "command line", "policy", Path.cwd())
    return str(file) if is_path(policy) else policy


def _outcome(event: Event, wanted: str, console: Console) -> int | None:
    """Return the exit code when an event tells the outcome of the request; else None."""
    if isinstance(event, PolicyLoaded) and wanted in (event.file, Path(event.file).stem):
        console.print(f"{event.name} serves: {event.file}", highlight=False, soft_wrap=True)
        return 0
    if isinstance(event, PolicyRefused) and event.policy == wanted:
        console.print(f"[red]refused:[/] {escape(event.reason)}", markup=True, highlight=False, soft_wrap=True)
        return REFUSED
    if isinstance(event, (SessionFinished, SessionInterrupted, ProcessDied)):
        ended = f"[red]the session has ended:[/] {escape(event.detail)}"
        console.print(ended, markup=True, highlight=False, soft_wrap=True)
        return ENDED
    return None
