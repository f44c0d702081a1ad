"""The recorder as a process of its own, with publishers in other processes."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

rclpy = pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from mcap.reader import make_reader  # noqa: E402
from mcap_ros2.decoder import DecoderFactory  # noqa: E402
from rcl_interfaces.srv import GetParameters  # noqa: E402
from rclpy.client import Client  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.node import Node  # noqa: E402
from rclpy.task import Future  # noqa: E402
from robocontrast_ros.msg import RecordingStatus, TopicCount  # noqa: E402
from robocontrast_ros.srv import StartRecording, StopRecording  # noqa: E402
from std_msgs.msg import String  # noqa: E402

from robocontrast_ros.bags.reader import read_bag  # noqa: E402
from robocontrast_ros.domain import Fault  # noqa: E402
from robocontrast_ros.nodes.runtime.qos import LATCHED  # noqa: E402

RECORDER = "from robocontrast_ros.nodes.recorder_node import main; main()"
TOPICS = ["camera/image_raw sensor_msgs/msg/Image", "trial robocontrast_ros/msg/Trial"]

# For each line of its input, "images subscriptions", it waits until it has found so many subscriptions and
# publishes so many images as fast as it can. The pixels are drawn from the number of the image, so that the
# reader can draw them again.
PUBLISHER = """
import sys, time
from array import array
import numpy as np, rclpy
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Image

rclpy.init()
node = Node("publisher", namespace="eval")
reliability = ReliabilityPolicy[sys.argv[1]]
qos = QoSProfile(history=HistoryPolicy.KEEP_ALL, reliability=reliability)
publisher = node.create_publisher(Image, "camera/image_raw", qos)
print("ready", flush=True)
sent = 0
for line in sys.stdin:
    count, subscriptions = map(int, line.split())
    while publisher.get_subscription_count() != subscriptions:
        time.sleep(0.01)
    images = []
    for number in range(sent, sent + count):
        pixels = np.random.default_rng(number).integers(0, 256, 224 * 224 * 3, dtype=np.uint8)
        image = Image(height=224, width=224, encoding="rgb8", step=672)
        image.header.stamp.sec, image.header.frame_id = number, "camera"
        image.data = array("B", pixels.tobytes())
        images.append(image)
    sent += len(images)
    for image in images:
        publisher.publish(image)
    publisher.wait_for_all_acked(Duration(seconds=30))
    print(sent, flush=True)
"""


# For each line of its input, a number, it publishes so many small messages with what a session's publishers offer, and
# says with which settings of Fast DDS.
SENSOR = """
import os, sys, time
import rclpy
from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from robocontrast_ros.nodes.runtime.middleware import tune_middleware
from robocontrast_ros.nodes.runtime.qos import RECORDED

tune_middleware()
rclpy.init()
node = Node("sensor", namespace="eval")
publisher = node.create_publisher(PoseStamped, "tool_pose", RECORDED)
while publisher.get_subscription_count() == 0:
    time.sleep(0.01)
print("ready", flush=True)
for line in sys.stdin:
    for number in range(int(line)):
        publisher.publish(PoseStamped())
        time.sleep(0.001)
    print(os.environ["FASTDDS_DEFAULT_PROFILES_FILE"], flush=True)
