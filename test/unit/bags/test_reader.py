"""A trial read back from its bag, whole or broken."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from examples import examples
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from line_world import LineTask
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from trial_bags import TRIAL_TOPICS, Played, kill, record_trial

from robocontrast_ros.bags.errors import BagError
from robocontrast_ros.bags.reader import read_bag, read_trial
from robocontrast_ros.bags.writer import BagWriter
from robocontrast_ros.domain import Pose, Proof, Trial

TASK = LineTask()


def make_trial(seed: int = 0) -> Trial:
    instance = TASK.sample(np.random.default_rng(seed), "x-0")
    return Trial(3, "x-0", "LB2", 1, instance, 2**32 - 1, "left became right", twin="0001", block=1)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> tuple[Path, Played]:
    bag = tmp_path_factory.mktemp("run") / "0003"
    return bag, record_trial(bag, TASK, make_trial(), np.random.default_rng(5), epoch=10**9, task_digest="ab")


def test_everything_that_was_recorded_comes_back_equal(recorded):
    bag, played = recorded
    recording = read_trial(bag)
    assert recording.trial == make_trial()
    assert (recording.session, recording.robot, recording.policy) == ("session", "franka", "oracle")
    assert recording.task_digest == "ab"
    assert recording.start_scene == played.start
    assert recording.progress == played.progress
    assert repr(recording.result) == repr(played.result)
    assert recording.broken == ""
    assert recording.counts == {
        "/eval/camera/image_raw": 0,
        "/eval/progress": 12,
        "/eval/scene": 15,
        "/eval/tool_pose": 14,
        "/eval/trial": 1,
        "/eval/trial_result": 1,
    }


def test_where_the_robot_is_and_what_it_touches_is_read_back(tmp_path, messages):
    trial = make_trial()
    instance = replace(
        trial.instance,
        scene=replace(trial.instance.scene, robot=Pose.planar(1.0, 2.0, 0.5)),
        reference_path=((1.0, 2.0), (1.5, 2.5)),
        proof=Proof("the path stays", (("path_before_m", 3.5),)),
    )
    start = replace(instance.scene, robot=Pose.planar(1.01, 2.0, 0.5), contacts=("couch", "lamp"), carried=("mug",))
    with closing(BagWriter(tmp_path / "bag", TRIAL_TOPICS)) as writer:
        message = messages.trial(replace(trial, instance=instance), start, 7)
        writer.write("/eval/trial", 1, messages.cdr(message))
    recording = read_trial(tmp_path / "bag")
    assert recording.trial.instance == instance
    assert recording.start_scene == start


def test_samples_are_the_control_steps_after_the_start_scene_in_order(recorded):
    recording = read_trial(recorded[0])
    stamps = [s.stamp for s in recording.samples]
    assert stamps == [10**9 + (i + 1) * 10**8 for i in range(13)]
    assert recording.result_stamp == stamps[-2]


def test_a_trial_without_a_scene_that_was_read_back_starts_in_the_wanted_one(tmp_path, messages):
    trial = make_trial()
    with closing(BagWriter(tmp_path / "bag", TRIAL_TOPICS)) as writer:
        writer.write("/eval/trial", 1, messages.cdr(messages.trial(trial)))
    recording = read_trial(tmp_path / "bag")
    assert recording.start_scene == trial.instance.scene
    assert (recording.samples, recording.result, recording.result_stamp) == ((), None, None)


def test_a_bag_is_read_where_no_ros_is_installed(recorded):
    code = (
        "import sys\n"
        "from importlib.abc import MetaPathFinder\n"
        "class NoRos(MetaPathFinder):\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in ('rclpy', 'rosidl_parser', 'geometry_msgs', 'std_msgs') "
        "or name == 'robocontrast_ros.msg':\n"
        "            raise ImportError(name + ' is blocked')\n"
        "sys.meta_path.insert(0, NoRos())\n"
        "sys.prefix = '/nowhere'\n"
        "from pathlib import Path\n"
        "from robocontrast_ros.bags.reader import read_trial\n"
        "print(read_trial(Path(sys.argv[1])).result.scores['path_length'])\n"
    )
    bag, played = recorded
    child = subprocess.run([sys.executable, "-c", code, bag], capture_output=True, text=True, timeout=600)
    assert child.stderr == ""
    assert float(child.stdout) == played.result.scores["path_length"]


def without_metadata(bag: Path, target: Path) -> Path:
    shutil.copytree(bag, target)
    (target / "metadata.yaml").unlink()
    return target


def test_a_bag_whose_recorder_was_killed_is_read_whole_and_said_to_be_broken(recorded, tmp_path):
    bag, _ = recorded
    kill(Path(shutil.copytree(bag, tmp_path / "torn")))
    torn = read_trial(tmp_path / "torn")
    assert "no metadata.yaml: the recorder ended before it could close the bag" in torn.broken
    assert repr(replace(torn, bag=bag, broken="", counts={})) == repr(replace(read_trial(bag), counts={}))


@examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(share=st.floats(0.0, 1.0), compression=st.sampled_from(["zstd", "none"]))
def test_a_bag_cut_off_anywhere_gives_what_stood_before_the_cut_or_says_what_is_wrong(
    tmp_path_factory, share, compression
):
    run = tmp_path_factory.mktemp("cut")
    count = 60
    topics = [t for t in TRIAL_TOPICS if t.name.endswith("scene")]
    with closing(BagWriter(run / "bag", topics, compression)) as writer:
        for i in range(count):
            writer.write("/eval/scene", i, bytes([0, 1, 0, 0]) + i.to_bytes(4, "little") * 200)
            if i % 7 == 6:
                writer.flush()
    whole = read_bag(run / "bag").messages
    assert len(whole) == count
    torn = without_metadata(run / "bag", run / "torn")
    (file,) = torn.glob("*.mcap")
    size = file.stat().st_size
    with file.open("r+b") as stream:
        stream.truncate(round(share * size))
    content = read_bag(torn)
    assert bool(content.broken) is (share < 1.0 and file.stat().st_size < size)
    assert content.messages == whole[: len(content.messages)]
    if not content.broken:
        assert len(content.messages) == count
    else:
        assert "breaks off" in content.broken or len(content.messages) == count


@pytest.mark.parametrize("metadata", [True, False], ids=["closed", "killed"])
def test_a_chunk_that_cannot_be_decompressed_is_a_break(tmp_path, metadata):
    topics = [t for t in TRIAL_TOPICS if t.name.endswith("scene")]
    with closing(BagWriter(tmp_path / "bag", topics)) as writer:
        for i in range(9):
            writer.write("/eval/scene", i, bytes([0, 1, 0, 0]) + bytes(range(200)))
            if i == 4:
                writer.flush()
    bag = tmp_path / "bag" if metadata else without_metadata(tmp_path / "bag", tmp_path / "torn")
    (file,) = bag.glob("*.mcap")
    content = bytearray(file.read_bytes())
    # The frame of the third chunk: definitions, then five messages, then four.
    frame = [m.start() for m in re.finditer(re.escape(b"\x28\xb5\x2f\xfd"), content)][2]
    content[frame : frame + 8] = bytes(8)
    file.write_bytes(content)
    damaged = read_bag(bag)
    assert damaged.counts == {"/eval/scene": 5}
    assert "ZstdError" in damaged.broken


def test_a_bag_whose_end_was_lost_after_it_was_closed_is_read_up_to_the_break(recorded, tmp_path):
    bag, played = recorded
    torn = tmp_path / "torn"
    shutil.copytree(bag, torn)
    (file,) = torn.glob("*.mcap")
    with file.open("r+b") as stream:
        stream.truncate(file.stat().st_size - 100)
    recording = read_trial(torn)
    assert repr(recording.result) == repr(played.result)
    assert "breaks off" in recording.broken


@pytest.mark.parametrize(
    "change",
    [
        *(lambda _, text=text: text for text in ("", "not: a bag", "{", "rosbag2_bagfile_information: 3")),
        lambda text: text.replace("storage_identifier: mcap", "storage_identifier: ''"),
        lambda text: text.replace("version: ", "version: 9"),
        lambda text: re.sub(r"relative_file_paths:\n *- ", "relative_file_paths: ", text),
        lambda _: "[" * 100_000 + "]" * 100_000,
        lambda _: "a: " * 100_000,
        lambda _: None,
    ],
)
def test_a_bag_with_poor_metadata_is_read_by_its_own_index(recorded, tmp_path, change):
    bag, _ = recorded
    other = tmp_path / "other"
    shutil.copytree(bag, other)
    text = change((bag / "metadata.yaml").read_text())
    assert text != (bag / "metadata.yaml").read_text()
    (other / "metadata.yaml").unlink()
    if text is not None:
        (other / "metadata.yaml").write_text(text)
    assert repr(replace(read_trial(other), bag=bag)) == repr(read_trial(bag))


def test_a_file_that_is_missing_is_told_by_metadata(recorded, tmp_path):
    other = Path(shutil.copytree(recorded[0], tmp_path / "other"))
    metadata = other / "metadata.yaml"
    metadata.write_text(metadata.read_text().replace("relative_file_paths:\n", "relative_file_paths:\n  - 1.mcap\n"))
    assert read_trial(other).broken == "1.mcap of metadata.yaml missing"


def test_a_scene_that_makes_no_sense_is_a_break_and_what_stood_before_it_is_kept(tmp_path, messages):
    trial = make_trial()
    with closing(BagWriter(tmp_path / "bag", TRIAL_TOPICS)) as writer:
        writer.write("/eval/trial", 1, messages.cdr(messages.trial(trial, trial.instance.scene, 5)))
        for i in range(4):
            scene = messages.cdr(messages.scene(trial.instance.scene, 10 + i))
            writer.write("/eval/scene", 10 + i, scene if i != 2 else scene[:40])
            writer.write("/eval/tool_pose", 10 + i, messages.cdr(messages.tool_pose(Pose(), 10 + i)))
    recording = read_trial(tmp_path / "bag")
    assert [sample.stamp for sample in recording.samples] == [10, 11]
    assert recording.broken.startswith("/eval/scene: a message that is no robocontrast_ros/msg/Scene")
    assert recording.broken.endswith("; it is number 3 there, and nothing after it is used")


def test_a_chunk_with_no_wanted_message_is_not_even_decompressed(tmp_path, messages):
    pixels = np.random.default_rng(0).integers(0, 255, (20, 30, 3), dtype=np.uint8)
    with closing(BagWriter(tmp_path / "bag", TRIAL_TOPICS)) as writer:
        writer.write("/eval/scene", 1, messages.cdr(messages.scene(make_trial().instance.scene, 1)))
        writer.flush()
        writer.write("/eval/camera/image_raw", 2, messages.cdr(messages.image(pixels, 2)))
        writer.flush()
        writer.write("/eval/scene", 3, messages.cdr(messages.scene(make_trial().instance.scene, 3)))
    (file,) = (tmp_path / "bag").glob("*.mcap")
    content = bytearray(file.read_bytes())
    frame = [m.start() for m in re.finditer(re.escape(b"\x28\xb5\x2f\xfd"), content)][2]
    content[frame : frame + 8] = bytes(8)
    file.write_bytes(content)
    scenes = read_bag(tmp_path / "bag", lambda topic, type_name: topic == "/eval/scene")
    assert [m.timestamp for m in scenes.messages] == [1, 3]
    assert scenes.broken == ""
    assert scenes.counts["/eval/camera/image_raw"] == 1
    assert "ZstdError" in read_bag(tmp_path / "bag").broken


@pytest.mark.parametrize(
    ("storage", "mode"),
    [
        (StoragePlugin.MCAP, None),
        (StoragePlugin.MCAP, CompressionMode.FILE),
        (StoragePlugin.MCAP, CompressionMode.MESSAGE),
        (StoragePlugin.SQLITE3, None),
        (StoragePlugin.SQLITE3, CompressionMode.FILE),
    ],
)
def test_a_bag_that_another_recorder_wrote_in_its_own_way_is_read_the_same(recorded, tmp_path, storage, mode):
    content = read_bag(recorded[0])
    writer = Writer(tmp_path / "bag", version=8, storage_plugin=storage)
    if mode:
        writer.set_compression(mode, CompressionFormat.ZSTD)
    with writer:
        known = {}
        for m in content.messages:
            if m.topic not in known:
                known[m.topic] = writer.add_connection(
                    m.topic, m.type_name, msgdef=m.definition, rihs01=f"RIHS01_{'0' * 64}"
                )
            writer.write(known[m.topic], m.timestamp, m.cdr)
    again = read_trial(tmp_path / "bag")
    first = read_trial(recorded[0])
    assert repr(replace(again, bag=recorded[0], counts={})) == repr(replace(first, counts={}))


def test_a_bag_that_is_not_there_is_named(tmp_path):
    with pytest.raises(BagError, match=r"nowhere: no such bag\. Check the path"):
        read_trial(tmp_path / "nowhere")


def test_a_folder_without_a_bag_is_named(tmp_path):
    with pytest.raises(BagError, match=r"no bag: no \.mcap file in it\. Check the path"):
        read_trial(tmp_path)


def test_a_bag_of_something_else_is_refused(tmp_path):
    BagWriter(tmp_path / "bag", TRIAL_TOPICS).close()
    with pytest.raises(BagError, match=r"holds 0 trials, expected 1\. Name the bag of a robocontrast trial"):
        read_trial(tmp_path / "bag")


def test_a_message_that_is_no_message_is_named_by_its_topic(tmp_path, messages):
    with closing(BagWriter(tmp_path / "bag", TRIAL_TOPICS)) as writer:
        writer.write("/eval/trial", 1, bytes([0, 1, 0, 0, 7]))
    with pytest.raises(BagError, match=r"/eval/trial: a message that is no robocontrast_ros/msg/Trial"):
        read_trial(tmp_path / "bag")


def test_a_pose_that_is_none_is_said_with_the_bag(tmp_path, messages):
    message = messages.trial(make_trial())
    message.instance.scene.objects[0].pose.orientation.w = 7.0
    with closing(BagWriter(tmp_path / "bag", TRIAL_TOPICS)) as writer:
        writer.write("/eval/trial", 1, messages.cdr(message))
    with pytest.raises(BagError, match=r"bag: /eval/trial: a message is not valid: pose: orientation .* expected 1"):
        read_trial(tmp_path / "bag")
