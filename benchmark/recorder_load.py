"""Whether the recorder keeps up with the drivers of a laboratory: what is published, against what is in the bag.

Two cameras of 640x480 at 30 Hz and joint states at 500 Hz, each driver a process of its own, into the recorder node
with its default settings, one bag a minute as for trials of a minute. The pixels are noise, of which compression
gains a third, because four pictures take turns: larger bags than those of real cameras. They are deleted when they
were counted. The recorder is told, as by the rollout, how many messages were published, and answers which are
missing; the count in the file's own index is compared as well.

    python -m benchmark.recorder_load --minutes 5          (--reliability best_effort --json)
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from array import array
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from mcap.reader import make_reader
from rclpy._rclpy_pybind11 import RCLError
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile, qos_profile_sensor_data
from rich.console import Console
from rich.table import Table
from robocontrast_ros.msg import TopicCount
from robocontrast_ros.srv import StartRecording, StopRecording
from sensor_msgs.msg import Image, JointState

from robocontrast_ros.configuration import write_yaml
from robocontrast_ros.graph.ros_domain import Domain
from robocontrast_ros.nodes.runtime.middleware import tune_middleware
from robocontrast_ros.nodes.runtime.qos import RECORDED, recorded

WIDTH, HEIGHT = 640, 480
BYTES = 3 * WIDTH * HEIGHT
JOINTS = 6
PICTURES = 4
"""Different images, one after the other."""

DRIVERS = {
    "left/image_raw": ("sensor_msgs/msg/Image", 30.0),
    "right/image_raw": ("sensor_msgs/msg/Image", 30.0),
    "joint_states": ("sensor_msgs/msg/JointState", 500.0),
}
"""Topic -> type and rate [Hz]."""

RECORDER = "from robocontrast_ros.nodes.recorder_node import main; main()"
DEADLINE = 60.0
"""Limit of anything that is waited for [s]."""


def drive(topic: str, reliability: str) -> None:
    """Be a driver: for each line of the input, a number of seconds, publish so long and print how much that was."""
    type_name, rate = DRIVERS[topic]
    image = type_name.endswith("Image")
    tune_middleware()
    rclpy.init()
    node = Node("driver", namespace="load")
    offered: QoSProfile = recorded(BYTES) if image else RECORDED
    if reliability == "best_effort":
        offered = qos_profile_sensor_data
    publisher = node.create_publisher(Image if image else JointState, topic, offered)
    random = np.random.default_rng(0)
    if image:
        noise = (random.integers(0, 256, BYTES, dtype=np.uint8) for _ in range(PICTURES))
        messages = [
            Image(height=HEIGHT, width=WIDTH, encoding="rgb8", step=3 * WIDTH, data=array("B", pixels.tobytes()))
            for pixels in noise
        ]
    else:
        names = [f"joint_{index}" for index in range(JOINTS)]
        values = random.random(JOINTS).tolist()
        messages = [JointState(name=names, position=values, velocity=values, effort=values)]
    print("ready", flush=True)
    for line in sys.stdin:
        while publisher.get_subscription_count() == 0:
            time.sleep(0.01)
        began, sent, refused, longest = time.monotonic(), 0, 0, 0.0
        count = round(float(line) * rate)
        while sent < count:
            late = time.monotonic() - began - sent / rate
            if late < 0.0:
                time.sleep(-late)
                continue
            longest = max(longest, late)
            message = messages[sent % len(messages)]
            message.header.stamp = node.get_clock().now().to_msg()
            try:
                publisher.publish(message)
            except RCLError:
                # The middleware gives up where it cannot take a message within its own limit, 0.1 s for Fast DDS.
                refused += 1
            sent += 1
        print(sent - refused, refused, longest, flush=True)
    node.destroy_node()
    rclpy.shutdown()


class Rig:
    """The recorder and its client."""

    def __init__(self, folder: Path) -> None:
        """Start the recorder."""
        topics = [f"{topic} {type_name}" for topic, (type_name, _) in DRIVERS.items()]
        file = folder / "recorder.yaml"
        # As a session gives it: the time to wait for the last messages.
        write_yaml(file, {"/**": {"ros__parameters": {"topics": topics, "stop_deadline": 30.0}}})
        words = ["--ros-args", "-r", "__ns:=/load", "--params-file", str(file)]
        self.process = subprocess.Popen([sys.executable, "-c", RECORDER, *words])
        rclpy.init()
        self._node = Node("client", namespace="load")
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._start = self._node.create_client(StartRecording, "recorder/start")
        self._stop = self._node.create_client(StopRecording, "recorder/stop")
        for client in (self._start, self._stop):
            if not client.wait_for_service(DEADLINE):
                raise TimeoutError(client.srv_name)

    def start(self, bag: Path) -> None:
        """Open a bag."""
        self._call(self._start, StartRecording.Request(bag=str(bag)))

    def stop(self, expected: dict[str, int]) -> Any:
        """Close it, and return the recorder's answer."""
        counts = [TopicCount(topic=topic, count=count) for topic, count in expected.items()]
        return self._call(self._stop, StopRecording.Request(expected=counts))

    def processor_time(self) -> float:
        """Return the processor time of the recorder so far [s]."""
        words = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        """End the recorder."""
        self.process.terminate()
        self.process.wait(timeout=DEADLINE)
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.shutdown()

    def _call(self, client: Any, request: Any) -> Any:
        future = client.call_async(request)
        self._executor.spin_until_future_complete(future, DEADLINE)
        response = future.result()
        if response is None or (response.fault.code and client is self._start):
            raise RuntimeError(f"{client.srv_name}: {response and response.fault.detail}")
        return response