"""


class Graph:
    """Processes, and a client of the recorder's services."""

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[str]] = []
        self._clients: dict[str, Client] = {}
        self._context = rclpy.Context()
        rclpy.init(context=self._context)
        self.node = Node("test", namespace="eval", context=self._context)
        self.executor = SingleThreadedExecutor(context=self._context)
        self.executor.add_node(self.node)

    def run(self, code: str, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._processes.append(process)
        return process

    def run_recorder(self, name: str, topics: list[str], **parameters: object) -> subprocess.Popen[str]:
        process = self.begin_recorder(name, topics, **parameters)
        self._get_to_know(name)
        return process

    def begin_recorder(self, name: str, topics: list[str], **parameters: object) -> subprocess.Popen[str]:
        listed = "[" + ", ".join(f'"{t}"' for t in topics) + "]"
        given = {"topics": listed, "discovery_deadline": 0.1, **parameters}
        options = [part for key, value in given.items() for part in ("-p", f"{key}:={value}")]
        remaps = ["-r", f"__node:={name}", "-r", "__ns:=/eval"]
        return self.run(RECORDER, "--ros-args", *remaps, *options)

    def _get_to_know(self, name: str) -> None:
        """Wait until a recorder has discovered its clients; before, it may give up an answer as unheard."""
        ours = [
            self.node.create_client(service, f"{name}/{verb}")
            for service, verb in ((StartRecording, "start"), (StopRecording, "stop"))
        ]
        self._clients |= {f"{name}/start": ours[0], f"{name}/stop": ours[1]}
        # Made last: when the recorder knows this client, it knows those before it. This question may be repeated.
        last = self.node.create_client(GetParameters, f"{name}/get_parameters")
        for client in (*ours, last):
            assert client.wait_for_service(120.0), f"{client.srv_name} is not served"
        for _ in range(120):
            future = last.call_async(GetParameters.Request())
            self.executor.spin_until_future_complete(future, 1.0)
            if future.done():
                return
        raise AssertionError(f"{last.srv_name} did not answer")

    def ask(self, name: str, request: object) -> Future:
        return self._clients[name].call_async(request)

    def call(self, name: str, request: object) -> object:
        future = self.ask(name, request)
        self.executor.spin_until_future_complete(future, 120.0)
        assert future.done(), f"{name} did not answer"
        return future.result()

    def start(self, recorder: str, bag: Path) -> StartRecording.Response:
        return self.call(f"{recorder}/start", StartRecording.Request(bag=str(bag)))

    def stop(self, recorder: str, **expected: int) -> StopRecording.Response:
        counts = [TopicCount(topic=_TOPIC.get(t, t), count=c) for t, c in expected.items()]
        return self.call(f"{recorder}/stop", StopRecording.Request(expected=counts))

    def spin_until(self, condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + 60.0
        while not condition():
            assert time.monotonic() < deadline
            self.executor.spin_once(0.1)

    def end(self) -> None:
        for process in self._processes:
            process.kill()
            process.communicate()
        self.executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self._context)


_TOPIC = {"image": "camera/image_raw"}


class Camera:
    """A publisher process."""

    def __init__(self, graph: Graph, reliability: str) -> None:
        self._process = graph.run(PUBLISHER, reliability)
        assert self._process.stdout.readline() == "ready\n"
        self.sent = 0

    def ask(self, count: int, subscriptions: int = 1) -> None:
        self._process.stdin.write(f"{count} {subscriptions}\n")
        self._process.stdin.flush()
        self.sent += count

    def publish(self, count: int, subscriptions: int = 1) -> None:
        self.ask(count, subscriptions)
        assert self._process.stdout.readline() == f"{self.sent}\n"


@pytest.fixture(scope="module")
def graph() -> Iterator[Graph]:
    graph = Graph()
    yield graph
    graph.end()


@pytest.fixture(scope="module")
def recorder(graph) -> str:
    graph.run_recorder("recorder", TOPICS, stop_deadline=30.0)
    return "recorder"


@pytest.fixture(scope="module")
def camera(graph, recorder) -> Camera:
    camera = Camera(graph, "RELIABLE")
    camera.publish(1)
    return camera


def counts(response: StopRecording.Response, field: str) -> dict[str, int]:
    return {c.topic: c.count for c in getattr(response, field)}


def images(bag: Path) -> list:
    """Read with another library than the one that wrote."""
    (file,) = bag.glob("*.mcap")
    with file.open("rb") as stream:
        reader = make_reader(stream, decoder_factories=[DecoderFactory()])
        return list(reader.iter_decoded_messages(topics=["/eval/camera/image_raw"]))


def test_of_images_at_full_speed_none_is_lost_and_each_is_read_back_equal(graph, recorder, camera, tmp_path):
    bag, first = tmp_path / "bag", camera.sent
    began = time.time_ns()
    assert graph.start(recorder, bag).fault.code == Fault.NONE
    camera.publish(400)
    response = graph.stop(recorder, image=400)
    assert response.fault.code == Fault.NONE, response.fault.detail
    assert counts(response, "received") == {"camera/image_raw": 400, "trial": 0}
    assert counts(response, "missing") == {}
    read = images(bag)
    assert [m.decoded_message.header.stamp.sec for m in read] == list(range(first, first + 400))
    for m in read:
        number = m.decoded_message.header.stamp.sec
        pixels = np.random.default_rng(number).integers(0, 256, 224 * 224 * 3, dtype=np.uint8)
        assert bytes(m.decoded_message.data) == pixels.tobytes()
    assert all(began <= m.message.log_time <= time.time_ns() for m in read)


def test_what_is_published_between_trials_is_in_no_bag(graph, recorder, camera, tmp_path):
    camera.publish(3)
    graph.start(recorder, tmp_path / "bag")
    first = camera.sent
    camera.publish(2)
    assert counts(graph.stop(recorder, image=2), "received")["camera/image_raw"] == 2
    camera.publish(3)
    assert [m.decoded_message.header.stamp.sec for m in images(tmp_path / "bag")] == [first, first + 1]


def test_what_comes_while_the_first_recording_waits_for_publishers_is_in_no_bag(graph, camera, tmp_path):
    process = graph.run_recorder("waiting", [TOPICS[0], "late std_msgs/msg/String"], discovery_deadline=60.0)
    answer = graph.ask("waiting/start", StartRecording.Request(bag=str(tmp_path / "bag")))
    graph.executor.spin_until_future_complete(answer, 0.5)
    camera.publish(3, subscriptions=2)
    publisher = graph.node.create_publisher(String, "late", 1)
    graph.executor.spin_until_future_complete(answer, 120.0)
    first = camera.sent
    camera.publish(2, subscriptions=2)
    assert counts(graph.stop("waiting", image=2), "received")["camera/image_raw"] == 2
    assert [m.decoded_message.header.stamp.sec for m in images(tmp_path / "bag")] == [first, first + 1]
    graph.node.destroy_publisher(publisher)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)


