"""A session in its processes, from its checks to its end."""

from __future__ import annotations

import os
import shlex
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext

from rich.text import Text

from robocontrast_ros.cli.ahead import GraphAhead
from robocontrast_ros.cli.console import ConsoleNotice
from robocontrast_ros.cli.live import LiveView
from robocontrast_ros.cli.processes import ProcessDied, Processes, describe_exit, start_nodes
from robocontrast_ros.cli.signals import Stopped, exit_code, signals_held
from robocontrast_ros.cli.terminal import Console
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain.words import counted
from robocontrast_ros.graph.description import namespace_of, processes_of
from robocontrast_ros.graph.environment import node_environment, quiet_environment
from robocontrast_ros.graph.launch import Launch, prepare
from robocontrast_ros.graph.ros_domain import Domain
from robocontrast_ros.runs import events
from robocontrast_ros.runs.journal import Journal, JournalError, JournalWriter, read_journal
from robocontrast_ros.runs.locked_plan import LockedPlan, other_settings
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.sessions.plan import Plan
from robocontrast_ros.sessions.resolving import ResolvedSession
from robocontrast_ros.system.disk import DiskError, OpenPath

INTERRUPTED = 3
"""Exit code of a session that ended early and can be resumed."""

REFUSED = 2
"""Exit code of a session that does not fit and was not started."""

LEAST = 1 << 16
"""Number of bytes written to find out whether the disk is full, as many as some lines of a log and a journal."""


def run_session(
    session: ResolvedSession, folder: RunFolder | None, console: Console, namespace: str, ahead: GraphAhead
) -> tuple[RunFolder | None, int]:
    """Run a session; return its run folder and the exit code.

    The folder is None if it has no new results: no session was begun in it, the session was refused, or it is gone.

    Args:
        session: the session.
        folder: the run folder of a session that is resumed; None for a new one.
        console: the console that shows it.
        namespace: of its nodes, as the user gave it.
        ahead: the fork server and the domain for its graph; the caller closes it.

    Raises:
        ConfigurationError: something does not fit; nothing was started.
        DiskError: the run folder cannot be written; nothing was started.
    """
    place = namespace_of(session, namespace)
    if session.parameters.fast and place:
        raise ConfigurationError("command line", "--namespace", namespace, "a graph of nodes; a fast session has none")
    _check_policy_server(session)
    domain = environment = None
    if session.parameters.fast:
        ahead.no_graph()
    else:
        external = session.parameters.policy_server.external
        domain = ahead.domain(place, external)
        environment = node_environment(domain.number, external)
    with domain or nullcontext():
        # Meanwhile a process looks for another session's graph in that domain.
        with console.status("preparing the session …"):
            launch = prepare(session, domain, ahead.server, folder, environment=environment, planned=True)
        assert launch.plan is not None, "it was asked for"
        return _run(launch, launch.plan, console, ahead)


def _check_policy_server(session: ResolvedSession) -> None:
    """Refuse a policy server elsewhere for a fast session, and one whose ROS domain is not known."""
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


