"""The watchdog over a real graph: what is silent stops the robot, the stop latches, and a person releases it.

One session has our own simulator, another one an emulated arm (wall_clock_line) and every fault that it outlives.
Nothing here asserts how fast a stop comes: benchmark/stop_times.py measures it.
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
from session_runs import LONG_LIMITS, Workplace, events_of, finish, finished, node_pids, wait_until
from spinning import spun_node
from std_msgs.msg import Bool, String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from robocontrast_ros.analysis.rescoring.recorded_trials import find_recorded
from robocontrast_ros.analysis.rescoring.scores_from_bags import score_recorded
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
        wait_until(lambda: self.holds(end, 5) and self.moves(now, end) <= but, "no motion", 60.0)
        return True

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


def emulated(place: Workplace) -> Path:
    """Write a session of an emulated arm that moves on and on; each node has a process of its own."""
    task = place.folder / "line.yaml"
    task.write_text("task: wall_clock_line:LongLine\n")
    return place.session(
        world={"backend": "wall_clock_line:Helper", "pacing": "wall_clock"},
        composed=False,
        task=str(task),
        policy=place.policy("BackAndForth", "wall_clock_line"),
        recording={"images": False},
        # A test waits until each was silent for so long; a session of which a process died ends meanwhile.
        watchdog=LONG_LIMITS | {"rollout": 30.0, "cameras": 10.0},
    )


@contextmanager
def running(place: Workplace, session: Path):
    """Run a session whose arm moves; yield its process, its run folder and a witness, and end it."""
    with spun_node("witness") as node:
        witness = Witness(node)
        process = place.begin("evaluate", session)
        try:
            wait_until(lambda: place.runs or process.poll() is not None, "a run folder")
            assert process.poll() is None, finish(process)[1]
            witness.await_motion()
            yield process, place.runs[0], witness
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                finish(process)


def of(run: Path, kind: type) -> list:
    return [event for event in events_of(run) if isinstance(event, kind)]


def await_pause(run: Path, count: int) -> Paused:
    """Wait until the session waits because of a stop, so often by now, and return why."""
    wait_until(lambda: len(of(run, Paused)) == count, "the session waits")
    return of(run, Paused)[-1]


def stopped_trials(run: Path) -> int:
    return [void.fault for void in of(run, TrialVoid)].count(Fault.ROBOT_STOPPED)


def test_our_own_simulator_in_real_time_is_stopped_by_a_button_and_released_and_a_dead_watchdog_ends_its_session(
    tmp_path,
):
    place = Workplace(tmp_path)
    session = place.session(
        world={"pacing": "wall_clock"},
        policy="random",
        task=place.short_task(100),
        test_set={"size": 20},
        cameras=[],
    )
    with running(place, session) as (process, run, witness):
        wait_until(lambda: witness.heard, "the watchdog hears the button")
        wait_until(lambda: finished(run), "a trial")
        witness.await_motion()
        now = time.time()
        witness.button.publish(String(data="the red button"))
        witness.await_stop("topic", now)
        why = await_pause(run, 1).detail
        assert "robocontrast stop RUN --release --by NAME" in why and "the red button" in why
        assert stopped_trials(run) == 1
        assert not witness.released(by=" "), "nobody releases it without a name"
        assert witness.released()
        wait_until(lambda: of(run, Resumed), "the session goes on")
        assert of(run, Resumed)[0].by == "Ada"
        witness.await_motion()

        now = time.time()
        os.kill(node_pids(run)["watchdog"], signal.SIGKILL)
        wait_until(lambda: witness.holds(now, 1), "the rollout stops the robot itself")
        last = max(at for at, stays in witness.commands if stays)
        code, output = finish(process)
        assert code == 3 and "process 'watchdog' was killed by SIGKILL" in output, output
        assert not witness.moves(last), "and moves it no more"
    assert f"to stop the robot: robocontrast stop {run}\n" in output
    assert {"simulator", "watchdog"} <= {path.stem for path in (run / "logs").iterdir()}
    scored = list(score_recorded(find_recorded([run])))
    assert len(scored) == len(finished(run)) and all(score.equal for score in scored), scored
    with AnyReader([run / finished(run)[0].recording.bag]) as reader:
        counts = {connection.topic.strip("/"): connection.msgcount for connection in reader.connections}
        poses = [connection for connection in reader.connections if connection.topic.strip("/") == "tool_pose"]
        stamps = [reader.deserialize(raw, c.msgtype).header.stamp.sec for c, _, raw in reader.messages(poses)]
    assert "clock" not in counts and min(stamps) > 1e9, "the time of day, and no simulated time"
    assert counts["heartbeat"] and counts["stopped"] and "stop" in counts


@pytest.mark.long
def test_whoever_is_silent_or_asks_for_it_stops_the_robot_and_a_person_releases_it_by_name_and_the_session_goes_on(
    tmp_path,
):
    place = Workplace(tmp_path)
    with running(place, emulated(place)) as (process, run, witness):
        wait_until(lambda: witness.first, "what the arm was told first")
        (told_at, stays), *_ = witness.first
        assert told_at > of(run, SetUp)[0].time, "nothing was commanded before the set-up was confirmed"
        assert stays, "and first it was told to stay, which proves the watchdog's way to it"

        now = time.time()
        assert call(witness.stop, Trigger.Request(), 20.0).success
        witness.await_stop("service", now)
        await_pause(run, 1)
        assert witness.released()
        witness.await_motion()

        now = time.time()
        code, output = place.run("stop", run)
        assert code == 0 and "the robot is stopped" in output, output
        witness.await_stop("service", now)
        await_pause(run, 2)
        assert place.run("stop", run, "--release")[0] == 2, "nobody releases it without a name"
        assert witness.stopped
        code, output = place.run("stop", run, "--release", "--by", "Ada Lovelace")
        assert code == 0 and "released by Ada Lovelace" in output, output
        witness.await_motion()
        assert [resumed.by for resumed in of(run, Resumed)] == ["Ada", "Ada Lovelace"]

        now, witness.films = time.time(), False
        witness.await_stop("camera/board", now)
        assert not witness.released(), "the camera is still silent"
        witness.films = True
        wait_until(witness.released, "the release")
        witness.await_motion()

        rollout, now = node_pids(run)["rollout"], time.time()
        os.kill(rollout, signal.SIGSTOP)
        witness.await_stop("rollout", now)
        await_pause(run, 4)  # though the rollout does not answer
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
        assert of(run, ProcessDied) and stopped_trials(run) >= 4, of(run, TrialVoid)