def test_messages_that_do_not_come_before_the_deadline_are_missing_by_topic(graph, camera, tmp_path):
    process = graph.run_recorder("hasty", TOPICS, stop_deadline=3.0)
    graph.start("hasty", tmp_path / "bag")
    camera.publish(2, subscriptions=2)
    response = graph.stop("hasty", image=5, trial=1)
    assert response.fault.code == Fault.NONE
    assert counts(response, "missing") == {"camera/image_raw": 3, "trial": 1}
    assert read_bag(tmp_path / "bag").counts["/eval/camera/image_raw"] == 2
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)


def test_messages_that_come_while_stop_waits_are_in_the_bag(graph, recorder, camera, tmp_path):
    graph.start(recorder, tmp_path / "bag")
    client = graph.node.create_client(StopRecording, f"{recorder}/stop")
    assert client.wait_for_service(120.0)
    expected = [TopicCount(topic="camera/image_raw", count=3)]
    answer = client.call_async(StopRecording.Request(expected=expected))
    camera.publish(3)
    graph.executor.spin_until_future_complete(answer, 60.0)
    assert counts(answer.result(), "missing") == {}
    assert counts(answer.result(), "received")["camera/image_raw"] == 3


def test_a_recording_that_cannot_be_started_or_stopped_says_why(graph, recorder, tmp_path):
    nothing = graph.stop(recorder)
    assert nothing.fault.code == Fault.RECORDER_LOST
    assert nothing.fault.detail == "nothing is being recorded. Start a recording first."
    (tmp_path / "there").mkdir()
    there = graph.start(recorder, tmp_path / "there")
    assert there.fault.code == Fault.RECORDER_LOST
    assert "there: is there already" in there.fault.detail
    assert graph.start(recorder, tmp_path / "bag").fault.code == Fault.NONE
    assert "is still being recorded" in graph.start(recorder, tmp_path / "other").fault.detail
    assert graph.stop(recorder).fault.code == Fault.NONE


def test_what_was_published_while_the_recorder_was_stopped_comes_when_it_goes_on(graph, tmp_path):
    process = graph.run_recorder("stopped", ["tool_pose geometry_msgs/msg/PoseStamped"], stop_deadline=60.0)
    sensor = graph.run(SENSOR)
    assert sensor.stdout.readline() == "ready\n"
    graph.start("stopped", tmp_path / "bag")
    process.send_signal(signal.SIGSTOP)
    sensor.stdin.write("900\n")
    sensor.stdin.flush()
    # Nobody is held back: it has published them all.
    settings = ElementTree.parse(sensor.stdout.readline().strip())
    process.send_signal(signal.SIGCONT)
    response = graph.stop("stopped", tool_pose=900)
    assert counts(response, "received") == {"tool_pose": 900}
    assert counts(response, "missing") == {}
    # The recorder learns of what it missed by a heartbeat; Fast DDS by itself has one in 3 s.
    heartbeat = settings.find(".//data_writer[@is_default_profile='true']/times/heartbeat_period")
    assert [int(heartbeat.find(part).text) for part in ("sec", "nanosec")] == [0, 100_000_000]


