"""What is written is what another reader reads."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import yaml
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from rosbags.interfaces import QosDurability, QosHistory, QosReliability
from rosbags.rosbag2 import Reader

from robocontrast_ros.bags.errors import BagError
from robocontrast_ros.bags.reader import read_bag
from robocontrast_ros.bags.writer import BagTopic, BagWriter
from robocontrast_ros.domain import ObjectState, Pose, Scene

SCENE_TOPIC = BagTopic("/eval/scene", "robocontrast_ros/msg/Scene")
IMAGE_TOPIC = BagTopic("/camera/image_raw", "sensor_msgs/msg/Image", depth=7)
TRIAL_TOPIC = BagTopic("/eval/trial", "robocontrast_ros/msg/Trial", latched=True, depth=1)
RESULT_TOPIC = BagTopic("/simulator/entity", "simulation_interfaces/msg/EntityState")


def scene_at(x: float) -> Scene:
    return Scene((ObjectState("red_moon", "red_moon", Pose.planar(x, 0.2, 0.3)),))


def mcap_file(bag: Path) -> Path:
    (file,) = bag.glob("*.mcap")
    return file


@pytest.mark.parametrize("compression", ["zstd", "none"])
def test_another_reader_reads_the_same_values_and_stamps_without_our_packages(tmp_path, messages, compression):
    rng = np.random.default_rng(0)
    pixels = [rng.integers(0, 256, (224, 224, 3), dtype=np.uint8) for _ in range(20)]
    bag = tmp_path / "bag"
    with closing(BagWriter(bag, [SCENE_TOPIC, IMAGE_TOPIC], compression)) as writer:
        for i, frame in enumerate(pixels):
            writer.write("/camera/image_raw", 10**18 + 2 * i, messages.cdr(messages.image(frame, i)))
            writer.write("/eval/scene", 10**18 + 2 * i + 1, messages.cdr(messages.scene(scene_at(0.1 * i), i)))
        assert writer.counts() == {"/eval/scene": 20, "/camera/image_raw": 20}
    with mcap_file(bag).open("rb") as stream:
        reader = make_reader(stream, decoder_factories=[DecoderFactory()])
        chunks = reader.get_summary().chunk_indexes
        read = list(reader.iter_decoded_messages())
    assert {chunk.compression for chunk in chunks} == {"zstd" if compression == "zstd" else ""}
    assert [m.cdr for m in read_bag(bag).messages] == [m.message.data for m in read]
    assert [m.message.log_time for m in read] == [10**18 + k for k in range(40)]
    images = [m.decoded_message for m in read if m.channel.topic == "/camera/image_raw"]
    assert [m.schema.name for m in read[:2]] == ["sensor_msgs/msg/Image", "robocontrast_ros/msg/Scene"]
    for i, image in enumerate(images):
        assert np.array_equal(np.frombuffer(bytes(image.data), np.uint8).reshape(224, 224, 3), pixels[i])
        assert image.header.stamp.nanosec == i
    scenes = [m.decoded_message for m in read if m.channel.topic == "/eval/scene"]
    assert [s.objects[0].pose.position.x for s in scenes] == [0.1 * i for i in range(20)]
    assert scenes[0].objects[0].pose.orientation.z == scene_at(0.0)["red_moon"].pose.orientation[2]


def test_pictures_of_a_scene_take_a_fraction_of_their_size_in_a_compressed_bag(tmp_path, messages):
    frame = np.full((180, 320, 3), 200, np.uint8)
    frame[40:90, 100:180] = (20, 90, 160)
    cdr = messages.cdr(messages.image(frame, 0))
    sizes = {}
    for compression in ("zstd", "none"):
        bag = tmp_path / compression
        with closing(BagWriter(bag, [IMAGE_TOPIC], compression)) as writer:
            for i in range(20):
                writer.write("/camera/image_raw", i, cdr)
        sizes[compression] = mcap_file(bag).stat().st_size
        info = yaml.safe_load((bag / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
        assert info["compression_mode"] == "", "the file itself is no other format: readers need not be told"
    assert sizes["zstd"] < sizes["none"] / 20


def test_the_metadata_names_types_counts_hashes_and_offered_qos(tmp_path, messages):
    bag = tmp_path / "bag"
    topics = [TRIAL_TOPIC, IMAGE_TOPIC, SCENE_TOPIC, RESULT_TOPIC]
    with closing(BagWriter(bag, topics)) as writer:
        writer.write("/eval/scene", 5, messages.cdr(messages.scene(scene_at(0.0))))
    info = yaml.safe_load((bag / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
    assert info["version"] == 9
    assert info["storage_identifier"] == "mcap"
    assert info["message_count"] == 1
    by_name = {t["topic_metadata"]["name"]: t for t in info["topics_with_message_count"]}
    assert {name: t["message_count"] for name, t in by_name.items()} == {
        "/eval/trial": 0,
        "/camera/image_raw": 0,
        "/eval/scene": 1,
        "/simulator/entity": 0,
    }
    image, trial = by_name["/camera/image_raw"]["topic_metadata"], by_name["/eval/trial"]["topic_metadata"]
    assert image["type"] == "sensor_msgs/msg/Image"
    assert image["serialization_format"] == "cdr"
    assert image["type_description_hash"].startswith("RIHS01_")
    assert image["offered_qos_profiles"][0]["reliability"] == "reliable"
    assert image["offered_qos_profiles"][0]["durability"] == "volatile"
    assert image["offered_qos_profiles"][0]["depth"] == 7
    assert trial["offered_qos_profiles"][0]["durability"] == "transient_local"


QOS_BY_NAME = {
    "history": "keep_last",
    "depth": 7,
    "reliability": "reliable",
    "durability": "volatile",
    "deadline": {"sec": 9223372036, "nsec": 854775807},
    "lifespan": {"sec": 9223372036, "nsec": 854775807},
    "liveliness": "automatic",
    "liveliness_lease_duration": {"sec": 9223372036, "nsec": 854775807},
    "avoid_ros_namespace_conventions": False,
}
# The numbers are those of rmw/types.h.
QOS_BY_NUMBER = {**QOS_BY_NAME, "history": 1, "reliability": 1, "durability": 2, "liveliness": 1}


@pytest.mark.parametrize(("form", "qos"), [("jazzy", QOS_BY_NAME), ("humble", QOS_BY_NUMBER)])
def test_the_metadata_is_of_the_form_that_was_asked_for_and_other_readers_read_it(tmp_path, messages, form, qos):
    bag = tmp_path / "bag"
    with closing(BagWriter(bag, [IMAGE_TOPIC, SCENE_TOPIC], metadata=form)) as writer:
        writer.write("/eval/scene", 5, messages.cdr(messages.scene(scene_at(0.0))))
    info = yaml.safe_load((bag / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
    image = info["topics_with_message_count"][0]["topic_metadata"]
    with mcap_file(bag).open("rb") as stream:
        channels = {c.topic: c for c in make_reader(stream).get_summary().channels.values()}
    in_file = channels["/camera/image_raw"].metadata["offered_qos_profiles"]
    if form == "humble":
        # Humble's rosbag2 takes them as a string, and takes each policy in it as an integer.
        assert info["version"] < 9
        assert isinstance(image["offered_qos_profiles"], str)
        profiles = yaml.safe_load(image["offered_qos_profiles"])
    else:
        assert info["version"] == 9
        profiles = image["offered_qos_profiles"]
    assert profiles == [qos] == yaml.safe_load(in_file)
    with Reader(bag) as reader:
        assert [(c.topic, t) for c, t, _ in reader.messages()] == [("/eval/scene", 5)]
        (offered,) = reader.topics["/camera/image_raw"].connections[0].ext.offered_qos_profiles
    assert (offered.history, offered.reliability) == (QosHistory.KEEP_LAST, QosReliability.RELIABLE)
    assert (offered.durability, offered.depth) == (QosDurability.VOLATILE, 7)
    assert read_bag(bag).counts == {"/eval/scene": 1, "/camera/image_raw": 0}
    assert read_bag(bag).broken == ""


def test_the_file_carries_the_definitions_of_our_own_and_of_the_simulators_types(tmp_path):
    bag = tmp_path / "bag"
    BagWriter(bag, [TRIAL_TOPIC, RESULT_TOPIC]).close()
    with mcap_file(bag).open("rb") as stream:
        summary = make_reader(stream).get_summary()
        profile = make_reader(stream).get_header().profile
    schemas = {s.name: s for s in summary.schemas.values()}
    assert profile == "ros2"
    assert all(s.encoding == "ros2msg" for s in schemas.values())
    assert b"MSG: robocontrast_ros/TestInstance" in schemas["robocontrast_ros/msg/Trial"].data
    assert b"MSG: geometry_msgs/Accel" in schemas["simulation_interfaces/msg/EntityState"].data
    assert {c.message_encoding for c in summary.channels.values()} == {"cdr"}


def test_a_bag_that_is_there_is_refused_and_left_alone(tmp_path):
    bag = tmp_path / "bag"
    bag.mkdir()
    (bag / "precious").write_text("data")
    with pytest.raises(BagError, match=r"bag: is there already\. Name a folder that is not there yet"):
        BagWriter(bag, [SCENE_TOPIC])
    assert [p.name for p in bag.iterdir()] == ["precious"]


def test_a_place_that_cannot_be_written_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BagError, match=r"bag: Not a directory\. Check the path\."):
        BagWriter(tmp_path / "file" / "bag", [SCENE_TOPIC])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_of_somebody_else_is_one_clear_error(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(BagError, match=r"Permission denied\. Check who owns the folder"):
        BagWriter(tmp_path / "bag", [SCENE_TOPIC])


def test_a_topic_whose_type_is_unknown_leaves_no_folder_behind(tmp_path):
    with pytest.raises(BagError, match="nowhere_msgs"):
        BagWriter(tmp_path / "bag", [BagTopic("/x", "nowhere_msgs/msg/X")])
    assert not (tmp_path / "bag").exists()


def test_a_topic_that_the_bag_does_not_have_is_refused(tmp_path):
    with closing(BagWriter(tmp_path / "bag", [SCENE_TOPIC])) as writer, pytest.raises(KeyError):
        writer.write("/other", 1, b"")


def test_nothing_is_written_to_a_bag_that_was_closed(tmp_path):
    writer = BagWriter(tmp_path / "bag", [SCENE_TOPIC])
    writer.close()
    with pytest.raises(BagError, match="closed already"):
        writer.write("/eval/scene", 1, b"\0\1\0\0")
    writer.close()


CHILD = """
import os, resource, signal, sys
from pathlib import Path
from robocontrast_ros.bags.errors import BagError
from robocontrast_ros.bags.writer import BagTopic, BagWriter
bag, limit = Path(sys.argv[1]), int(sys.argv[2])
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
writer = BagWriter(bag, [BagTopic("/t", "std_msgs/msg/UInt8MultiArray")])
head = bytes([0, 1, 0, 0]) + bytes(8) + (100_000).to_bytes(4, "little")
try:
    for i in range(100):
        writer.write("/t", i, head + os.urandom(100_000))
        if not limit and i == 49:
            writer.flush()
            print("flushed", flush=True)
            signal.pause()
    writer.close()
except BagError as error:
    print(error, flush=True)
"""


def test_a_disk_that_is_full_is_one_clear_error_and_leaves_what_fitted_readable(tmp_path):
    bag = tmp_path / "bag"
    child = subprocess.run([sys.executable, "-c", CHILD, bag, "5000000"], capture_output=True, text=True, timeout=600)
    assert child.stderr == ""
    assert child.stdout == f"{bag}: File too large. Raise the limit on the size of files (ulimit -f).\n"
    content = read_bag(bag)
    assert "no metadata.yaml" in content.broken
    assert [m.timestamp for m in content.messages] == list(range(len(content.messages)))
    assert 35 <= content.counts["/t"] < 50


def test_a_recorder_that_is_killed_leaves_everything_that_was_flushed(tmp_path):
    bag = tmp_path / "bag"
    with subprocess.Popen([sys.executable, "-c", CHILD, bag, "0"], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "flushed\n"
        child.send_signal(signal.SIGKILL)
    content = read_bag(bag)
    assert content.counts == {"/t": 50}
    assert "the recorder ended before it could close the bag" in content.broken