def _journal(place: OpenPath) -> Journal | None:
    """Return the journal of the session that was begun in a run folder; None if none was, or if the folder is gone.

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


def _run(launch: Launch, plan: Plan, console: Console, ahead: GraphAhead) -> tuple[RunFolder | None, int]:
    session, run = launch.session, launch.run
    expected = f"about {counted(len(plan.within_budget), 'trial')} and {plan.cost:.1f} {plan.cost_unit}"
    what = f"{session.parameters.strategy.name} on {session.robot.name}, {_policies(session)}, {expected}"
    console.print(Text.assemble((session.parameters.name, "bold"), f": {what}"))
    if session.locked_plan is not None:
        _say_plan(session, session.locked_plan, console)
    if launch.domain is None:
        begin = _in_one_process(launch, console, ahead)
    else:
        begin = _as_a_graph(launch, launch.domain, console, ahead)
    view = LiveView(console, run.journal, len(plan.within_budget), plan.budget, plan.cost_unit)
    return _run_processes(begin, view, run, console)


def _say_plan(session: ResolvedSession, plan: LockedPlan, console: Console) -> None:
    """Print which locked plan the session follows, and which parameters are others already."""
    console.say(f"locked plan of {counted(len(plan.trials), 'trial')}, SHA-256 {plan.sha256}")
    for key, planned, present in other_settings(plan, session.snapshot()):
        console.say(f"{key} is {present!r}, planned was {planned!r}", "deviates from the locked plan:", "yellow")


def _policies(session: ResolvedSession) -> str:
    if not session.policy_files:
        return f"policy that of '{_server(session)}'"
    names = ", ".join(file.stem for file in session.policy_files)
    return f"policies {names}, blind" if session.blind_files else f"policy {names}"


def _server(session: ResolvedSession) -> str:
    return session.parameters.policy_server.node


def _in_one_process(launch: Launch, console: Console, ahead: GraphAhead) -> Callable[[], Processes]:
    """Return the function that starts the process of a fast session."""
    console.print("fast: one process without ROS; the same trials, scores and bags")
    # The module imports the world and the bags, which the command does not need for a graph.
    from robocontrast_ros.cli import fast

    commands, logs = {fast.NAME: fast.command(launch.run, launch.resume)}, launch.run.path / "logs"
    return lambda: Processes(commands, logs, quiet_environment(), fast.NAME, ahead.server)


def _as_a_graph(launch: Launch, domain: Domain, console: Console, ahead: GraphAhead) -> Callable[[], Processes]:
    """Print the domain and the commands of the graph; return the function that starts its processes."""
    session, run, namespace = launch.session, launch.run, domain.namespace
    external = session.parameters.policy_server.external
    console.print(f"ROS_DOMAIN_ID {domain.number}{f', namespace /{namespace}' if namespace else ''}")
    if not session.world.lockstep:
        # A person may need this command in a hurry, before the end of the session, which prints the folder's name.
        console.say(f"to stop the robot: robocontrast stop {shlex.quote(str(run.path))}")
    if external:
        console.say(
            f"waiting for '{_server(session)}'; start it with: robocontrast serve POLICY --domain {domain.number}"
            f"{f' --namespace {namespace}' if namespace else ''}"
        )
    nodes, folder, logs = processes_of(session, run, launch.resume), run.parameters / "nodes", run.path / "logs"
    return lambda: start_nodes(nodes, folder, logs, domain.number, external, namespace, ahead.server)


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
            console.say(f"{run.path}: the run folder, or its journal, was deleted as the session ended", "error:")
            code = INTERRUPTED
        return None, code
    run = RunFolder(present)
    _print_how_to_resume(run, journal, code, console)
    # A session that was refused has no new results.
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
        console.say(full or death.detail, "error:")
        console.print("stopping the session …")
        processes.stop(view.update)
        if _finished(place):
            console.print("The session had finished before.")
            return 0
        _journal_death(death, place, console)
        # A node that refuses its parameters ends with exit code 2, like this command.
        return REFUSED if death.exit_code == REFUSED and not full else INTERRUPTED
    except Stopped as stop:
        console.print(f"{stop.signal.name}: stopping; the current trial is void …")
        processes.stop(view.update)
        return exit_code(stop)
    if code != 0:
        full = _disk_problem(place)
        said = processes.last_line(processes.leader) or f"'{processes.leader}' {describe_exit(code)}"
        console.say(full or said, "error:")
        code = INTERRUPTED if full else code
    return code


def _journal_death(death: ProcessDied, place: OpenPath, console: Console) -> None:
    """Write into the journal, if a session was begun, which process died."""
    try:
        journal = _journal(place)
        if journal is not None:
            with JournalWriter(journal.path) as writer:
                writer.append(events.ProcessDied(death.process, death.detail, time.time()))
    except (DiskError, JournalError) as error:
        console.say(error, "error:")


def _disk_problem(place: OpenPath) -> str:
    """Return the reason why the run folder cannot be written; empty if it can, and if it is gone.

    A node that finds the disk full cannot report it in its log, because the log is on the same disk.
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


def _print_how_to_resume(run: RunFolder, journal: Journal | None, code: int, console: Console) -> None:
    if journal is None:
        console.say(f"No trial was started. The logs are in {run.path / 'logs'}")
    elif code not in (0, REFUSED) and not isinstance(journal.end, events.SessionFinished):
        console.say(f"Nothing is lost. Resume with: robocontrast evaluate --resume {shlex.quote(str(run.path))}")
