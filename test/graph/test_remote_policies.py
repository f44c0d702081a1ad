"""Sessions over a real ROS graph with policies that are served by other processes."""

from __future__ import annotations

import os
import subprocess

import openpi_server
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from remote_servers import SUPPORT, parameter_file, server
from session_runs import Workplace, events_of, finished

from robocontrast_ros.domain import Fault, Outcome
from robocontrast_ros.runs.events import TrialVoid

OPENPI = {"chunk": {"length": openpi_server.CHUNK, "execute": 3}, "output": {}}


@pytest.fixture
def place(tmp_path):
    return Workplace(tmp_path)


def test_an_openpi_server_that_dies_in_an_episode_interrupts_the_session_which_goes_on_when_it_is_back(place):
    with server("openpi_server.py", "--answers", 20) as port:
        policy = parameter_file("openpi", place.folder, url=f"ws://127.0.0.1:{port}", **OPENPI)
        code, output = place.run("evaluate", place.session(test_set={"size": 1}), "--policy", policy)
    assert code == 3, output
    (run,) = place.runs
    assert "--resume" in output and "Traceback" not in output
    assert f"ws://127.0.0.1:{port}" in output
    assert {event.fault for event in events_of(run) if isinstance(event, TrialVoid)} == {Fault.POLICY_SERVER_LOST}
    with server("openpi_server.py", "--port", port):
        code, output = place.run("evaluate", "--resume", run)
    assert code == 0, output
    (trial,) = finished(run)
    assert trial.result.outcome is Outcome.FAILURE
    assert trial.observed.instruction == trial.trial.instance.instruction.text
    assert len(trial.observed.image_digest) == 64


def test_an_http_server_is_evaluated(place):
    with server("http_server.py") as port:
        policy = parameter_file("http", place.folder, url=f"http://127.0.0.1:{port}/act")
        session = place.session(test_set={"size": 1}, task=place.short_task(20))
        code, output = place.run("evaluate", session, "--policy", policy)
    assert code == 0, output
    (trial,) = finished(place.runs[0])
    assert trial.result.outcome is Outcome.FAILURE


def test_a_lerobot_checkpoint_is_evaluated(place):
    python = os.environ.get("ROBOCONTRAST_LEROBOT_PYTHON")
    if not python:
        pytest.skip("needs the Python of an environment with lerobot in ROBOCONTRAST_LEROBOT_PYTHON")
    checkpoint = place.folder / "checkpoint"
    subprocess.run([python, "-E", str(SUPPORT / "lerobot_checkpoint.py"), str(checkpoint)], check=True)
    policy = parameter_file(
        "lerobot",
        place.folder,
        python=python,
        checkpoint=str(checkpoint),
        chunk={"length": 8},
        input={
            "images": {"observation.images.board": {"camera": "board", "width": 96, "height": 96}},
            "state": {"observation.state": {"parts": ["tool_xy"]}},
        },
    )
    code, output = place.run("evaluate", place.session(test_set={"size": 1}), "--policy", policy)
    assert code == 0, output
    (trial,) = finished(place.runs[0])
    assert trial.result.outcome is Outcome.FAILURE
