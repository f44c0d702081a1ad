"""A session's processes: what is said of them, and that none is left."""

from __future__ import annotations

import io
import math
import os
import sys

import pytest
from played_runs import record_run

from robocontrast_ros.cli.live import LiveView
from robocontrast_ros.cli.processes import ProcessDied, Processes
from robocontrast_ros.cli.session import _run_processes
from robocontrast_ros.cli.terminal import Console
from robocontrast_ros.domain import Fault
from robocontrast_ros.runs.events import ProcessDied as ProcessDiedEvent
from robocontrast_ros.runs.events import SessionFinished, to_line
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.runs.run_folder import RunFolder


def running(tmp_path, **scripts):
    """Start Python scripts; the one called `leader` leads."""
    commands = {name: [sys.executable, "-c", script] for name, script in scripts.items()}
    return Processes(commands, tmp_path / "logs", dict(os.environ), leader="leader")


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("[FATAL] [1763793082.123456789] [robot1.simulator]: no such world", "no such world"),
        ("[ERROR] [1763793082.1] [rollout]: lost:\n  the camera\n\n", "lost:\n  the camera"),
        (
            "Traceback (most recent call last):\n  File\nValueError: [1] [2] [3]: x",
            "ValueError: [1] [2] [3]: x",
        ),
        ("[WARN] [1.5] [rollout]: slow\n[INFO] [1.6] [rollout]: asked directly", "slow"),
        ("[INFO] [1.6] [rollout]: asked directly", ""),
        ("", ""),
    ],
)
def test_what_a_process_said_last_is_shown_without_what_ros_puts_before_it(tmp_path, log, said):
    processes = running(tmp_path, leader=f"print({log!r})")
    assert processes.watch(lambda: None) == 0
    assert processes.last_line("leader") == said


def test_what_a_process_said_in_an_earlier_part_of_the_session_is_not_shown(tmp_path):
    running(tmp_path, leader="print('of the day before')").watch(lambda: None)
    processes = running(tmp_path, leader="")
    processes.watch(lambda: None)
    assert processes.last_line("leader") == ""


def test_a_leader_that_is_killed_is_a_death_and_one_that_ends_has_its_code(tmp_path):
    assert running(tmp_path, leader="raise SystemExit(3)").watch(lambda: None) == 3
    processes = running(tmp_path, leader="import os; os.kill(os.getpid(), 9)")
    with pytest.raises(ProcessDied) as death:
        processes.watch(lambda: None)
    assert death.value.detail == "process 'leader' was killed by SIGKILL"


def test_a_process_that_cannot_be_started_leaves_none_of_the_others(tmp_path):
    pid = tmp_path / "pid"
    sleeper = f"import os, pathlib, time; pathlib.Path({str(pid)!r}).write_text(str(os.getpid())); time.sleep(60)"
    sleep = [sys.executable, "-c", sleeper]
    with pytest.raises(FileNotFoundError):
        Processes({"leader": sleep, "other": ["/no/such/program"]}, tmp_path / "logs", dict(os.environ), "leader")
    if pid.exists():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid.read_text()), 0)


@pytest.mark.parametrize("finished", [True, False])
def test_a_session_that_has_finished_is_not_interrupted_by_what_dies_after(tmp_path, finished):
    run = RunFolder(record_run(tmp_path / "run", [Fault.NONE]))
    events = [e for e in read_journal(run.journal).events if not isinstance(e, SessionFinished)]
    run.journal.write_bytes(b"".join(map(to_line, events)))
    last = to_line(SessionFinished("all_trials", "done", 2.0)) if finished else b""
    script = f"import os; open({str(run.journal)!r}, 'ab').write({last!r}); os.kill(os.getpid(), 9)"
    console = Console(file=io.StringIO(), width=300)
    shown, code = _run_processes(
        lambda: running(tmp_path, leader=script), LiveView(console, run.journal, 1, math.inf, "m"), run, console
    )
    assert shown == run
    died = isinstance(read_journal(run.journal).events[-1], ProcessDiedEvent)
    if finished:
        assert (code, died) == (0, False) and "error" not in console.file.getvalue()
    else:
        assert (code, died) == (3, True) and f"--resume {run.path}" in console.file.getvalue()


@pytest.mark.parametrize("code", [2, 3])
def test_an_error_is_said_once_and_a_session_that_was_refused_shows_nothing(tmp_path, code):
    run = RunFolder(record_run(tmp_path / "run", [Fault.NONE]))
    script = f"import sys; print('error: it is running already', file=sys.stderr); sys.exit({code})"
    console = Console(file=io.StringIO(), width=300)
    shown, ended = _run_processes(
        lambda: running(tmp_path, leader=script), LiveView(console, run.journal, 1, math.inf, "m"), run, console
    )
    assert ended == code and (shown is None) is (code == 2)
    assert "error: it is running already\n" in console.file.getvalue()
    assert "error: error" not in console.file.getvalue()


def test_a_node_that_is_refused_ends_the_session_as_refused_in_its_own_words(tmp_path):
    run = RunFolder(tmp_path / "run")
    run.path.mkdir()
    said = "what 'policy_server' serves: got 'large', expected a policy that fits robot 'franka'\n  rate: too high"
    scripts = {
        "leader": "import time; time.sleep(600)",
        "rollout": f"import sys; print({'[FATAL] [1.5] [rollout]: ' + said!r}); sys.exit(2)",
    }
    console = Console(file=io.StringIO(), width=300)
    shown, ended = _run_processes(
        lambda: running(tmp_path, **scripts), LiveView(console, run.journal, 1, math.inf, "m"), run, console
    )
    assert (shown, ended) == (None, 2)
    assert f"error: process 'rollout' ended with exit code 2: {said}\n" in console.file.getvalue()
    assert "--resume" not in console.file.getvalue()


@pytest.mark.parametrize("what", ["run", "run/journal.jsonl"])
def test_a_session_whose_results_are_deleted_after_its_last_event_is_no_success(tmp_path, what):
    run = RunFolder(record_run(tmp_path / "run", [Fault.NONE]))
    script = f"import subprocess; subprocess.run(['rm', '-r', {str(tmp_path / what)!r}])"
    console = Console(file=io.StringIO(), width=300)
    shown, code = _run_processes(
        lambda: running(tmp_path, leader=script), LiveView(console, run.journal, 1, math.inf, "m"), run, console
    )
    assert (shown, code) == (None, 3)
    assert (
        console.file.getvalue()
        == f"error: {run.path}: the run folder, or its journal, was deleted as the session ended\n"
    )
