"""A session whose policy server and simulator are on another ROS distribution: `make test-jazzy` runs it both ways."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from session_runs import COMMAND, SUPPORT, Workplace, finished, scores
from strange_simulator import WORLD, start

from robocontrast_ros.domain import Delivery
from robocontrast_ros.sessions.resolving import resolve

PYTHON = os.environ.get("ROBOCONTRAST_OTHER_PYTHON", "")
OURS = ("AMENT_PREFIX_PATH", "CMAKE_PREFIX_PATH", "LD_LIBRARY_PATH", "_ROS_WHEELS_BOOTSTRAP_COMPLETE")
"""Variables by which a process would find the packages of this environment."""

pytestmark = pytest.mark.skipif(
    not PYTHON, reason="needs the Python of an environment of another ROS distribution in ROBOCONTRAST_OTHER_PYTHON"
)


@pytest.fixture
def elsewhere(monkeypatch):
    """Let processes that are started from here on find the other environment's packages alone."""
    for name in OURS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHONPATH", str(SUPPORT))


def distribution_of(python: str) -> str:
    """Return the version of rclpy of an environment."""
    asked = "from importlib.metadata import version; print(version('ros-rclpy'))"
    return subprocess.run([python, "-c", asked], check=True, capture_output=True, text=True).stdout.strip()


def test_nodes_of_another_distribution_give_the_same_trials(tmp_path, domain, elsewhere):
    here = distribution_of(COMMAND[0])
    assert distribution_of(PYTHON) != here, "the other environment has this distribution, too"
    alone, mixed = Workplace(tmp_path / "alone"), Workplace(tmp_path / "mixed")
    for place in (alone, mixed):
        place.folder.mkdir()
    strategy = {"name": "contrast_set", "perturbations": ["LB2"]}
    changes = {"strategy": strategy, "task": alone.short_task(40), "cameras": []}
    code, output = alone.run("evaluate", alone.session(**changes))
    assert code == 0, output
    world = {"backend": "simulation_interfaces", "simulator": "gz", **WORLD}
    session = mixed.session(**changes, policy="", policy_server={"external": True}, world=world)
    simulator = start(resolve(session), tmp_path / "simulator.yaml", "gz", python=PYTHON)
    server = subprocess.Popen(
        [PYTHON, *COMMAND[1:], "serve", "oracle", "--domain", str(domain)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert any("serves (loaded in" in line for line in server.stdout), "it ended before it served"
        code, output = mixed.run("evaluate", session)
    finally:
        for process in (simulator, server):
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=120)
    assert code == 0, output
    (ours,), (theirs,) = alone.runs, mixed.runs
    assert len(scores(ours)) == 3 and scores(theirs) == scores(ours)
    assert all(trial.delivered is Delivery.CONFIRMED for trial in finished(theirs))