def in_file(bag: Path) -> dict[str, int]:
    """Return how many messages the index of a bag's file names, by topic."""
    found: Counter[str] = Counter()
    for file in bag.glob("*.mcap"):
        with file.open("rb") as stream:
            summary = make_reader(stream).get_summary()
        names = {number: channel.topic.removeprefix("/load/") for number, channel in summary.channels.items()}
        for number, count in summary.statistics.channel_message_counts.items():
            found[names[number]] += count
    return dict(found)


def measure(minutes: float, reliability: str, folder: Path) -> dict[str, Any]:
    """Record for so long; return what was published and what was recorded."""
    rig = Rig(folder)
    drivers = {
        topic: subprocess.Popen(
            [sys.executable, "-m", "benchmark.recorder_load", "--drive", topic, "--reliability", reliability],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for topic in DRIVERS
    }
    published, refused, recorded_, missing = Counter(), Counter(), Counter(), Counter()
    problems: list[str] = []
    size, latest, left, number = 0, 0.0, minutes, 0
    began = None
    try:
        for driver in drivers.values():
            driver.stdout.readline()
        while left > 1e-9:
            share, bag = min(left, 1.0), folder / f"bag_{number}"
            rig.start(bag)
            began = rig.processor_time() if began is None else began
            for driver in drivers.values():
                driver.stdin.write(f"{60.0 * share}\n")
                driver.stdin.flush()
            sent = {}
            for topic, driver in drivers.items():
                count, not_sent, late = driver.stdout.readline().split()
                sent[topic], latest = int(count), max(latest, float(late))
                refused[topic] += int(not_sent)
            answer = rig.stop(sent)
            published.update(sent)
            recorded_.update(in_file(bag))
            missing.update({each.topic: each.count for each in answer.missing})
            if answer.fault.code:
                problems.append(answer.fault.detail)
            size += sum(file.stat().st_size for file in bag.iterdir())
            shutil.rmtree(bag)
            left, number = left - share, number + 1
            print(f"{minutes - left:g} of {minutes:g} minutes, missing: {dict(missing) or 'nothing'}", file=sys.stderr)
        processor = rig.processor_time() - began
    finally:
        for driver in drivers.values():
            driver.stdin.close()
            driver.wait(timeout=DEADLINE)
        rig.close()
    return {
        "minutes": minutes,
        "reliability": reliability,
        "topics": {
            topic: {
                "rate": rate,
                "published": published[topic],
                "refused": refused[topic],
                "recorded": recorded_[topic],
            }
            for topic, (_, rate) in DRIVERS.items()
        },
        "missing": dict(missing),
        "problems": problems,
        "bytes": size,
        "recorder_processor_share": processor / (60.0 * minutes),
        "driver_latest": latest,
        "load_average": os.getloadavg()[1],
    }


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--reliability", choices=("reliable", "best_effort"), default="reliable", help="of the drivers")
    parser.add_argument("--json", action="store_true", help="print numbers instead of a table")
    parser.add_argument("--drive", choices=DRIVERS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.drive:
        drive(arguments.drive, arguments.reliability)
        return
    tune_middleware()
    held = Domain("recorder_load")
    os.environ |= {"ROS_DOMAIN_ID": str(held.number), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    with tempfile.TemporaryDirectory() as folder:
        found = measure(arguments.minutes, arguments.reliability, Path(folder))
    held.close()
    if arguments.json:
        print(json.dumps({"seed": 0, **found}))
        return
    table = Table("topic", "rate [Hz]", "published", "recorded", "lost")
    for topic, row in found["topics"].items():
        lost = row["published"] - row["recorded"]
        table.add_row(topic, f"{row['rate']:g}", str(row["published"]), str(row["recorded"]), str(lost))
    Console().print(table)
    Console().print({key: value for key, value in found.items() if key != "topics"})


if __name__ == "__main__":
    main()
