"""Several nodes in one process: what they hand over to one another, and what the process refuses."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from geometry_msgs.msg import PoseStamped
from session_runs import wait_until
from spinning import spun_node

from robocontrast_ros.nodes.runtime.intra_process import HandingPublisher, hand_over, stop_handing_over, subscribe
from robocontrast_ros.nodes.runtime.qos import LOCKSTEP, RECORDED

MAIN = "from robocontrast_ros.nodes.container_node import main; main()"


@pytest.fixture
def handed_over():
    """Hand a topic over in this process, for the test alone."""
    hand_over(["near"])
    yield
    stop_handing_over()


def test_a_message_is_handed_over_at_once_and_published_for_all_others(handed_over):
    near, far, elsewhere = [], [], []
    with spun_node("publisher") as one, spun_node("subscriber") as other:
        subscribe(one, PoseStamped, "near", near.append, LOCKSTEP)
        subscribe(one, PoseStamped, "far", far.append, LOCKSTEP)
        other.create_subscription(PoseStamped, "near", elsewhere.append, LOCKSTEP)
        publishers = [HandingPublisher(one, PoseStamped, topic, RECORDED) for topic in ("near", "far")]
        wait_until(lambda: [p.subscribers() for p in publishers] == [2, 1], "discovery")
        message = PoseStamped()
        for publisher in publishers:
            publisher.publish(message)
        assert near[0] is message, "the message itself, before publish() returns"
        wait_until(lambda: far and elsewhere, "what came through the middleware")
    assert (len(near), len(far), len(elsewhere)) == (1, 1, 1)
    assert far[0] is not message and elsewhere[0] == message


@pytest.mark.parametrize("names", [[], ["scorer", "recorder"]], ids=str)
def test_a_container_of_no_node_or_of_one_that_must_be_alone_is_refused(names):
    done = subprocess.run(
        [sys.executable, "-c", MAIN, *names], text=True, capture_output=True, timeout=120, check=False
    )
    assert done.returncode == 2 and "expected a known node of a container" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
