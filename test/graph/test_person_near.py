"""A rollout on the wall clock hears whether a person is near, and publishes what the safety filter does."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from robocontrast_ros.msg import SafetyIntervention
from session_runs import wait_until
from spinning import spun_node
from std_msgs.msg import Bool

from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.domain import Intervention
from robocontrast_ros.graph.parameters.rollout import RolloutParameters
from robocontrast_ros.nodes.rollout.inbox import Inbox
from robocontrast_ros.nodes.rollout.recorder_watch import RecorderWatch
from robocontrast_ros.nodes.rollout.surroundings import TopicSurroundings
from robocontrast_ros.nodes.runtime.qos import LOCKSTEP
from robocontrast_ros.robots.profile import load_profile

ROBOT = resolve_uri("package://robocontrast_ros/config/robots/franka.yaml")
PARAMETERS = RolloutParameters(robot=ROBOT, steps_per_control=50, control_period=0.1)
SLOWED = Intervention("velocity", "fr3_joint1", 0.9, 0.5, "rad/s", "slow", True)


def surroundings(node, recorder, hears_people):
    return TopicSurroundings(
        node, load_profile(ROBOT), PARAMETERS, Inbox(node), recorder, lambda: None, lambda offsets: None, hears_people
    )


def test_the_newest_message_or_silence_says_whether_a_person_is_near_and_what_the_filter_does_is_published():
    told = []
    with spun_node("rollout") as rollout, spun_node("person") as person:
        recorder = RecorderWatch(rollout, load_profile(ROBOT), PARAMETERS, lockstep=False)
        heard, deaf = (surroundings(rollout, recorder, hears) for hears in (True, False))
        person.create_subscription(SafetyIntervention, "safety", told.append, LOCKSTEP)
        publisher = person.create_publisher(Bool, "person_near", LOCKSTEP)
        assert not heard.person_near and not deaf.person_near
        wait_until(lambda: publisher.get_subscription_count() == 1, "discovery of the one that hears")
        wait_until(lambda: rollout.count_subscribers("safety") == 1, "discovery of the subscriber")

        def told_that(near: bool) -> bool:
            publisher.publish(Bool(data=near))
            return heard.person_near is near

        for near in (True, False, True, False):
            wait_until(lambda near=near: told_that(near), "the message")
        wait_until(lambda: heard.person_near, "silence, which counts as a person")
        assert not deaf.person_near
        heard.intervened(7_250_000_000, [SLOWED])
        assert recorder.published["safety"] == 1
        (message,) = wait_until(lambda: told, "the intervention")
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (7, 250_000_000)
    assert Intervention(*(getattr(message, name) for name in vars(SLOWED))) == SLOWED
