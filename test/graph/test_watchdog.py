"""The watchdog over a real graph: what is silent stops the robot, the stop latches, and a person releases it.

The arm is emulated (wall_clock_line). Nothing here asserts how fast a stop comes: benchmark/stop_times.py measures it.
"""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from robocontrast_ros.msg import Stopped
from robocontrast_ros.srv import ReleaseStop
from rosbags.highlevel import AnyReader
from sensor_msgs.msg import CameraInfo, JointState
from session_runs import Workplace, events_of, finish, node_pids, wait_until
from spinning import spun_node
from std_msgs.msg import Bool, String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from robocontrast_ros.domain import Fault, seconds
from robocontrast_ros.messages.decoding import stamp_from_msg
from robocontrast_ros.nodes.runtime.channel import call
from robocontrast_ros.nodes.runtime.qos import LATCHED, LOCKSTEP, RECORDED
from robocontrast_ros.runs.events import Paused, ProcessDied, Resumed, SetUp, TrialVoid

STALE = 3.0
"""Where the arm was longer ago than that, it is not told to stay, but to go back [s]."""

COMMANDS, INFO = "fr3_arm_controller/joint_trajectory", "camera/camera/color/camera_info"


class Witness:
    """Hears what the arm is told, from the start, and where it is; holds the camera."""

    def __init__(self, node) -> None:
        self._told: list[tuple[float, float, tuple[float, ...]]] = []
        self.states: list[Stopped] = []
        self.films = True
        self.first: list[tuple[float, bool]] = []
        self._places: dict[tuple[float, ...], float] = {}
        self._lock = threading.Lock()
        node.create_subscription(JointState, "joint_states", self._on_state, RECORDED)
        node.create_subscription(JointTrajectory, COMMANDS, self._on_command, RECORDED)
        node.create_subscription(Bool, "first_command", self._on_first, LATCHED)
        node.create_subscription(Stopped, "stopped", self.states.append, LATCHED)
        self._node = node
        self.button = node.create_publisher(String, "stop", LOCKSTEP)
        self.stop = node.create_client(Trigger, "watchdog/stop")
        self.release = node.create_client(ReleaseStop, "watchdog/release")
        self._camera = node.create_publisher(CameraInfo, INFO, LOCKSTEP)
        node.create_timer(0.05, lambda: self._camera.publish(CameraInfo()) if self.films else None)

    def _on_state(self, message) -> None:
        with self._lock:
            self._places.setdefault(tuple(message.position), seconds(stamp_from_msg(message.header.stamp)))

    def _on_first(self, message, info: dict[str, Any]) -> None:
        self.first.append((1e-9 * info["source_timestamp"], message.data))

    def _on_command(self, message, info: dict[str, Any]) -> None:
        """Take note of a command, with the time at which it was sent: this process may be slow to take it."""
        with self._lock:
            goal = tuple(message.points[0].positions)
            self._told.append((1e-9 * info["source_timestamp"], seconds(stamp_from_msg(message.header.stamp)), goal))

    @property
    def commands(self) -> list[tuple[float, bool]]:
        """When the arm was told what, and whether that was to stay where a state of then or before has it."""
        with self._lock:
            return [
                (at, self._places.get(goal, math.inf) <= stamp and at - stamp < STALE) for at, stamp, goal in self._told
            ]

    @property
    def stopped(self) -> bool:
        """Whether the stop is on."""
        return bool(self.states) and self.states[-1].stopped

    def moves(self, after: float, before: float = math.inf) -> int:
        """Return how often the arm was told to move between two times."""
        return sum(after < at < before and not stays for at, stays in self.commands)

    def stays_from(self, now: float, but: int = 0) -> bool:
        """Tell whether the arm is told to stay, again and again, and nothing else but so much, from a time on."""
        wait_until(lambda: self.holds(now, 5), "the stop is told again and again")
        end = time.time()
        # Where the arm was then may be heard later than what it was told.
        wait_until(lambda: time.time() > end + 2.0, "the last messages")
        return self.moves(now, end) <= but

    def holds(self, after: float, times: int = 3) -> bool:
        """Tell whether the arm was told to stay, again and again, after a time."""
        return sum(at > after and stays for at, stays in self.commands) >= times

    def await_motion(self) -> None:
        """Wait until the arm is told to move."""
        now = time.time()
        wait_until(lambda: self.moves(now) > 0, "a motion")

    def await_stop(self, source: str, after: float) -> None:
        """Wait until the arm is told to stay and the stop is on, for the right reason; then nothing moves it."""
        wait_until(lambda: self.stopped and self.holds(after), f"a stop because of {source}")
        assert self.states[-1].source == source
        assert self.states[-1].proven
        # A rollout that goes on sends one for each that tells the arm to stay; one it may be sending as the stop comes.
        assert self.stays_from(time.time(), but=1) and self.stopped

    @property
    def heard(self) -> bool:
        """Whether the watchdog hears the button."""
        found = self._node.get_subscriptions_info_by_topic(self.button.topic_name)
        return any(one.node_name == "watchdog" for one in found)

    def released(self, by: str = "Ada") -> bool:
        """Release the stop by its service, and return whether that was accepted."""
        return call(self.release, ReleaseStop.Request(by=by, note="seen"), 20.0).accepted


def session_file(place: Workplace, **changes) -> Path:
    task = place.folder / "line.yaml"
    task.write_text("task: wall_clock_line:LongLine\n")
    content = {
        "world": {"backend": "wall_clock_line:Helper", "pacing": "wall_clock"},
        "composed": False,
        "task": str(task),
        "policy": place.policy("BackAndForth", "wall_clock_line"),
        "recording": {"images": False},
        # The machine of the tests may be slow; how fast a stop is, is measured elsewhere.
        "watchdog": {"rollout": 30.0, "state": 5.0, "loop": 20.0, "cameras": 5.0},
        **changes,
    }
    return place.session(**content)


