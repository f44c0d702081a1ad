"""`robocontrast evaluate`: run or resume a session in its processes."""

from __future__ import annotations

import os
import shlex
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from robocontrast_ros.cli.ahead import GraphAhead
from robocontrast_ros.cli.console import ConsoleNotice
from robocontrast_ros.cli.live import LiveView
from robocontrast_ros.cli.processes import (
    ProcessDied,
    Processes,
    describe_exit,
    start_nodes,
)
from robocontrast_ros.cli.signals import Stopped, exit_code, signals_held
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain.words import counted
from robocontrast_ros.graph.description import namespace_of, processes_of
from robocontrast_ros.graph.environment import node_environment, quiet_environment
from robocontrast_ros.graph.fork_server import policy_ahead
from robocontrast_ros.graph.ros_domain import Domain
from robocontrast_ros.runs import events
from robocontrast_ros.runs.journal import (
    Journal,
    JournalError,
    JournalWriter,
    check_not_running,
    read_begun,
    read_journal,
)
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.sessions.early_stopping import begin_stopping
from robocontrast_ros.sessions.machine_check import check_machine
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.plan import Plan, plan_session
from robocontrast_ros.sessions.policy_check import check_policies
from robocontrast_ros.sessions.resolving import ResolvedSession, resolve
from robocontrast_ros.system.disk import DiskError, OpenPath
from robocontrast_ros.worlds.camera_files import load_camera_files

INTERRUPTED = 3
"""Exit code of a session that ended early and can be resumed."""

REFUSED = 2
"""Exit code of a session that does not fit, and was not started."""

LEAST = 1 << 16
"""Bytes written to find out whether the disk is full: as many as some lines of a log and a journal."""


def start(
    session: str, overrides: Overrides, console: Console, namespace: str, ahead: GraphAhead
) -> tuple[RunFolder | None, int]:
    """Run a new session and return its folder, None where no session was begun in it or it is gone, and the exit code.

    Args:
        session: its name or file.
        overrides: what the command line changes of it.
        console: where it is shown.
        namespace: of its nodes, as the user gave it.
        ahead: what was begun for its graph; the caller closes it.

    Raises:
        ConfigurationError: something does not fit; nothing was started.
        DiskError: the run folder cannot be written; nothing was started.
    """
    resolved = resolve(session, overrides)
    with ExitStack() as held:
        domain, plan = _prepare(resolved, held, console, namespace, ahead)
        return _run(resolved, resolved.new_run(time.time()), plan, domain, False, console, ahead)


def resume(run: Path, console: Console, namespace: str, ahead: GraphAhead) -> tuple[RunFolder | None, int]:
    """Resume a session and return its folder, None where that is gone, and the exit code; see ``start``.

    Raises:
        ConfigurationError: something no longer fits; nothing was started.
        JournalError: the journal is damaged, or no session was begun, or it is running.
        DiskError: the run folder cannot be written.
    """
    folder = RunFolder.open(run)
    read_begun(folder.journal)
    check_not_running(folder.journal)
    resolved = resolve(folder.session_file)
    with ExitStack() as held:
        domain, plan = _prepare(resolved, held, console, namespace, ahead)
        return _run(resolved, folder, plan, domain, True, console, ahead)


def _journal(place: OpenPath) -> Journal | None:
    """Return the journal of the session that was begun in a run folder; None where none was, or the folder is gone.

    Raises:
        JournalError: the journal is damaged.
    """
    folder = place.present()
    if folder is None or not (path := RunFolder(folder).journal).exists():
        return None
    journal = read_journal(path)
    return journal if journal.events else None


def _finished(place: OpenPath) -> bool:
    journal = _journal(place)
    return journal is not None and isinstance(journal.end, events.SessionFinished)


