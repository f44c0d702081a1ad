"""Signals to a node of a session: after one it goes on until the session's manager is gone."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import ExitStack

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from session_runs import wait_for_line
from spinning import spun_node

from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.nodes.runtime.channel import DiscoveryProbe

SCORER = """
import rclpy, threading, time
from robocontrast_ros.nodes.scorer_node import main

def look():
    while not rclpy.ok():
        time.sleep(0.02)
    # Of the same participant: what it sees of the graph, the scorer does.
    beside = rclpy.create_node("beside")
    while "episode_manager" not in beside.get_node_names():
        time.sleep(0.02)
    print("it knows its leader", flush=True)

threading.Thread(target=look, daemon=True).start()
main()
"""
TASK = resolve_uri("package://robocontrast_ros/config/tasks/language_table.yaml")


@pytest.fixture
def manager():
    """Return what ends the session's manager."""
    with ExitStack() as ends:
        ends.node = ends.enter_context(spun_node("episode_manager"))
        yield ends


@pytest.fixture
def scorer(manager):
    """Return a scorer of a session, which knows of the manager, and end it."""
    words = ["-p", f"task:={TASK}", "-p", "leader:=episode_manager"]
    process = subprocess.Popen([sys.executable, "-c", SCORER, "--ros-args", *words], stdout=subprocess.PIPE, text=True)
    wait_for_line(process, "it knows its leader")
    # It is there before it has been made completely; then a signal is the end of it.
    DiscoveryProbe(manager.node, "scorer").wait(240.0)
    yield process
    process.kill()
    process.communicate()


@pytest.mark.parametrize("then", ["a second signal", "the end of the manager"])
def test_a_node_goes_on_until_the_manager_is_gone_or_a_second_signal_comes(scorer, manager, then):
    scorer.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        scorer.wait(timeout=2.0)
    if then == "a second signal":
        scorer.send_signal(signal.SIGTERM)
    else:
        manager.close()
    assert scorer.wait(timeout=240.0) == 0


def test_a_node_that_is_told_to_quit_does_not_wait_for_the_manager(scorer):
    scorer.send_signal(signal.SIGQUIT)
    assert scorer.wait(timeout=240.0) == 0
