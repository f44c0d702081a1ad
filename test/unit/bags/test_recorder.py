"""The recorder without ROS: every message is in the bag or counted as lost."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robocontrast_ros.bags.errors import BagError
from robocontrast_ros.bags.reader import read_bag
from robocontrast_ros.bags.recorder import Recorder
from robocontrast_ros.bags.writer import BagTopic
from robocontrast_ros.domain import Scene

TOPICS = {
    "scene": BagTopic("/eval/scene", "robocontrast_ros/msg/Scene"),
    "image": BagTopic("/eval/image", "sensor_msgs/msg/Image"),
}


@pytest.fixture(scope="module")
def scene_cdr(messages) -> bytes:
    return messages.cdr(messages.scene(Scene()))


@pytest.fixture(scope="module")
def image_cdr(messages) -> bytes:
    return messages.cdr(messages.image(np.zeros((224, 224, 3), np.uint8), 0))


def test_what_arrives_between_start_and_stop_is_in_the_bag_and_nothing_else(tmp_path, scene_cdr):
    recorder = Recorder(TOPICS)
    recorder.receive("scene", 1, scene_cdr)
    recorder.start(tmp_path / "first")
    recorder.receive("scene", 2, scene_cdr)
    recorder.receive("scene", 3, scene_cdr)
    first = recorder.stop({"scene": 2})
    recorder.receive("scene", 4, scene_cdr)
    recorder.start(tmp_path / "second")
    recorder.receive("scene", 5, scene_cdr)
    second = recorder.stop({})
    assert (first.written, first.missing, first.overflowed, first.problem) == (
        {"image": 0, "scene": 2},
        {},
        {},
        "",
    )
    assert [m.timestamp for m in read_bag(first.bag).messages] == [2, 3]
    assert [m.timestamp for m in read_bag(second.bag).messages] == [5]


def test_what_was_published_before_the_trial_and_comes_late_is_left_out_and_hides_no_loss(tmp_path, messages):
    recorder = Recorder(TOPICS)
    recorder.start(tmp_path / "bag", after=20)
    for stamp in (10, 20, 21, 30, 0):
        recorder.receive("scene", 1, messages.cdr(messages.scene(Scene(), stamp)))
    assert not recorder.arrived({"scene": 4})
    recorded = recorder.stop({"scene": 4})
    stamps = [message.decode().header.stamp.nanosec for message in read_bag(recorded.bag).messages]
    assert (stamps, recorded.missing) == ([21, 30, 0], {"scene": 1})


def test_what_is_latched_is_taken_though_it_is_stamped_before_the_trial(tmp_path, messages):
    recorder = Recorder({"scene": BagTopic("/eval/scene", "robocontrast_ros/msg/Scene", latched=True)})
    recorder.start(tmp_path / "bag", after=20)
    recorder.receive("scene", 1, messages.cdr(messages.scene(Scene(), 10)))
    assert recorder.stop({"scene": 1}).missing == {}


def test_what_is_published_once_for_all_trials_is_in_every_bag(tmp_path, scene_cdr, image_cdr):
    recorder = Recorder(TOPICS, kept=("scene",))
    recorder.receive("scene", 1, scene_cdr)
    recorder.receive("image", 2, image_cdr)
    for bag in ("first", "second"):
        recorder.start(tmp_path / bag)
        assert recorder.stop({}).written == {"image": 0, "scene": 1}
        assert [m.cdr for m in read_bag(tmp_path / bag).messages] == [scene_cdr]


def test_what_was_expected_and_did_not_come_is_missing_by_topic(tmp_path, scene_cdr):
    recorder = Recorder(TOPICS)
    recorder.start(tmp_path / "bag")
    recorder.receive("scene", 1, scene_cdr)
    assert not recorder.arrived({"scene": 2})
    assert recorder.arrived({"scene": 1})
    assert recorder.stop({"scene": 3, "image": 1, "other": 4}).missing == {"image": 1, "other": 4, "scene": 2}


def test_a_topic_keeps_the_order_of_arrival_where_the_times_of_reception_do_not(tmp_path, messages):
    recorder = Recorder(TOPICS)
    recorder.start(tmp_path / "bag")
    for number, timestamp in enumerate([10, 30, 20, 20, 40]):
        recorder.receive("scene", timestamp, messages.cdr(messages.scene(Scene(), number)))
    recorder.stop({})
    read = read_bag(tmp_path / "bag").messages
    assert [m.decode().header.stamp.nanosec for m in read] == [0, 1, 2, 3, 4]
    assert [m.timestamp for m in read] == [10, 30, 31, 32, 40]


def test_more_than_expected_is_no_loss(tmp_path, scene_cdr):
    recorder = Recorder(TOPICS)
    recorder.start(tmp_path / "bag")
    recorder.receive("scene", 1, scene_cdr)
    assert recorder.stop({"scene": 0}).missing == {}


def test_a_message_that_the_queue_cannot_hold_is_counted_and_reported(tmp_path, image_cdr, scene_cdr):
    recorder = Recorder(TOPICS, queue_size=0.1)
    recorder.start(tmp_path / "bag")
    for i in range(3):
        recorder.receive("image", i, image_cdr)
    recorder.receive("scene", 3, scene_cdr)
    recorded = recorder.stop({"image": 3, "scene": 1})
    assert recorded.overflowed == {"image": 3}
    assert recorded.missing == {"image": 3}
    assert recorded.written == {"image": 0, "scene": 1}
    assert "the disk did not keep up: 3 of image. Use a faster disk" in recorded.problem


@settings(max_examples=15, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 60_000), max_size=60),
    queue_size=st.sampled_from([0.02, 0.1, 64.0]),
)
def test_no_message_is_lost_uncounted(tmp_path_factory, messages, sizes, queue_size):
    recorder = Recorder(TOPICS, queue_size=queue_size)
    recorder.start(tmp_path_factory.mktemp("run") / "bag")
    for i, size in enumerate(sizes):
        pixels = np.full((1, size, 3), i, np.uint8)
        recorder.receive("image", i, messages.cdr(messages.image(pixels, i)))
    recorded = recorder.stop({"image": len(sizes)})
    assert recorded.written["image"] + recorded.overflowed.get("image", 0) == len(sizes)
    kept = [m.decode() for m in read_bag(recorded.bag).messages]
    assert len(kept) == recorded.written["image"]
    assert all(m.width == sizes[m.header.stamp.nanosec] for m in kept)


def test_messages_may_come_from_several_threads(tmp_path, image_cdr, scene_cdr):
    recorder = Recorder(TOPICS)
    recorder.start(tmp_path / "bag")

    def send(name: str, cdr: bytes) -> None:
        for i in range(200):
            recorder.receive(name, i, cdr)

    threads = [threading.Thread(target=send, args=a) for a in (("scene", scene_cdr), ("image", image_cdr))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert recorder.stop({}).written == {"image": 200, "scene": 200}


def test_one_bag_at_a_time(tmp_path):
    recorder = Recorder(TOPICS)
    recorder.start(tmp_path / "first")
    with pytest.raises(BagError, match=r"first' is still being recorded\. Stop it first"):
        recorder.start(tmp_path / "second")
    recorder.stop({})
    with pytest.raises(BagError, match="nothing is being recorded"):
        recorder.stop({})


def test_a_bag_that_cannot_be_made_leaves_the_recorder_ready(tmp_path):
    recorder = Recorder(TOPICS)
    (tmp_path / "bag").mkdir()
    with pytest.raises(BagError, match="is there already"):
        recorder.start(tmp_path / "bag")
    assert not recorder.recording
    recorder.start(tmp_path / "other")
    assert recorder.stop({}).problem == ""


def test_what_was_recorded_is_on_the_disk_within_the_flush_period(tmp_path, scene_cdr):
    recorder = Recorder(TOPICS, flush_period=0.05)
    recorder.start(tmp_path / "bag")
    recorder.receive("scene", 1, scene_cdr)
    deadline = time.monotonic() + 60.0
    while read_bag(tmp_path / "bag").counts.get("/eval/scene") != 1:
        assert time.monotonic() < deadline
    recorder.stop({})


FULL_DISK = """
import os, resource, sys
from pathlib import Path
from robocontrast_ros.bags.recorder import Recorder
from robocontrast_ros.bags.writer import BagTopic
resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))
recorder = Recorder({"t": BagTopic("/t", "std_msgs/msg/UInt8MultiArray")})
recorder.start(Path(sys.argv[1]))
head = bytes([0, 1, 0, 0]) + bytes(8) + (100_000).to_bytes(4, "little")
for i in range(100):
    recorder.receive("t", i, head + os.urandom(100_000))
recorded = recorder.stop({"t": 100})
print(recorded.problem)
print(recorded.written["t"] + recorded.missing["t"])
"""


def test_a_full_disk_is_said_at_the_end_of_the_trial_and_the_loss_is_counted(tmp_path):
    child = subprocess.run(
        [sys.executable, "-c", FULL_DISK, tmp_path / "bag"], capture_output=True, text=True, timeout=600
    )
    assert child.stderr == ""
    problem, total = child.stdout.splitlines()
    assert problem.startswith(f"{tmp_path / 'bag'}: File too large.")
    assert total == "100"
