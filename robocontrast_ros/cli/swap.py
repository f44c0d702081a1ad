"""`robocontrast swap`: swap the policy of a running session, from its next trial on."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robocontrast_ros.cli.terminal import Console
from robocontrast_ros.configuration import load_record
from robocontrast_ros.configuration.files import find_file, is_path
from robocontrast_ros.runs.run_folder import RunFolder

if TYPE_CHECKING:
    from robocontrast_ros.runs.events import Event

REFUSED, ENDED = 1, 3
"""Exit codes: the old policy still serves; the session has ended."""

POLL = 0.1
"""Period of reading the journal [s]."""


def swap(
    run: Annotated[Path, typer.Argument(help="Run folder of a session that is running.")],
    policy: Annotated[
        str, typer.Argument(help="Name in config/policies/, or path of a .yaml file, on the policy server's machine.")
    ],
) -> None:
    """Swap the policy of a running session, from its next trial on.

    The old policy serves until the new one is loaded, warmed up and known to fit.
    Exit codes: 0 the new policy serves, 1 it was refused, 2 invalid input, 3 the session has ended.
    """
    from robocontrast_ros.cli.live import Follower
    from robocontrast_ros.cli.running import ask, graph_of

    folder, console = RunFolder.open(run), Console()
    wanted = _wanted(folder, policy)
    graph = graph_of(folder, "Evaluate without --fast to swap, or run a session for each policy.")
    follower = Follower(folder.journal)
    follower.new_events()
    code, answer = ask(graph, "swap_request", str(graph["episode_manager"]), wanted)
    console.say(answer, "error:" if code else "")
    if code:
        raise typer.Exit(code)
    while True:
        for event in follower.new_events():
            if (outcome := _outcome(event, wanted, console)) is not None:
                raise typer.Exit(outcome)
        time.sleep(POLL)


def _wanted(run: RunFolder, policy: str) -> str:
    """Return the policy's name or path for the policy server; it is not checked for a server on another machine."""
    from robocontrast_ros.sessions.schema import SessionParameters

    if load_record(SessionParameters, run.session_file).policy_server.external:
        return policy
    file = find_file("policies", policy, "command line", "policy", Path.cwd())
    return str(file) if is_path(policy) else policy


def _outcome(event: Event, wanted: str, console: Console) -> int | None:
    """Print the outcome and return the exit code if the event is the outcome of the request; else return None."""
    from robocontrast_ros.runs import events

    if isinstance(event, events.PolicyLoaded) and wanted in (event.file, Path(event.file).stem):
        console.say(f"{event.name} serves: {event.file}")
        return 0
    if isinstance(event, events.PolicyRefused) and event.policy == wanted:
        console.say(event.reason, "refused:")
        return REFUSED
    if isinstance(event, (events.SessionFinished, events.SessionInterrupted, events.ProcessDied)):
        console.say(event.detail, "the session has ended:")
        return ENDED
    return None
