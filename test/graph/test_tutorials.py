"""The tutorials at a real robot: their files and commands, with an emulated laboratory in place of robot and person."""

from __future__ import annotations

import os

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from laboratory import WORLD, laboratory
from session_runs import LONG_LIMITS, SUPPORT, TIMEOUTS, VOID_RETRIES, Workplace
from tutorials import PAGES, commands_of, needs_robot, run_commands, write_files

from robocontrast_ros.sessions.resolving import resolve

STEPS = 40
"""Control steps of a trial."""


@pytest.mark.long
@pytest.mark.parametrize("page", [page for page in PAGES if needs_robot(page)], ids=lambda page: page.stem)
def test_a_tutorial_works_as_it_stands_at_an_emulated_robot(page, tmp_path):
    # What differs from the page: who sets scenes up and judges, how long a busy machine may take, and that trials are
    # shorter, because a world in real time takes a processor for as long as they last.
    changes = {
        "world": WORLD,
        "watchdog": LONG_LIMITS,
        "timeouts": TIMEOUTS,
        "void_retries": VOID_RETRIES,
        "task": Workplace(tmp_path).short_task(STEPS),
    }
    first, *_ = write_files(page, tmp_path, changes)
    environment = {"PYTHONPATH": os.pathsep.join((str(SUPPORT), os.environ.get("PYTHONPATH", "")))}
    lines = commands_of(page)
    begin = next(number for number, line in enumerate(lines) if f"evaluate {first.name}" in line)
    run_commands(lines[:begin], tmp_path, environment)
    with laboratory(resolve(first), tmp_path) as lab:
        run_commands(lines[begin:], tmp_path, environment)
    assert lab["taken"]["goals"] > 10, "the arm was moved by its driver"
