"""`robocontrast evaluate`: run a session, or go on with one, and show what came of it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from robocontrast_ros.cli import fast
from robocontrast_ros.cli.live import LiveView
from robocontrast_ros.cli.processes import Domain, ProcessDied, Processes, quiet_environment, start_nodes
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain.words import counted
from robocontrast_ros.sessions import events
from robocontrast_ros.sessions.graph import checked_namespace, processes_of
from robocontrast_ros.sessions.journal import JournalWriter, read_begun, read_journal
from robocontrast_ros.sessions.parameters import Overrides, ResolvedSession, resolve
from robocontrast_ros.sessions.plan import plan_session
from robocontrast_ros.sessions.policy_check import check_policy
from robocontrast_ros.sessions.run_folder import RunFolder

INTERRUPTED = 3
"""Exit code of a session that ended early and can be resumed."""

CONTROL_C = 130
"""Exit code after Ctrl-C, as shells expect it."""


def start(session: str, overrides: Overrides, console: Console, namespace: str = "") -> tuple[RunFolder, int]:
    """Run a new session and return its folder and the exit code.

    Raises:
        ConfigurationError: something does not fit; nothing was started.
    """
    resolved = resolve(session, overrides)
    _check(resolved)
    place = _namespace(resolved, namespace)
    return _run(resolved, RunFolder.create(resolved, time.time()), False, console, place)


def resume(run: Path, console: Console, namespace: str = "") -> tuple[RunFolder, int]:
    """Go on with a session and return its folder and the exit code.

    Raises:
        ConfigurationError: something no longer fits; nothing was started.
        JournalError: the journal is damaged, or no session was begun.
    """
    folder = RunFolder.open(run)
    read_begun(folder.journal)
    resolved = folder.resolve()
    _check(resolved)
    return _run(resolved, folder, True, console, _namespace(resolved, namespace))


def begun(run: RunFolder) -> bool:
    """Tell whether a session was begun in a run folder: whether its journal has an event.

    Raises:
        JournalError: the journal is damaged.
    """
    return run.journal.exists() and bool(read_journal(run.journal).events)


def _check(session: ResolvedSession) -> None:
    """Refuse, before anything is started, a policy that does not fit, or one elsewhere that could not be found.

    So is a run that the session cannot be compared with.
    """
    if session.parameters.fast and session.policy_file is None:
        raise ConfigurationError(
            str(session.source),
            "fast",
            True,
            "a `policy`, which is loaded in the session's own process; a policy server elsewhere needs the graph",
            "Name a policy, or leave `fast` (--fast) out.",
        )
    if session.parameters.policy_server.external and not os.environ.get("ROS_DOMAIN_ID"):
        raise ConfigurationError(
            "environment",
            "ROS_DOMAIN_ID",
            "nothing",
            "the ROS domain of the policy server",
            "`robocontrast serve` says which it is.",
        )
    check_policy(session)
    session.evaluation().stopping()


def _namespace(session: ResolvedSession, namespace: str) -> str:
    place = checked_namespace(namespace)
    if place and session.parameters.fast:
        raise ConfigurationError(
            "command line", "--namespace", namespace, "a graph of nodes; a fast session has none"
        )
    return place


def _run(
    session: ResolvedSession, run: RunFolder, resuming: bool, console: Console, namespace: str
) -> tuple[RunFolder, int]:
    with console.status("planning the session …"):
        plan = plan_session(session.evaluation())
    policy = session.policy_file.stem if session.policy_file else f"that of '{_server(session)}'"
    console.print(
        f"[bold]{session.parameters.name}[/]: {session.parameters.strategy.name} on {session.robot.name}, policy "
        f"{policy}, about {counted(len(plan.within_budget), 'trial')} and {plan.cost:.1f} {plan.cost_unit}",
        highlight=False,
    )
    view = LiveView(console, run.journal, len(plan.within_budget), plan.budget, plan.cost_unit)
    if session.parameters.fast:
        return run, _in_one_process(session, run, resuming, view, console)
    return run, _as_a_graph(session, run, resuming, view, console, namespace)


def _server(session: ResolvedSession) -> str:
    return session.parameters.policy_server.node


def _in_one_process(
    session: ResolvedSession, run: RunFolder, resuming: bool, view: LiveView, console: Console
) -> int:
    console.print(
        "fast: one process without ROS; the same trials and scores, no bags, and no images but those the policy sees",
        highlight=False,
    )
    command = fast.command(run, resuming)
    return _led(
        lambda: Processes({fast.NAME: command}, run.path / "logs", quiet_environment(), fast.NAME),
        view,
        run,
        console,
    )


def _as_a_graph(
    session: ResolvedSession, run: RunFolder, resuming: bool, view: LiveView, console: Console, namespace: str
) -> int:
    domain = Domain()
    external = session.parameters.policy_server.external
    where = f", namespace /{namespace}" if namespace else ""
    console.print(f"ROS_DOMAIN_ID {domain.number}{where}", highlight=False)
    if external:
        console.print(
            f"'{_server(session)}' is waited for; start it with: "
            f"robocontrast serve POLICY --domain {domain.number}"
            f"{f' --namespace {namespace}' if namespace else ''}",
            highlight=False,
            soft_wrap=True,
        )
    nodes, folder, logs = processes_of(session, run, resuming), run.parameters / "nodes", run.path / "logs"
    try:
        return _led(
            lambda: start_nodes(nodes, folder, logs, domain.number, external, namespace), view, run, console
        )
    finally:
        domain.close()


def _led(begin: Callable[[], Processes], view: LiveView, run: RunFolder, console: Console) -> int:
    processes: Processes | None = None
    try:
        with view:
            processes = begin()
            return _watch(processes, view, run, console)
    finally:
        if processes is not None:
            processes.stop()


def _watch(processes: Processes, view: LiveView, run: RunFolder, console: Console) -> int:
    try:
        code = processes.watch(view.update)
    except ProcessDied as death:
        processes.stop(view.update)
        if run.journal.exists():
            with JournalWriter(run.journal) as journal:
                if journal.past.events:
                    journal.append(events.ProcessDied(death.process, death.detail, time.time()))
        # A node that refuses its parameters says so with exit code 2, as we do.
        code = death.exit_code if death.exit_code == 2 else INTERRUPTED
        console.print(f"[red]error:[/] {escape(death.detail)}", soft_wrap=True, highlight=False)
    except KeyboardInterrupt:
        console.print("stopping; the present trial is void …")
        processes.stop(view.update)
        code = CONTROL_C
    else:
        if code != 0:
            said = escape(processes.last_line(processes.leader))
            console.print(f"[red]error:[/] {said}", soft_wrap=True, highlight=False)
    if not begun(run):
        console.print(
            f"No trial was begun. The logs are in {run.path / 'logs'}", soft_wrap=True, highlight=False
        )
    elif code in (INTERRUPTED, CONTROL_C):
        console.print(
            f"Nothing is lost. Go on with: robocontrast evaluate --resume {run.path}",
            soft_wrap=True,
            highlight=False,
        )
    return code
