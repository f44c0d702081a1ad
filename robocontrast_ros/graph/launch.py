"""A session that is about to run: checked, with a domain for its nodes and a run folder."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from robocontrast_ros.graph.fork_server import policy_ahead
from robocontrast_ros.graph.ros_domain import Domain
from robocontrast_ros.runs.journal import check_not_running, read_begun
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.sessions.early_stopping import begin_stopping
from robocontrast_ros.sessions.machine_check import check_machine
from robocontrast_ros.sessions.plan import Plan, plan_session
from robocontrast_ros.sessions.policy_check import check_policies
from robocontrast_ros.sessions.resolving import ResolvedSession, resolve
from robocontrast_ros.system.disk import writing
from robocontrast_ros.system.forking import ForkServer
from robocontrast_ros.worlds.camera_files import load_camera_files


@dataclass(frozen=True)
class Launch:
    """A session that is about to run.

    Attributes:
        session: the session, with everything that it names.
        run: its run folder.
        resume: whether it was begun before.
        domain: the domain of its nodes, and their namespace; locked until it is closed. None if it has no graph.
        plan: its trials, if they were planned.
        log_level: least level that its nodes log.
    """

    session: ResolvedSession
    run: RunFolder
    resume: bool
    domain: Domain | None
    plan: Plan | None
    log_level: str = "info"

    def close(self) -> None:
        """Release the domain; remove the run folder of a session that never began, which has its parameters alone."""
        if self.domain is not None:
            self.domain.close()
        if not self.resume:
            self.run.remove_unbegun()


def _models_of(session: ResolvedSession) -> Callable[[Path], None] | None:
    """Return the function that writes the models for the engine that a session's graph starts; None for our own.

    Raises:
        ConfigurationError: the engine's package is not installed.
    """
    name, source = session.world.features.engine, str(session.source)
    if not name:
        return None
    # These import MuJoCo, and the engine.
    from robocontrast_ros.worlds.engines.starting import engine_named, write_models

    engine = engine_named(name, source)
    return lambda folder: write_models(engine, session.robot, session.task, folder, source)


def reopened(folder: Path) -> tuple[RunFolder, ResolvedSession]:
    """Return the run folder of a session that is to be resumed, and the session.

    Raises:
        ConfigurationError: it is no run folder, or something no longer fits.
        JournalError: the journal is damaged, or no session was begun, or it is running.
    """
    run = RunFolder.open(folder)
    read_begun(run.journal)
    check_not_running(run.journal)
    return run, resolve(run.session_file)


def prepare(
    session: ResolvedSession,
    domain: Domain | None,
    server: ForkServer | None,
    run: RunFolder | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    planned: bool = False,
) -> Launch:
    """Check a session with this machine and its policies, and make the run folder of a new one.

    Args:
        session: the session.
        domain: of its nodes, in which a probe looks for another session meanwhile; closed if something does not fit.
            None for a session without a graph.
        server: forks its processes, and loads its policy meanwhile; None if there is none.
        run: the folder of a session that is resumed; None for a new one.
        environment: of the process that serves its policy, if it is known.
        planned: whether its trials are planned, too.

    Raises:
        ConfigurationError: something does not fit, or another session is in the domain and namespace; nothing was made.
        DiskError: the run folder cannot be written.
    """
    try:
        os.environ.update(check_machine(session))
        check_policies(session, policy_ahead(server, session, environment))
        load_camera_files(session.console_files(), session.task, session.world.features, str(session.source))
        evaluation = session.evaluation()
        begin_stopping(evaluation)
        plan = plan_session(evaluation) if planned else None
        models = _models_of(session) if domain is not None else None
        if domain is not None:
            domain.confirm()
        folder = run or session.new_run(time.time())
        if models is not None and not folder.models.exists():
            # Whole or not at all: a resumed session takes what is there.
            part = folder.models.with_name(f"{folder.models.name}.part")
            with writing(part):
                shutil.rmtree(part, ignore_errors=True)
                models(part)
                part.rename(folder.models)
    except BaseException:
        if domain is not None:
            domain.close()
        raise
    if domain is not None:
        domain.record_run(folder.path)
    return Launch(session, folder, run is not None, domain, plan)
