"""A client of Foxglove's protocol receives the messages of a run's bags, byte for byte."""

from __future__ import annotations

import json
import re
import struct
import subprocess
import sys

import pytest
from here import command_here, session_here
from websockets.sync.client import connect

from robocontrast_ros.bags.reader import read_bag

pytest.importorskip("foxglove", reason="the extra `watch` is not installed")

PROTOCOL = "foxglove.sdk.v1"
SESSION = """
name: short
seed: 3
task: language_table
robot: franka
policy: oracle
strategy: {name: standard}
test_set: {size: 2}
recording: {images: false}
output: runs
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("watched")
    (folder / "short.yaml").write_text(SESSION.replace("runs", str(folder / "runs")))
    return session_here(folder / "short.yaml")


def test_a_client_receives_each_message_of_the_bags_with_its_definition_and_time(run):
    program = "from robocontrast_ros.cli.main import app; app()"
    words = ("watch", run, "--trial", "0000", "--once", "--speed", "1000", "--port", "0")
    with subprocess.Popen([sys.executable, "-c", program, *words], stdout=subprocess.PIPE, text=True) as command:
        port = int(re.search(r"ws://127\.0\.0\.1:(\d+)", command.stdout.readline()).group(1))
        bags = [read_bag(run / "bags" / name).messages for name in ("0000", "0001")]
        wanted = [message for bag in bags for message in bag if message.topic in ("/trial", "/trial_result")]
        received, names = [], {}
        with connect(f"ws://127.0.0.1:{port}", subprotocols=[PROTOCOL], max_size=None) as client:
            while len(received) < len(wanted):
                data = client.recv(60)
                if isinstance(data, bytes):
                    subscription, time = struct.unpack_from("<IQ", data, 1)
                    received.append((names[subscription], time, data[13:]))
                    continue
                told = json.loads(data)
                assert told["op"] != "status", told
                new = [each for each in told.get("channels", ()) if each["topic"] in ("/trial", "/trial_result")]
                assert all((each["encoding"], each["schemaEncoding"]) == ("cdr", "ros2msg") for each in new)
                names |= {each["id"]: (each["topic"], each["schemaName"], each["schema"]) for each in new}
                if new:
                    asked = [{"id": each["id"], "channelId": each["id"]} for each in new]
                    client.send(json.dumps({"op": "subscribe", "subscriptions": asked}))
        assert command.wait(60) == 0
    assert len(wanted) == 4
    assert received == [((m.topic, m.type_name, m.definition), m.timestamp, m.cdr) for m in wanted]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--trial", "0007"), "`--trial`: got '0007', expected a recorded trial: 0000, 0001"),
        (("--host", "192.0.2.1", "--once"), "`--port`: got 8765, expected a free port of 192.0.2.1"),
    ],
)
def test_a_mistake_is_one_line(run, words, told):
    code, output = command_here("watch", run, *words)
    assert code == 2
    (line,) = output.strip().splitlines()
    assert told in line


def test_a_run_without_bags_has_nothing_to_play_once(run, tmp_path):
    (tmp_path / "parameters").mkdir()
    (tmp_path / "parameters" / "session.yaml").write_text("name: short\n")
    code, output = command_here("watch", tmp_path, "--once")
    assert code == 2 and "a run with a recorded trial" in output