def _prepare(
    session: ResolvedSession, held: ExitStack, console: Console, namespace: str, ahead: GraphAhead
) -> tuple[Domain | None, Plan]:
    """Reserve a domain for the session's graph, check the session, and plan it.

    Meanwhile a process looks for another session's graph in that domain.

    Returns:
        The domain, held until ``held`` is closed, and None for a session without a graph; and the plan.

    Raises:
        ConfigurationError: something does not fit, or the domain is taken.
    """
    place = namespace_of(session, namespace)
    if session.parameters.fast and place:
        raise ConfigurationError("command line", "--namespace", namespace, "a graph of nodes; a fast session has none")
    domain = None
    if session.parameters.fast:
        ahead.no_graph()
    else:
        domain = held.enter_context(ahead.domain(place, session.parameters.policy_server.external))
    _check(session, ahead, domain)
    with console.status("planning the session …"):
        plan = plan_session(session.evaluation())
        if domain is not None:
            domain.confirm()
    return domain, plan


def _check(session: ResolvedSession, ahead: GraphAhead, domain: Domain | None) -> None:
    """Refuse a policy that does not fit or cannot be discovered, or a run that the session cannot be compared with."""
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
    os.environ.update(check_machine(session))
    environment = None if domain is None else node_environment(domain.number, session.parameters.policy_server.external)
    load = policy_ahead(ahead.server, session, environment)
    check_policies(session, load)
    load_camera_files(session.console_files(), session.task, session.world.features, str(session.source))
    begin_stopping(session.evaluation())


def _run(
    session: ResolvedSession,
    run: RunFolder,
    plan: Plan,
    domain: Domain | None,
    resuming: bool,
    console: Console,
    ahead: GraphAhead,
) -> tuple[RunFolder | None, int]:
    name, strategy = session.parameters.name, session.parameters.strategy.name
    expected = f"about {counted(len(plan.within_budget), 'trial')} and {plan.cost:.1f} {plan.cost_unit}"
    what = f"{strategy} on {session.robot.name}, {_policies(session)}, {expected}"
    console.print(f"[bold]{escape(name)}[/]: {escape(what)}", markup=True, highlight=False)
    view = LiveView(console, run.journal, len(plan.within_budget), plan.budget, plan.cost_unit)
    if domain is None:
        return _in_one_process(run, resuming, view, console, ahead)
    domain.record_run(run.path)
    return _as_a_graph(session, run, domain, resuming, view, console, ahead)


def _policies(session: ResolvedSession) -> str:
    if not session.policy_files:
        return f"policy that of '{_server(session)}'"
    names = ", ".join(file.stem for file in session.policy_files)
    return f"policies {names}, blind" if session.blind_files else f"policy {names}"


def _server(session: ResolvedSession) -> str:
    return session.parameters.policy_server.node


def _in_one_process(
    run: RunFolder, resuming: bool, view: LiveView, console: Console, ahead: GraphAhead
) -> tuple[RunFolder | None, int]:
    console.print(
        "fast: one process without ROS; the same trials, scores and bags",
        highlight=False,
    )
    # It would bring the world and the bags of a fast session into every other.
    from robocontrast_ros.cli import fast

    command = fast.command(run, resuming)
    return _run_processes(
        lambda: Processes({fast.NAME: command}, run.path / "logs", quiet_environment(), fast.NAME, ahead.server),
        view,
        run,
        console,
    )


def _as_a_graph(
    session: ResolvedSession,
    run: RunFolder,
    domain: Domain,
    resuming: bool,
    view: LiveView,
    console: Console,
    ahead: GraphAhead,
) -> tuple[RunFolder | None, int]:
    external = session.parameters.policy_server.external
    namespace = domain.namespace
    where = f", namespace /{namespace}" if namespace else ""
    console.print(f"ROS_DOMAIN_ID {domain.number}{where}", highlight=False)
    if not session.world.lockstep:
        # Asked for in a hurry, before the end of the session would name the folder.
        folder = shlex.quote(str(run.path))
        console.print(f"to stop the robot: robocontrast stop {folder}", soft_wrap=True, highlight=False)
    if external:
        console.print(
            f"waiting for '{_server(session)}'; start it with: "
            f"robocontrast serve POLICY --domain {domain.number}"
            f"{f' --namespace {namespace}' if namespace else ''}",
            highlight=False,
            soft_wrap=True,
        )
    nodes, folder, logs = processes_of(session, run, resuming), run.parameters / "nodes", run.path / "logs"
    return _run_processes(
        lambda: start_nodes(nodes, folder, logs, domain.number, external, domain.namespace, ahead.server),
        view,
        run,
        console,
    )


