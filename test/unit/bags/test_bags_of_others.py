"""Bags that others made, in good faith or not: read, or refused in one line, in bounded time and memory."""

from __future__ import annotations

import os
import shutil
import struct
from contextlib import suppress
from pathlib import Path

import pytest
from examples import examples
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from mcap.writer import CompressionType, Writer
from played_runs import make_trial, record_run
from typer.testing import CliRunner

from robocontrast_ros.bags.definitions import find_definition
from robocontrast_ros.bags.errors import BagError
from robocontrast_ros.bags.reader import MEMORY_VARIABLE, BagMessage, read_bag, read_trial
from robocontrast_ros.cli.main import app
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import Fault
from robocontrast_ros.messages.decoding import trial_from_msg

TYPE = "robocontrast_ros/msg/Trial"
TEXT = find_definition(TYPE).text


@pytest.fixture(scope="module")
def bag(tmp_path_factory):
    """Return the bag of a trial."""
    return record_run(tmp_path_factory.mktemp("runs") / "run", [Fault.NONE]) / "bags" / "0000"


@pytest.fixture(scope="module")
def message(bag):
    """Return its trial."""
    return next(m for m in read_bag(bag).messages if m.type_name == TYPE)


def write(folder, definition, cdr, compression=CompressionType.NONE):
    """Write a bag of one message."""
    folder.mkdir(exist_ok=True)
    with (folder / "0.mcap").open("wb") as stream:
        writer = Writer(stream, compression=compression)
        writer.start()
        schema = writer.register_schema(TYPE, "ros2msg", definition.encode())
        channel = writer.register_channel("/trial", "cdr", schema)
        writer.add_message(channel, 1, cdr, 1)
        writer.finish()
    return folder


def refused(*command):
    """Return the words of a command that refuses a bag, without their line breaks."""
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, list(map(str, command)))
    assert result.exit_code in (1, 2) and isinstance(result.exception, SystemExit), result.output
    return " ".join(result.output.split())


DEFINITIONS = {
    "a field renamed": TEXT.replace("string session", "string sessionx"),
    "a field that is a Python keyword": TEXT.replace("string session", "string class"),
    "a field of a type that is nowhere": TEXT.replace("string session", "foo_msgs/Bar session"),
    "a type in itself": TEXT.replace("string session", "robocontrast_ros/Trial session"),
    "a type that begins with a digit": TEXT.replace("string session", "1abc/class session"),
    "a field of another type": TEXT.replace("string session", "float64 session"),
    "a list": TEXT.replace("string session", "string[] session"),
    "a list of nothing": TEXT + "foo/Nothing[4000000000] much\n" + "=" * 80 + "\nMSG: foo/Nothing\n",
    "nothing": "",
    "no definition": "}{",
}


@pytest.mark.parametrize("definition", DEFINITIONS.values(), ids=DEFINITIONS)
def test_a_definition_that_is_not_the_expected_one_is_one_line(tmp_path, message, definition):
    assert definition != TEXT
    folder = write(tmp_path / "bag", definition, message.cdr)
    with pytest.raises(BagError) as error:
        read_trial(folder)
    assert str(error.value).startswith(f"{folder}: /trial: a message ") and "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["a field renamed", "a type in itself"])
def test_commands_say_it(tmp_path, message, name):
    folder = write(tmp_path / "bag", DEFINITIONS[name], message.cdr)
    for command in ("score", "picture"):
        assert "/trial: a message " in refused(command, folder)


