"""Images of a robot's camera on the wall clock: which are taken, and what is said of those that cannot be."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from domains import own_domain
from sensor_msgs.msg import Image, JointState
from session_runs import wait_until
from spinning import spun_node

from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.domain import Fault, nanoseconds
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.graph.parameters.rollout import RolloutParameters
from robocontrast_ros.messages.decoding import stamp_from_msg
from robocontrast_ros.messages.topics import Topic
from robocontrast_ros.nodes.conversions.domain import time_to_msg
from robocontrast_ros.nodes.rollout.inbox import Inbox
from robocontrast_ros.nodes.rollout.recorder_watch import RecorderWatch
from robocontrast_ros.nodes.rollout.surroundings import TopicSurroundings
from robocontrast_ros.robots.profile import load_profile

IMAGE = "camera/camera/color/image_raw"


@pytest.mark.parametrize(
    ("ahead", "late", "words"),
    [
        (0.0, 0.0, ""),
        (0.0, 0.4, ""),
        (0.4, 0.0, " s ahead of those of joint_states, more than 0.1 s: old images would pass as new"),
        (5.0, 0.0, "ahead of this machine's clock, more than `driver.clock_tolerance` (1 s)"),
        (-0.4, 0.0, " s older than the robot's state, more than its `staleness` (0.05 s)"),
    ],
)
def test_images_whose_clock_is_ahead_of_the_states_do_not_pass_as_new_and_old_ones_are_told(ahead, late, words):
    robot = resolve_uri("package://robocontrast_ros/config/robots/franka.yaml")
    parameters = RolloutParameters(robot=robot, steps_per_control=50, control_period=0.1, sensor_timeout=1.0)
    profile = load_profile(robot)
    with own_domain(), spun_node("rollout") as node, spun_node("drivers") as drivers:
        inbox = Inbox(node)
        inbox.subscribe(JointState, profile.state.topic)
        recorder = RecorderWatch(node, profile, parameters, False)
        seen = TopicSurroundings(node, profile, parameters, inbox, recorder, lambda: None, lambda offsets: None)
        seen.need({"board": Topic(IMAGE, "sensor_msgs/msg/Image")}, False)
        states = drivers.create_publisher(JointState, profile.state.topic, 10)
        images = drivers.create_publisher(Image, IMAGE, 10)

        def publish() -> None:
            now = time.time_ns()
            state, image = JointState(), Image(height=1, width=1, encoding="rgb8", step=3, data=bytes(3))
            state.header.stamp, image.header.stamp = (
                time_to_msg(now - nanoseconds(late)),
                time_to_msg(now + nanoseconds(ahead)),
            )
            states.publish(state)
            images.publish(image)

        drivers.create_timer(0.02, publish)
        state = inbox.wait((profile.state.topic,), 0, 60.0)[profile.state.topic]
        inbox.wait((IMAGE,), 0, 60.0)
        due = stamp_from_msg(state.header.stamp) + (nanoseconds(100.0) if ahead < 0.0 else 0)
        if not words:
            assert seen.images(due)["board"].width == 1
            return
        with pytest.raises(BenchFault) as raised:
            wait_until(lambda: inbox.read() or not seen.images(due), "the clock of the states is known")
    assert raised.value.fault is Fault.SENSOR_LOST
    assert raised.value.detail.startswith("camera 'board': ") and words in raised.value.detail


def test_images_that_cannot_be_shown_are_told_at_the_start_and_those_that_change_as_soon_as_they_do():
    robot = resolve_uri("package://robocontrast_ros/config/robots/franka.yaml")
    parameters = RolloutParameters(robot=robot, steps_per_control=50, control_period=0.1, sensor_timeout=10.0)
    profile = load_profile(robot)
    frame = next(camera.frame_id for camera in profile.cameras if camera.name == "board")
    with own_domain(), spun_node("rollout") as node, spun_node("driver") as driver:
        inbox = Inbox(node)
        recorder = RecorderWatch(node, profile, parameters, False)
        seen = TopicSurroundings(node, profile, parameters, inbox, recorder, lambda: None, lambda offsets: None)
        seen.need({"board": Topic(IMAGE, "sensor_msgs/msg/Image")}, False)
        images = driver.create_publisher(Image, IMAGE, 10)

        def publish(encoding: str, width: int, pixel: int) -> int:
            """Publish an image until it has arrived, and return its stamp [ns]."""
            image = Image(height=1, width=width, encoding=encoding, step=width * pixel, data=bytes(width * pixel))
            image.header.frame_id, image.header.stamp = frame, driver.get_clock().now().to_msg()

            def arrived() -> bool:
                images.publish(image)
                newest = inbox.newest(IMAGE)
                return newest is not None and newest.header.stamp == image.header.stamp

            wait_until(arrived, "the image")
            return stamp_from_msg(image.header.stamp)

        def told(check: Callable[[], object]) -> str:
            with pytest.raises(BenchFault) as raised:
                check()
            assert raised.value.fault is Fault.SENSOR_LOST
            assert raised.value.detail.startswith(f"camera 'board': images on {IMAGE} ")
            return raised.value.detail

        publish("16UC1", 2, 2)
        assert "cannot be read: image encoding: got '16UC1'" in told(seen.check_cameras)
        publish("rgb8", 2, 2)
        assert "rows of 4 bytes (`step`), expected at least 6 for 2 pixels" in told(seen.check_cameras)
        publish("bgra8", 2, 4)
        seen.check_cameras()
        stamp = publish("yuyv", 2, 2)
        assert seen.images(stamp)["board"].encoding == "yuyv"
        stamp = publish("bgra8", 4, 4)
        assert "have 4x1 pixels, expected 2x1, as at the start" in told(lambda: seen.images(stamp))
