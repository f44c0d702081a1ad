"""A session whose recorder does not get the processor for a while loses no message, or the trial is void."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from robocontrast_ros.msg import Progress, SessionStatus
from session_runs import Workplace, events_of, finish, finished, node_pids, wait_until
from spinning import spun_node

from robocontrast_ros.bags.reader import read_bag
from robocontrast_ros.domain import Fault
from robocontrast_ros.messages.decoding import stamp_from_msg
from robocontrast_ros.nodes.runtime.qos import LATCHED, LOCKSTEP
from robocontrast_ros.runs.events import TrialVoid

STEPS = 60
CAMERA = "/camera/camera/color/image_raw"

# A second terminal that echoes a topic, reliable as `ros2 topic echo` is.
ECHO = """
import sys
import rclpy
from sensor_msgs.msg import Image

rclpy.init()
node = rclpy.create_node("echo")
node.create_subscription(Image, sys.argv[1], lambda m: print(m.header.stamp.sec, flush=True), 10)
rclpy.spin(node)
"""


@pytest.mark.long
def test_a_recorder_that_is_stopped_loses_nothing_and_one_that_is_stopped_for_too_long_makes_the_trial_void(
    tmp_path,
):
    place = Workplace(tmp_path)
    session = place.session(
        policy="random",
        task=place.short_task(STEPS),
        # So large that rollout has to wait: the history holds 72 of them, and the recorder may be behind by half.
        cameras=[{"name": "board", "width": 640, "height": 480}],
        # With the time until it is behind, less than the 20 s after which Fast DDS forgets a process that stands still.
        timeouts={"recording": 8.0},
    )
    statuses: list[SessionStatus] = []
    steps: list[Progress] = []
    echo = subprocess.Popen([sys.executable, "-c", ECHO, CAMERA], stdout=subprocess.PIPE, text=True)
    process = place.begin("evaluate", session)
    with spun_node("operator") as operator:
        operator.create_subscription(SessionStatus, "session_status", statuses.append, LATCHED)
        operator.create_subscription(Progress, "progress", steps.append, LOCKSTEP)
        try:
            run = wait_until(lambda: place.runs and place.runs[0], "a run folder")
            assert echo.stdout.readline(), "somebody else listens, too"
            echo.send_signal(signal.SIGSTOP)

            def go_on(count: int) -> None:
                """Wait for so many control steps."""
                begun = len(steps)
                wait_until(lambda: len(steps) >= begun + count, "control steps")

            wait_until((run / "bags/0000").exists, "the first trial")
            recorder = node_pids(run)["recorder"]
            for _ in range(2):
                go_on(3)  # the recorder has answered by now
                os.kill(recorder, signal.SIGSTOP)
                go_on(10)
                os.kill(recorder, signal.SIGCONT)
            wait_until((run / "bags/0001").exists, "the second trial")
            go_on(3)
            os.kill(recorder, signal.SIGSTOP)
            wait_until(lambda: any(isinstance(e, TrialVoid) for e in events_of(run)), "a void trial")
            os.kill(recorder, signal.SIGCONT)
            code, output = finish(process)
        finally:
            process.kill()
            echo.kill()
            echo.communicate()
    assert code == 0, output
    voids = [event for event in events_of(run) if isinstance(event, TrialVoid)]
    assert {(void.trial.index, void.fault) for void in voids} == {(1, Fault.RECORDER_LOST)}
    assert voids[0].detail.startswith("the recorder is ") and voids[0].detail.endswith(" behind for 8 s")
    assert [event.recording.bag for event in finished(run)] == ["bags/0000", f"bags/0001_attempt{len(voids)}"]
    for event in finished(run):
        assert event.result.steps == STEPS and event.recording.missing == ()
        content = read_bag(run / event.recording.bag)
        stamps = {
            topic: [stamp_from_msg(_time(m.decode())) for m in content.messages if m.topic == topic]
            for topic in ("/clock", "/joint_states", "/scene", CAMERA)
        }
        assert len(stamps[CAMERA]) == STEPS + 1
        period = 100_000_000
        assert stamps[CAMERA] == [stamps[CAMERA][0] + k * period for k in range(STEPS + 1)]
        assert all(stamps[topic] == stamps[CAMERA] for topic in stamps), "simulated time, without a gap"
    told = [stamp_from_msg(status.header.stamp) for status in statuses if status.state != SessionStatus.IDLE]
    assert told[-1] == stamps[CAMERA][-1], "the status is stamped in simulated time, too"


def _time(message):
    return message.header.stamp if hasattr(message, "header") else message.clock
