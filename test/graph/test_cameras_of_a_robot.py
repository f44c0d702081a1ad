"""A session on the wall clock with a camera whose driver publishes compressed images, and its diagnostics."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest
import yaml

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from diagnostic_msgs.msg import DiagnosticArray
from domains import own_domain
from rclpy.node import Node
from robocontrast_ros.msg import Judgement
from robocontrast_ros.srv import JudgeTrial, SwapPolicy
from rosbags.highlevel import AnyReader
from sensor_msgs.msg import CameraInfo, CompressedImage, Image, JointState
from session_runs import Workplace, finish, finished, wait_until
from spinning import spun_node
from trajectory_msgs.msg import JointTrajectory

from robocontrast_ros.analysis.figures.trial_picture import read_images
from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.domain import Fault, Outcome, nanoseconds
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.messages.decoding import stamp_from_msg
from robocontrast_ros.messages.topics import Topic
from robocontrast_ros.nodes.conversions.time import time_to_msg
from robocontrast_ros.nodes.rollout.inbox import Inbox
from robocontrast_ros.nodes.rollout.parameters import RolloutParameters
from robocontrast_ros.nodes.rollout.recorder_watch import RecorderWatch
from robocontrast_ros.nodes.rollout.surroundings import TopicSurroundings
from robocontrast_ros.nodes.runtime.channel import DiscoveryProbe, call
from robocontrast_ros.nodes.runtime.qos import recorded
from robocontrast_ros.policies.serving.runner import image_digest
from robocontrast_ros.robots.profile import load_profile

RATE = 20.0
"""Of the camera [Hz]; the control rate is 10 Hz."""
IMAGE, INFO = "camera/camera/color/image_raw", "camera/camera/color/camera_info"
FRAME = "camera_color_optical_frame"


def picture() -> np.ndarray:
    """Return what the camera sees, shape (48, 64, 3), RGB: reddish, no two rows alike."""
    pixels = np.zeros((48, 64, 3), np.uint8)
    pixels[..., 0] = 200
    pixels[..., 1] = np.arange(48)[:, None]
    pixels[10:20, 10:20, 2] = 90
    return pixels


def write_session(place: Workplace, policy: str = "LookOn", **changes: object) -> Path:
    """Write a session of a policy, by default one that looks, of an arm whose camera's images come compressed."""
    task, robot = place.folder / "line.yaml", place.folder / "arm.yaml"
    task.write_text("task: wall_clock_line:WallClockLine\n")
    camera = {"name": "board", "image_topic": IMAGE, "info_topic": INFO, "frame_id": FRAME, "transport": "compressed"}
    robot.write_text(yaml.safe_dump({"extends": "franka", "cameras": [camera]}))
    return place.session(
        world={"backend": "wall_clock_line:Helper", "pacing": "wall_clock", "judge": "outside"},
        task=str(task),
        robot=str(robot),
        policy=place.policy(policy, "wall_clock_line"),
        stop_on_success=False,
        test_set={"size": 2},
        **changes,
    )


def encoded() -> bytes:
    """Return the picture as JPEG."""
    done, jpeg = cv2.imencode(".jpg", picture()[..., ::-1])
    assert done
    return jpeg.tobytes()


def film(node: Node, jpeg: bytes, frame: str = FRAME) -> None:
    """Publish an image again and again, as the camera's driver."""
    images = node.create_publisher(CompressedImage, f"{IMAGE}/compressed", recorded(10_000))
    infos = node.create_publisher(CameraInfo, INFO, recorded(1000))

    def publish() -> None:
        image = CompressedImage(format="rgb8; jpeg compressed bgr8", data=jpeg)
        image.header.stamp = node.get_clock().now().to_msg()
        info = CameraInfo(width=64, height=48)
        image.header.frame_id = info.header.frame_id = frame
        info.header.stamp = image.header.stamp
        infos.publish(info)
        images.publish(image)

    node.create_timer(1.0 / RATE, publish)


def test_images_of_another_size_end_a_session_before_anything_moves(tmp_path):
    place = Workplace(tmp_path)
    session = write_session(place, cameras=[{"name": "board", "width": 128, "height": 48}])
    with spun_node("camera") as node:
        told: list[JointTrajectory] = []
        node.create_subscription(JointTrajectory, "fr3_arm_controller/joint_trajectory", told.append, 10)
        film(node, encoded())
        code, output = place.run("evaluate", session)
    assert code == 3, output
    words = "have 64x48 pixels, expected 128x48, as the session's `cameras`"
    assert f"SENSOR_LOST: camera 'board': images on {IMAGE}/compressed {words}" in output
    assert not told


