"""`robocontrast evaluate`: run a session, or go on with one, and show what came of it."""

from __future__ import annotations

import os
import time
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from robocontrast_ros.cli.live import LiveView
from robocontrast_ros.cli.processes import Domain, NodeProcesses, ProcessDied
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.sessions import events
from robocontrast_ros.sessions.graph import nodes_of
from robocontrast_ros.sessions.journal import JournalWriter
from robocontrast_ros.sessions.parameters import Overrides, ResolvedSession, resolve
from robocontrast_ros.sessions.plan import plan_session
from robocontrast_ros.sessions.policy_check import check_policy
from robocontrast_ros.sessions.run_folder import RunFolder

INTERRUPTED = 3
"""Exit code of a session that ended early and can be resumed."""

CONTROL_C = 130
"""Exit code after Ctrl-C, as shells expect it."""


def start(session: str, overrides: Overrides, console: Console) -> tuple[RunFolder, int]:
    """Run a new session and return its folder and the exit code.

    Raises:
        ConfigurationError: something does not fit; nothing was started.
    """
    resolved = resolve(session, overrides)
    _check(resolved)
    return _run(resolved, RunFolder.create(resolved, time.time()), False, console)


def resume(run: Path, console: Console) -> tuple[RunFolder, int]:
    """Go on with a session and return its folder and the exit code.

    Raises:
        ConfigurationError: something no longer fits; nothing was started.
    """
    folder = RunFolder.open(run)
    resolved = folder.resolve()
    _check(resolved)
    return _run(resolved, folder, True, console)


def _check(session: ResolvedSession) -> None:
    """Refuse, before anything is started, a policy that does not fit, or one elsewhere that could not be found."""
    if session.parameters.policy_server.external and not os.environ.get("ROS_DOMAIN_ID"):
        raise ConfigurationError(
            "environment",
            "ROS_DOMAIN_ID",
            "nothing",
            "the ROS domain of the policy server",
            "`robocontrast serve` says which it is.",
        )
    check_policy(session)


def _run(session: ResolvedSession, run: RunFolder, resuming: bool, console: Console) -> tuple[RunFolder, int]:
    with console.status("planning the session …"):
        plan = plan_session(session.evaluation())
    domain = Domain()
    server = session.parameters.policy_server
    policy = f"that of '{server.node}'" if session.policy_file is None else session.policy_file.stem
    console.print(
        f"[bold]{session.parameters.name}[/]: {session.parameters.strategy.name} on {session.robot.name}, policy "
        f"{policy}, about {len(plan.within_budget)} trials and {plan.cost:.1f} {plan.cost_unit}; "
        f"ROS_DOMAIN_ID {domain.number}",
        highlight=False,
    )
    if server.external:
        console.print(
            f"'{server.node}' is waited for; start it with: robocontrast serve POLICY --domain {domain.number}",
            highlight=False,
            soft_wrap=True,
        )
    nodes = nodes_of(session, run, resuming)
    view = LiveView(console, run.journal, len(plan.within_budget), plan.budget, plan.cost_unit)
    processes: NodeProcesses | None = None
    try:
        with view:
            processes = NodeProcesses(
                nodes, run.parameters / "nodes", run.path / "logs", domain.number, server.external
            )
            code = _watch(processes, view, run, console)
    finally:
        if processes is not None:
            processes.stop()
        domain.close()
    return run, code


def _watch(processes: NodeProcesses, view: LiveView, run: RunFolder, console: Console) -> int:
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
            said = escape(processes.last_line("episode_manager"))
            console.print(f"[red]error:[/] {said}", soft_wrap=True, highlight=False)
    if code in (INTERRUPTED, CONTROL_C):
        console.print(
            f"Nothing is lost. Go on with: robocontrast evaluate --resume {run.path}",
            soft_wrap=True,
            highlight=False,
        )
    return code
