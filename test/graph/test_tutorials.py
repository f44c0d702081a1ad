"""The tutorials at a real robot: their files and commands, with an emulated laboratory in place of robot and person."""

from __future__ import annotations

import os

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from laboratory import WORLD, laboratory
from session_runs import LONG_LIMITS, SUPPORT, TIMEOUTS, VOID_RETRIES, Workplace
from tutorials import PAGES, needs_robot, run_commands, write_files

from robocontrast_ros.sessions.resolving import resolve


@pytest.mark.long
@pytest.mark.parametrize("page", [page for page in PAGES if needs_robot(page)], ids=lambda page: page.stem)
def test_a_tutorial_works_as_it_stands_at_an_emulated_robot(page, tmp_path):
    # What differs from the page: who sets scenes up and judges, how long a trial lasts, which is the same from its
    # second step on, and how long a busy machine may take.
    changes = {"world": WORLD, "watchdog": LONG_LIMITS, "timeouts": TIMEOUTS, "void_retries": VOID_RETRIES}
    changes["task"] = Workplace(tmp_path).short_task(30)
    first, *_ = write_files(page, tmp_path, changes)
    with laboratory(resolve(first), tmp_path) as lab:
        run_commands(page, tmp_path, {"PYTHONPATH": os.pathsep.join((str(SUPPORT), os.environ.get("PYTHONPATH", "")))})
    assert lab["taken"]["goals"] > 10, "the arm was moved by its driver"