def _run_processes(
    begin: Callable[[], Processes], view: LiveView, run: RunFolder, console: Console
) -> tuple[RunFolder | None, int]:
    processes: Processes | None = None
    place = OpenPath(run.path)
    # A signal must not interrupt the stopping of the processes.
    with signals_held() as look:
        try:
            with view:
                processes = begin()
                code = _watch(processes, look, view, console, run, place)
        finally:
            if processes is not None:
                processes.stop()
    journal, present = _journal(place), place.present()
    place.close()
    if present is None or (journal is None and view.began):
        if code == 0:
            _print_error(f"{run.path}: the run folder, or its journal, was deleted as the session ended", console)
            code = INTERRUPTED
        return None, code
    run = RunFolder(present)
    _print_how_to_resume(run, journal, code, console)
    # A session that was refused has no results that are new.
    return run if journal is not None and code != REFUSED else None, code


def _watch(
    processes: Processes,
    look: Callable[[], None],
    view: LiveView,
    console: Console,
    run: RunFolder,
    place: OpenPath,
) -> int:
    notice = ConsoleNotice(run, console)

    def poll() -> None:
        look()
        view.update()
        notice.update()

    try:
        code = processes.watch(poll)
    except ProcessDied as death:
        if _finished(place):
            return 0
        full = _disk_problem(place)
        _print_error(full or death.detail, console)
        console.print("stopping the session …")
        processes.stop(view.update)
        if _finished(place):
            console.print("The session had finished before.")
            return 0
        _journal_death(death, place, console)
        # A node that refuses its parameters says so with exit code 2, as we do.
        return REFUSED if death.exit_code == REFUSED and not full else INTERRUPTED
    except Stopped as stop:
        console.print(f"{stop.signal.name}: stopping; the current trial is void …", highlight=False)
        processes.stop(view.update)
        return exit_code(stop)
    if code != 0:
        full = _disk_problem(place)
        said = processes.last_line(processes.leader) or f"'{processes.leader}' {describe_exit(code)}"
        _print_error(full or said, console)
        code = INTERRUPTED if full else code
    return code


def _journal_death(death: ProcessDied, place: OpenPath, console: Console) -> None:
    """Write into the journal which process died, where a session was begun."""
    try:
        journal = _journal(place)
        if journal is not None:
            with JournalWriter(journal.path) as writer:
                writer.append(events.ProcessDied(death.process, death.detail, time.time()))
    except (DiskError, JournalError) as error:
        _print_error(str(error), console)


def _disk_problem(place: OpenPath) -> str:
    """Return why the run folder cannot be written; empty where it can, and where it is gone.

    A node that finds the disk full cannot say so in its log, which is on the same disk.
    """
    folder = place.present()
    if folder is None:
        return ""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(LEAST))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return str(DiskError(folder, error, "then resume the session"))
    return ""


def _print_error(text: str, console: Console) -> None:
    console.print(f"[red]error:[/] {escape(text)}", markup=True, soft_wrap=True, highlight=False)


def _print_how_to_resume(run: RunFolder, journal: Journal | None, code: int, console: Console) -> None:
    if journal is None:
        console.print(f"No trial was started. The logs are in {run.path / 'logs'}", soft_wrap=True, highlight=False)
    elif code not in (0, REFUSED) and not isinstance(journal.end, events.SessionFinished):
        console.print(
            f"Nothing is lost. Resume with: robocontrast evaluate --resume {shlex.quote(str(run.path))}",
            soft_wrap=True,
            highlight=False,
        )
