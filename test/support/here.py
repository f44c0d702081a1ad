"""What takes processes of its own, in this process: a session, a command, a pool of processes."""

from __future__ import annotations

from concurrent.futures import Future
from contextlib import closing, contextmanager
from pathlib import Path

from typer.testing import CliRunner

from robocontrast_ros.cli.main import app
from robocontrast_ros.sessions.fast_mode import open_bench
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.sessions.recording import trial_recorder
from robocontrast_ros.sessions.resolving import resolve


def session_here(file) -> Path:
    """Run a session without ROS; return its run folder."""
    session = resolve(file)
    run = session.new_run(0.0)
    with closing(open_bench(session, recorder=trial_recorder(session, run))) as bench:
        run_session(session.evaluation(), bench, run.journal)
    return run.path


def command_here(*words: object) -> tuple[int, str]:
    """Run a command; return exit code and what it printed. What it raises, that is no exit, is an error."""
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, list(map(str, words)))
    if isinstance(result.exception, Exception):
        raise result.exception
    return result.exit_code, result.output


@contextmanager
def pool_at_once(processes, begin=None, *arguments):
    """Take the place of `process_pool` where a test is not about processes: each would import PyTorch again."""

    def submit(function, *arguments):
        future = Future()
        future.set_result(function(*arguments))
        return future

    yield submit