def test_a_camera_in_another_frame_is_told_when_a_policy_that_needs_it_is_swapped_in(tmp_path):
    place = Workplace(tmp_path)
    session, asked = write_session(place, "PushOn", void_retries=0), threading.Event()

    def judge(_: JudgeTrial.Request, response: JudgeTrial.Response) -> JudgeTrial.Response:
        asked.wait(240.0)  # no second trial begins before the swap
        response.judgement = Judgement(by="a person")
        return response

    with spun_node("camera") as node, spun_node("person") as person:
        film(node, encoded(), "elsewhere")
        person.create_service(JudgeTrial, "judge/judge_trial", judge)
        swap = node.create_client(SwapPolicy, "episode_manager/swap_policy")
        process = place.begin("evaluate", session)
        try:
            assert swap.wait_for_service(240.0)
            DiscoveryProbe(node, "episode_manager").wait(60.0)
            request = SwapPolicy.Request(policy=place.policy("LookOn", "wall_clock_line"))
            # It serves the request before it runs the session.
            wait_until(lambda: call(swap, request, 120.0).accepted, "a swap that is taken")
        finally:
            asked.set()
            code, output = finish(process)
    assert code == 3, output
    words = f"are in the frame 'elsewhere', expected '{FRAME}', the `frame_id` in"
    assert f"SENSOR_LOST: camera 'board': images on {IMAGE}/compressed {words}" in output


@pytest.mark.parametrize(
    ("ahead", "words"),
    [
        (0.0, ""),
        (0.4, " s ahead of those of joint_states, more than 0.1 s: old images would pass as new"),
        (5.0, "ahead of this machine's clock, more than `driver.clock_tolerance` (1 s)"),
        (-0.4, " s older than the robot's state, more than its `staleness` (0.05 s)"),
    ],
)
def test_images_whose_clock_is_ahead_of_the_states_do_not_pass_as_new_and_old_ones_are_told(ahead, words):
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
            state.header.stamp, image.header.stamp = time_to_msg(now), time_to_msg(now + nanoseconds(ahead))
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
            seen.images(due)
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


def test_compressed_images_are_decoded_for_the_policy_and_recorded_as_they_came(tmp_path):
    place, jpeg = Workplace(tmp_path), encoded()
    session = write_session(place)
    reports: list[DiagnosticArray] = []

    def judge(_: JudgeTrial.Request, response: JudgeTrial.Response) -> JudgeTrial.Response:
        response.judgement = Judgement(success=True, progress=1.0, by="a person", note="seen")
        return response

    with spun_node("camera") as node:
        node.create_service(JudgeTrial, "judge/judge_trial", judge)
        node.create_subscription(DiagnosticArray, "diagnostics", reports.append, 10)
        film(node, jpeg)
        code, output = place.run("evaluate", session)
        assert code == 0, output

    (run,) = place.runs
    trials = finished(run)
    assert [event.result.outcome for event in trials] == [Outcome.SUCCESS] * 2, "it saw the colours that were sent"
    decoded = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)[..., ::-1]
    assert {event.observed.image_digest for event in trials} == {image_digest({"board": decoded})}
    bag = run / trials[0].recording.bag
    with AnyReader([bag]) as reader:
        (connection,) = [c for c in reader.connections if c.topic.endswith("/compressed")]
        assert connection.msgtype == "sensor_msgs/msg/CompressedImage"
        received = [reader.deserialize(raw, connection.msgtype) for _, _, raw in reader.messages([connection])]
        assert not any(c.topic.endswith("image_raw") for c in reader.connections)
    assert len(received) > 10 and all(bytes(message.data) == jpeg for message in received)
    assert all(np.array_equal(image.pixels, decoded) for image in read_images(bag))
    code, output = place.run("picture", bag, "--to", tmp_path / "trial.png")
    assert code == 0, output

    named = [(status, array) for array in reports for status in array.status]
    parts = {status.name for status, _ in named}
    assert parts == {"episode_manager: session", "rollout: robot state", "rollout: camera board"}
    assert {status.hardware_id for status, _ in named} == {"franka"}
    assert all(array.header.stamp.sec > 1e9 for array in reports), "of the wall clock"
    rates = [
        {pair.key: pair.value for pair in status.values}
        for status, _ in named
        if status.name == "rollout: camera board" and status.message != "counting"
    ]
    assert rates and all(values["expected rate [Hz]"] == "10" for values in rates)
    assert max(float(values["rate [Hz]"]) for values in rates) > 5.0
    states = {status.message for status, _ in named if status.name == "episode_manager: session"}
    assert any(message.startswith("running") for message in states)