@examples(150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_bytes_a_bag_has_only_a_bag_error_comes_out(bag, tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("bag")
    for file in bag.iterdir():
        content = bytearray(file.read_bytes())
        for _ in range(data.draw(st.integers(0, 3))):
            at = data.draw(st.integers(0, len(content)))
            put = data.draw(st.binary(max_size=9))
            content[at : at + data.draw(st.sampled_from([0, len(put), 40]))] = put
        (folder / file.name).write_bytes(content)
    with suppress(BagError):
        read_trial(folder)
    shutil.rmtree(folder)


@examples(150)
@given(data=st.data())
def test_whatever_a_definition_and_its_message_are_only_a_bag_error_comes_out(message, data):
    lines = TEXT.splitlines()
    for _ in range(data.draw(st.integers(0, 2))):
        at = data.draw(st.integers(0, len(lines) - 1))
        lines[at] = data.draw(st.sampled_from(["float64 x", "Trial x", "string<=4 s", *lines]) | st.text(max_size=30))
    cdr = bytearray(message.cdr)
    for _ in range(data.draw(st.integers(0, 3))):
        cdr[data.draw(st.integers(0, len(cdr) - 1))] = data.draw(st.integers(0, 255))
    changed = BagMessage("/trial", TYPE, "\n".join(lines), 1, bytes(cdr))
    with suppress(BagError):
        changed.converted(trial_from_msg)


def bomb(folder, declared):
    """Write a bag whose one chunk is 64 MiB of zeros in some kilobytes, and says that it is of another size."""
    write(folder, TEXT, bytes(1 << 26), CompressionType.ZSTD)
    file = folder / "0.mcap"
    packed = b"\x28\xb5\x2f\xfd"
    content = bytearray(file.read_bytes())
    chunk = content.index(packed) - 8 - 4 - 4 - 4 - 8
    assert struct.unpack_from("<Q", content, chunk)[0] > 1 << 26
    if declared is not None:
        struct.pack_into("<Q", content, chunk, declared)
    file.write_bytes(content)
    return folder


@pytest.mark.parametrize("declared", [None, 1 << 32, 1 << 63, 100])
def test_a_chunk_that_is_too_large_is_not_unpacked(tmp_path, monkeypatch, declared):
    monkeypatch.setenv(MEMORY_VARIABLE, "512")
    content = read_bag(bomb(tmp_path / "bag", declared))
    assert content.messages == ()
    words = "McapError" if declared == 100 else f"; {MEMORY_VARIABLE} raises that"
    assert words in content.broken
    assert "holds 0 trials, expected 1. It is broken" in refused("picture", tmp_path / "bag")


def test_who_has_the_memory_reads_it(tmp_path, monkeypatch):
    monkeypatch.setenv(MEMORY_VARIABLE, "1040")
    assert [len(m.cdr) for m in read_bag(bomb(tmp_path / "bag", None)).messages] == [1 << 26]


def test_messages_take_no_more_memory_than_is_allowed(bag, monkeypatch):
    needed = sum(len(m.cdr) for m in read_bag(bag).messages)
    assert needed > 1 << 10
    monkeypatch.setattr("robocontrast_ros.bags.reader.OVERHEAD", 1 << 20)
    monkeypatch.setenv(MEMORY_VARIABLE, "16")
    with pytest.raises(BagError, match=rf"0000: its messages take more than 16 MiB .* Set {MEMORY_VARIABLE}"):
        read_bag(bag)
    monkeypatch.setenv(MEMORY_VARIABLE, "much")
    with pytest.raises(ConfigurationError, match=f"`{MEMORY_VARIABLE}`.*much"):
        read_bag(bag)


@pytest.mark.parametrize("name", ["x.mcap", "metadata.yaml"])
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path)])
def test_a_pipe_a_folder_or_a_device_is_not_read(bag, tmp_path, name, make):
    folder = Path(shutil.copytree(bag, tmp_path / "bag"))
    (folder / name).unlink(missing_ok=True)
    make(folder / name)
    if name == "metadata.yaml":
        assert read_trial(folder).trial == make_trial(0)
        return
    for command in ("score", "picture"):
        assert f"{folder / name}: a folder, a pipe or a device, expected a file" in refused(command, folder)


def test_what_is_no_bag_is_told_what_it_is(bag):
    (file,) = bag.glob("*.mcap")
    assert f"{file}: a file, expected a bag, which is a folder. Name the folder {bag}." in refused("picture", file)
    run = bag.parent.parent
    words = f"{run}: a run folder, expected a bag. Name one of the folders in {run / 'bags'}."
    (run / "parameters").mkdir(exist_ok=True)
    assert words in refused("picture", run)