@contextmanager
def running(place: Workplace, **changes):
    """Run a session whose arm moves; yield its process, its run folder and a witness, and end it."""
    with spun_node("witness") as node:
        witness = Witness(node)
        process = place.begin("evaluate", session_file(place, **changes))
        try:
            wait_until(lambda: place.runs or process.poll() is not None, "a run folder")
            assert process.poll() is None, finish(process)[1]
            witness.await_motion()
            yield process, place.runs[0], witness
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                finish(process)


def voids(run: Path) -> list[TrialVoid]:
    return [event for event in events_of(run) if isinstance(event, TrialVoid)]


def pauses(run: Path) -> list[Paused]:
    return [event for event in events_of(run) if isinstance(event, Paused)]


def test_anybody_stops_the_robot_and_a_person_releases_it_by_name_and_the_session_goes_on(tmp_path):
    place = Workplace(tmp_path)
    with running(place) as (_, run, witness):
        (set_up, *_) = [event for event in events_of(run) if isinstance(event, SetUp)]
        wait_until(lambda: witness.first, "what the arm was told first")
        (told_at, stays), *_ = witness.first
        assert told_at > set_up.time, "nothing was commanded before the set-up was confirmed"
        assert stays, "and first it was told to stay, which proves the watchdog's way to it"

        def by_topic() -> None:
            wait_until(lambda: witness.heard, "the watchdog hears the button")
            witness.button.publish(String(data="the red button"))

        def by_service() -> None:
            assert call(witness.stop, Trigger.Request(), 20.0).success

        def by_console() -> None:
            code, output = place.run("stop", run)
            assert code == 0 and "the robot is stopped" in output, output

        for number, (source, ask) in enumerate(
            [("topic", by_topic), ("service", by_service), ("service", by_console)], start=1
        ):
            now = time.time()
            ask()
            witness.await_stop(source, now)
            wait_until(lambda count=number: len(pauses(run)) == count, "the session waits")
            assert [v.fault for v in voids(run)] == [Fault.ROBOT_STOPPED] * number
            assert "robocontrast stop RUN --release --by NAME" in pauses(run)[-1].detail
            if source == "topic":
                assert "the red button" in pauses(run)[-1].detail
                assert not witness.released(by=" "), "nobody releases it without a name"
                assert witness.released()
            else:
                assert place.run("stop", run, "--release")[0] == 2
                code, output = place.run("stop", "--release", "--by", "Ada Lovelace")
                assert code == 2 and "the folder of one session" in output, "a session has to be named"
                assert witness.stopped
                code, output = place.run("stop", run, "--release", "--by", "Ada Lovelace")
                assert code == 0 and "released by Ada Lovelace" in output, output
            witness.await_motion()
            wait_until(lambda count=number: len(resumed(run)) == count, "the session goes on")
            assert resumed(run)[-1].by == ("Ada" if source == "topic" else "Ada Lovelace")
    (bag, *_) = sorted((run / "bags").iterdir())
    with AnyReader([bag]) as reader:
        counts = {connection.topic.strip("/"): connection.msgcount for connection in reader.connections}
    assert min(counts[topic] for topic in ("heartbeat", "stop", "stopped")) > 0, counts


def resumed(run: Path) -> list[Resumed]:
    return [event for event in events_of(run) if isinstance(event, Resumed)]


def test_a_camera_that_is_silent_and_a_rollout_that_stands_still_stop_the_robot_and_a_dead_one_ends_the_session(
    tmp_path,
):
    place = Workplace(tmp_path)
    with running(place) as (process, run, witness):
        now, witness.films = time.time(), False
        witness.await_stop("camera/board", now)
        assert not witness.released(), "the camera is still silent"
        witness.films = True
        wait_until(witness.released, "the release")
        witness.await_motion()

        rollout, now = node_pids(run)["rollout"], time.time()
        os.kill(rollout, signal.SIGSTOP)
        witness.await_stop("rollout", now)
        wait_until(lambda: len(pauses(run)) == 2, "the session waits, though the rollout does not answer")
        assert not witness.released(), "the rollout is still silent"
        now = time.time()
        os.kill(rollout, signal.SIGCONT)
        # Only the command that it was just sending when it was stopped is gone: nothing can call that back.
        assert witness.stays_from(now, but=1), "a rollout that comes back moves nothing"
        wait_until(witness.released, "the release")
        witness.await_motion()

        now = time.time()
        os.kill(node_pids(run)["rollout"], signal.SIGKILL)
        wait_until(lambda: witness.stopped and witness.holds(now, 1), "a stop")
        assert witness.states[-1].source == "rollout"
        code, output = finish(process)
        assert code == 3 and "process 'rollout' was killed by SIGKILL" in output, output
        assert any(isinstance(event, ProcessDied) for event in events_of(run))
        assert [v.fault for v in voids(run)[:2]] == [Fault.ROBOT_STOPPED] * 2


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_a_watchdog_that_is_lost_stops_the_robot_and_ends_the_session(tmp_path, number):
    place = Workplace(tmp_path)
    with running(place) as (process, run, witness):
        watchdog, now = node_pids(run)["watchdog"], time.time()
        os.kill(watchdog, number)
        wait_until(lambda: witness.holds(now, 1), "the rollout stops the robot itself")
        last = max(at for at, stays in witness.commands if stays)
        code, output = finish(process)
        assert code == 3, output
        assert not witness.moves(last), "and moves it no more"
        if number == signal.SIGKILL:
            assert "process 'watchdog' was killed by SIGKILL" in output
        else:
            assert voids(run)[0].fault is Fault.ROBOT_STOPPED and "is silent" in voids(run)[0].detail
