"""The one process of a fast session (docs/fast_mode.md): the loop of ``episode_manager`` on a bench without ROS."""

from __future__ import annotations

import argparse
import signal
import sys
import traceback
from pathlib import Path

from robocontrast_ros.cli.signals import output_outlasts
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.runs.events import SessionFinished
from robocontrast_ros.runs.journal import JournalError, JournalWriter
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.sessions.control import SessionControl
from robocontrast_ros.sessions.fast_mode import open_bench
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.sessions.recording import trial_recorder
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.system.disk import DiskError
from robocontrast_ros.system.starting import starting

NAME = "fast_session"
"""Name of the process, and of its log."""


def command(run: RunFolder, resume: bool) -> list[str]:
    """Return the command that runs or resumes the session of a run folder."""
    words = [sys.executable, "-c", starting(__name__, "main"), str(run.path)]
    return [*words, "--resume"] if resume else words


def main() -> None:
    """Run the session of the command line; its output may be lost, because the log may be on a full disk."""
    with output_outlasts():
        _main()


def _main() -> None:
    """Run the session; SIGINT ends it, and the trial that is running is void.

    Exit codes: 0 done, 2 invalid input, 3 interrupted or a disk error (can be resumed), 4 a bug.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="run folder")
    parser.add_argument("--resume", action="store_true", help="resume its session")
    arguments = parser.parse_args()
    control = SessionControl()
    signal.signal(signal.SIGINT, lambda *_: control.abort("interrupted by the user"))
    try:
        run = RunFolder.open(arguments.run)
        with JournalWriter(run.journal) as journal:
            session = resolve(run.session_file)
            recorder = trial_recorder(session, run)
            bench = open_bench(session, aborted=lambda: bool(control.abort_reason), recorder=recorder)
            end = run_session(session.evaluation(), bench, journal, resume=arguments.resume, control=control)
            bench.close()
    except DiskError as error:
        raise SystemExit(_said(f"error: {error}", 3)) from None
    except (ConfigurationError, JournalError) as error:
        raise SystemExit(_said(f"error: {error}", 2)) from None
    except Exception as error:  # a bug of ours: the last line names it, its traceback stays in the log
        traceback.print_exc()
        raise SystemExit(_said(f"the session failed: {type(error).__name__}: {error}", 4)) from None
    print(end.detail)
    raise SystemExit(0 if isinstance(end, SessionFinished) else 3)


def _said(text: str, code: int) -> int:
    print(text, file=sys.stderr)
    return code


if __name__ == "__main__":
    main()