def test_the_recorder_reports_what_it_has_received_of_the_present_recording(graph, recorder, camera, tmp_path):
    reports: list[RecordingStatus] = []
    listener = graph.node.create_subscription(RecordingStatus, f"{recorder}/status", reports.append, LATCHED)

    def last() -> tuple[str, dict[str, int]]:
        return reports[-1].bag, {c.topic: c.count for c in reports[-1].received}

    for name, images in (("first", 200), ("second", 20)):
        bag = str(tmp_path / name)
        graph.start(recorder, tmp_path / name)
        graph.spin_until(lambda bag=bag: reports and last() == (bag, {"camera/image_raw": 0, "trial": 0}))
        camera.publish(images)
        # Of images of this size a publisher keeps 445, and an eighth of them may be unreported.
        graph.spin_until(lambda images=images: last()[1]["camera/image_raw"] >= images - 56)
        assert counts(graph.stop(recorder, image=images), "missing") == {}
    assert len(reports) <= 3 + 220 // 55, "the last one before, one for each start, and the rest"
    graph.node.destroy_subscription(listener)


def test_a_stop_whose_asker_gave_up_is_over_when_somebody_asks_again(graph, recorder, camera, tmp_path):
    graph.start(recorder, tmp_path / "bag")
    client = graph.node.create_client(StopRecording, f"{recorder}/stop")
    assert client.wait_for_service(120.0)
    expected = [TopicCount(topic="camera/image_raw", count=3)]
    given_up = client.call_async(StopRecording.Request(expected=expected))
    graph.executor.spin_until_future_complete(given_up, 0.5)
    again = client.call_async(StopRecording.Request(expected=expected))
    graph.executor.spin_until_future_complete(given_up, 60.0)
    assert given_up.result().fault.detail == "it was asked to stop again"
    assert not again.done(), "the messages may still come"
    camera.publish(3)
    graph.executor.spin_until_future_complete(again, 60.0)
    assert (again.result().fault.code, counts(again.result(), "missing")) == (Fault.NONE, {})
    assert counts(again.result(), "received")["camera/image_raw"] == 3


def test_the_metadata_is_written_for_humble_where_it_is_asked_for(graph, camera, tmp_path):
    process = graph.run_recorder("old", TOPICS, stop_deadline=30.0, format="humble")
    graph.start("old", tmp_path / "bag")
    camera.publish(1, subscriptions=2)
    assert counts(graph.stop("old", image=1), "missing") == {}
    assert "version: 8" in (tmp_path / "bag" / "metadata.yaml").read_text()
    assert read_bag(tmp_path / "bag").counts["/eval/camera/image_raw"] == 1
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)


def test_sigint_closes_the_bag(graph, camera, tmp_path):
    process = graph.run_recorder("interrupted", TOPICS)
    graph.start("interrupted", tmp_path / "bag")
    camera.publish(4, subscriptions=2)
    deadline = time.monotonic() + 120.0
    while read_bag(tmp_path / "bag").counts.get("/eval/camera/image_raw") != 4:
        assert time.monotonic() < deadline
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    content = read_bag(tmp_path / "bag")
    assert content.broken == ""
    assert content.counts["/eval/camera/image_raw"] == 4


def test_a_camera_that_offers_best_effort_only_is_recorded_too(graph, tmp_path):
    graph.run_recorder("recorder2", ["camera/image_raw sensor_msgs/msg/Image"], stop_deadline=2.0)
    camera = Camera(graph, "BEST_EFFORT")
    camera.ask(1)
    deadline, received = time.monotonic() + 120.0, 0
    while received == 0 and time.monotonic() < deadline:
        # The recorder looks for publishers of best effort when a trial begins, and may not have found it yet.
        graph.start("recorder2", tmp_path / f"bag{time.monotonic_ns()}")
        received = counts(graph.stop("recorder2", image=1), "received")["camera/image_raw"]
    assert received == 1


@pytest.mark.parametrize(
    ("topics", "words"),
    [
        (
            ["image sensor_msgs/Image"],
            ["`topics.0`", "'image sensor_msgs/Image'", "'topic package/msg/Type'"],
        ),
        (
            ["image sensor_msgs/msg/Picture"],
            ["`topics.0`", "'sensor_msgs/msg/Picture'", "Install the package"],
        ),
    ],
)
def test_a_topic_that_cannot_be_recorded_is_refused_by_name_at_start_up(graph, topics, words):
    process = graph.begin_recorder("wrong", topics)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 2
    assert len(errors.splitlines()) == 1
    for word in words:
        assert word in errors
