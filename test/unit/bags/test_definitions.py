"""Message definitions out of the environment's share folders."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from robocontrast_ros.bags.definitions import find_definition
from robocontrast_ros.bags.errors import BagError
from robocontrast_ros.domain import Scene

SHARE = Path(sys.prefix) / "share"
PACKAGES = ("robocontrast_ros", "simulation_interfaces", "sensor_msgs", "geometry_msgs", "rosgraph_msgs")


@pytest.mark.parametrize("package", PACKAGES)
def test_the_type_hash_of_every_message_is_the_one_that_ros_computed(package):
    described = sorted((SHARE / package / "msg").glob("*.json"))
    assert described
    for file in described:
        hashes = {h["type_name"]: h["hash_string"] for h in json.loads(file.read_text())["type_hashes"]}
        name = f"{package}/msg/{file.stem}"
        assert find_definition(name).type_hash == hashes[name]


def test_a_definition_holds_the_file_with_its_comments_and_every_type_within_it_once():
    text = find_definition("robocontrast_ros/msg/Trial").text
    main, *others = text.split("=" * 80 + "\n")
    assert main.rstrip() == (SHARE / "robocontrast_ros" / "msg" / "Trial.msg").read_text().rstrip()
    names = [part.splitlines()[0] for part in others]
    assert len(names) == len(set(names))
    assert {
        "MSG: robocontrast_ros/Scene",
        "MSG: geometry_msgs/Quaternion",
        "MSG: builtin_interfaces/Time",
    } <= set(names)


def test_the_short_form_of_a_type_name_is_understood():
    assert find_definition("sensor_msgs/Image") == find_definition("sensor_msgs/msg/Image")


def test_the_first_prefix_that_holds_a_type_wins(tmp_path):
    for prefix, field in (("overlay", "float64 new"), ("underlay", "float64 old")):
        folder = tmp_path / prefix / "share" / "my_msgs" / "msg"
        folder.mkdir(parents=True)
        (folder / "Thing.msg").write_text(field + "\n")
    found = find_definition("my_msgs/msg/Thing", [tmp_path / "overlay", tmp_path / "underlay"])
    assert found.text == "float64 new\n"


def test_an_unknown_type_is_named_with_the_package_to_install(tmp_path):
    with pytest.raises(BagError, match=r"'nowhere_msgs/msg/Thing': no share/nowhere_msgs/msg/Thing.msg in .*Install"):
        find_definition("nowhere_msgs/msg/Thing")


def test_a_type_whose_part_is_missing_is_refused_by_the_part_and_the_whole(tmp_path):
    folder = tmp_path / "share" / "my_msgs" / "msg"
    folder.mkdir(parents=True)
    (folder / "Outer.msg").write_text("my_msgs/Inner[] parts\n")
    with pytest.raises(BagError, match=r"'my_msgs/msg/Inner' \(part of 'my_msgs/msg/Outer'\)"):
        find_definition("my_msgs/msg/Outer", [tmp_path])


def test_a_file_that_is_no_definition_is_named(tmp_path):
    folder = tmp_path / "share" / "my_msgs" / "msg"
    folder.mkdir(parents=True)
    (folder / "Thing.msg").write_text("this is\nnot = a definition\n")
    with pytest.raises(BagError, match=r"Thing.msg: not a message definition"):
        find_definition("my_msgs/msg/Thing", [tmp_path])


@pytest.mark.parametrize(
    ("name", "offset"),
    [
        ("sensor_msgs/msg/Image", 4),
        ("rosgraph_msgs/msg/Clock", 4),
        ("robocontrast_ros/msg/Scene", 4),
        ("tf2_msgs/msg/TFMessage", 8),
        ("geometry_msgs/msg/Pose", None),
        ("std_msgs/msg/String", None),
    ],
)
def test_a_stamp_is_found_where_a_message_begins_with_it(name, offset):
    assert find_definition(name).stamp_offset == offset


def test_a_stamp_is_read_without_decoding_the_message(messages):
    definition = find_definition("robocontrast_ros/msg/Scene")
    cdr = messages.cdr(messages.scene(Scene(), 12_000_000_345))
    assert definition.stamp_of(cdr) == 12_000_000_345
    assert definition.stamp_of(cdr[:8]) is None
    transforms = find_definition("tf2_msgs/msg/TFMessage")
    assert transforms.stamp_of(b"\x00\x01\x00\x00" + bytes(4)) is None, "it has no transform"
