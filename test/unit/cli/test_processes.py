"""A session's processes: what is said of them, and that none is left."""

from __future__ import annotations

import os
import sys

import pytest

from robocontrast_ros.cli.processes import ProcessDied, Processes


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
