"""Signals to nodes: whoever interrupts a launch interrupts all of them at once, and the session ends in order."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from session_runs import Workplace, events_of, finish, node_pids, wait_until
from spinning import spun_node

from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.domain import Fault
from robocontrast_ros.nodes.runtime.channel import DiscoveryProbe
from robocontrast_ros.runs.events import SessionInterrupted, TrialFinished, TrialVoid

SCORER = "from robocontrast_ros.nodes.scorer_node import main; main()"
TASK = resolve_uri("package://robocontrast_ros/config/tasks/language_table.yaml")


def test_a_signal_to_all_nodes_at_once_ends_the_session_in_order(tmp_path):
    place = Workplace(tmp_path)
    process = place.begin("evaluate", place.session(policy="random", test_set={"size": 50}))
    try:
        run = wait_until(lambda: place.runs and place.runs[0], "a run folder")
        wait_until(lambda: any(isinstance(e, TrialFinished) for e in events_of(run)), "a trial")
        pids = node_pids(run)
        for pid in pids.values():
            os.kill(pid, signal.SIGHUP)
    finally:
        code, output = finish(process)
    assert set(pids) == {"simulator", "policy_server", "container", "recorder", "episode_manager"}
    assert code == 3 and "--resume" in output, output
    assert isinstance(events_of(run)[-1], SessionInterrupted)
    assert {e.fault for e in events_of(run) if isinstance(e, TrialVoid)} <= {Fault.ABORTED}
    assert node_pids(run) == {}


@pytest.fixture
def scorer():
    """Return a scorer of a session, whose manager is there, and end it."""
    with spun_node("episode_manager") as manager:
        words = ["-p", f"task:={TASK}", "-p", "leader:=episode_manager"]
        process = subprocess.Popen([sys.executable, "-c", SCORER, "--ros-args", *words])
        wait_until(lambda: "scorer" in manager.get_node_names(), "the scorer")
        # It is there before it has been made completely; then a signal is the end of it.
        DiscoveryProbe(manager, "scorer").wait(60.0)
        # What it answers it knows, but the names of nodes are told a little later.
        time.sleep(6.0)
        yield process
        process.kill()
        process.wait()


def test_a_node_goes_on_until_the_manager_is_gone(scorer):
    scorer.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        scorer.wait(timeout=2.0)
    scorer.send_signal(signal.SIGTERM)
    assert scorer.wait(timeout=60.0) == 0, "a second interruption ends it at once"


def test_a_node_that_is_told_to_quit_does_not_wait_for_the_manager(scorer):
    scorer.send_signal(signal.SIGQUIT)
    assert scorer.wait(timeout=60.0) == 0
