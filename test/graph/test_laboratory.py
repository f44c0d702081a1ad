"""Sessions on the wall clock in the emulated laboratory, whose drivers are late, lossy or in another order."""

from __future__ import annotations

import math
import os
import signal
import time
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from geometry_msgs.msg import TransformStamped, Twist
from laboratory import WORLD, laboratory, real_robot
from rclpy.node import Node
from rosbags.highlevel import AnyReader
from session_runs import Workplace, events_of, finish, finished, node_pids, wait_until
from spinning import spun_node
from tf2_msgs.msg import TFMessage

from robocontrast_ros.analysis.rescoring.recorded_trials import find_recorded
from robocontrast_ros.analysis.rescoring.scores_from_bags import score_recorded
from robocontrast_ros.domain import Fault, Pose
from robocontrast_ros.nodes.runtime.qos import RECORDED
from robocontrast_ros.runs.events import SetUp, TrialFinished, TrialVoid
from robocontrast_ros.sessions.resolving import resolve

KINDS = {
    "arm": ("language_table", "ur5e", "oracle", "board"),
    "arm with a hand": ("tabletop", "franka_hand", "tabletop_oracle", "top"),
    "base": ("studio_apartment", "locobot", "vln_oracle", "camera"),
}
STATE = {"arm": "joint_states", "arm with a hand": "joint_states", "base": "locobot/mobile_base/odom"}
STEPS = {"arm": 400, "arm with a hand": 400, "base": 120}
"""Step limits: within those of the arms a trial is solved; a base needs a minute to its goal."""
LATE = {
    "arm": {"state_latency": 0.05, "state_drop": 0.1, "joint_order": "reversed"},
    "arm with a hand": {"joint_order": "reversed", "camera_latency": 0.2},
    "base": {"command_latency": 0.05, "command_drop": 0.05, "camera_latency": 0.2},
}
"""What is late, lost or in another order in the laboratory, which is borne."""


@pytest.fixture
def place(tmp_path):
    return Workplace(tmp_path)


def write_session(place: Workplace, kind: str, **changes: object):
    """Write a session of one trial of a kind of real robot and return it."""
    name, robot, policy, camera = KINDS[kind]
    return place.session(
        world=WORLD,
        task=place.short_task(STEPS[kind], name),
        robot=real_robot(robot, place.folder),
        policy=policy,
        test_set={"size": 1},
        cameras=[{"name": camera, "width": 64, "height": 48}],
        **changes,
    )


def bag_of(run) -> dict[str, list[float]]:
    """Return the stamps of each topic's messages in the bag of the first trial [s]."""
    stamps: dict[str, list[float]] = {}
    with AnyReader([run / finished(run)[0].recording.bag]) as reader:
        for connection, _, raw in reader.messages():
            header = getattr(reader.deserialize(raw, connection.msgtype), "header", None)
            stamp = header.stamp.sec + 1e-9 * header.stamp.nanosec if header else float("nan")
            stamps.setdefault(connection.topic.strip("/"), []).append(stamp)
    return stamps


def is_complete(run) -> None:
    """Check that every trial is in its bag, and that its scores are those of the journal."""
    done = finished(run)
    scored = list(score_recorded(find_recorded([run])))
    assert done and len(scored) == len(done)
    for score in scored:
        assert score.equal, (score.differences, score.problem)


@pytest.mark.parametrize("kind", ["arm", pytest.param("arm with a hand", marks=pytest.mark.long)])
def test_a_session_over_the_interfaces_of_the_real_driver_ends_well_and_its_bags_hold_what_it_was_scored_by(
    place, kind
):
    place.results = True
    session = write_session(place, kind)
    with laboratory(resolve(session), place.folder, **LATE[kind]) as lab:
        code, output = place.run("evaluate", session)
    assert code == 0, output
    (run,) = place.runs
    assert "simulator" not in {path.stem for path in (run / "logs").iterdir()}
    is_complete(run)
    (trial,) = finished(run)
    stamps = bag_of(run)
    assert trial.speed_scaling == (1.0 if kind == "arm" else None), "of these drivers that of a UR alone says it"
    assert ("speed scaling: not known" in output) == (kind != "arm")
    assert "clock" not in stamps
    assert stamps["scene"] == stamps["tool_pose"], "the scene of every control step is known"
    assert stamps["tool_pose"][0] > 1e9, "the time of day, and no simulated time"
    state = stamps[STATE[kind]]
    assert set(stamps["tool_pose"]) <= set(state)
    assert lab["images"] > 0 and lab["published"][STATE[kind]] >= len(state)
    (command,) = {topic for topic in stamps if topic.startswith("commanded/") and "gripper" not in topic}
    assert trial.result.scores["success"] == 1.0, trial.result
    assert trial.left is not None, "the scene is read again when an arm went to rest"
    # The last goal may be cancelled before the driver has it.
    assert min(lab["taken"]["goals"] + 1, len(stamps[command])) > trial.result.steps + 5, (
        "the way to the start has many pieces"
    )
    assert "commands" not in lab["taken"], "no topic moves the joints"
    assert (lab["taken"]["hand"] > 1) == (kind == "arm with a hand")


class Localiser:
    """Says where in the map a base's odometry began, as AMCL does; at first it is lost, and always a little off."""

    OFF = 0.1
    """Along the world's x [m]."""

    def __init__(self, node: Node) -> None:
        self.origin = Pose.planar(100.0, 100.0)
        self._node, self._publisher = node, node.create_publisher(TFMessage, "tf", 10)
        node.create_timer(0.05, self._publish)

    def _publish(self) -> None:
        stamped = TransformStamped(child_frame_id="locobot/odom")
        stamped.header.frame_id, stamped.header.stamp = "map", self._node.get_clock().now().to_msg()
        x, y = self.origin.xy
        stamped.transform.translation.x, stamped.transform.translation.y = x + self.OFF, y
        half = 0.5 * self.origin.yaw
        stamped.transform.rotation.z, stamped.transform.rotation.w = math.sin(half), math.cos(half)
        self._publisher.publish(TFMessage(transforms=[stamped]))


@pytest.mark.long
def test_a_base_that_is_localised_elsewhere_is_not_moved_at_its_start_it_is_and_a_silent_watchdog_ends_it(
    place,
):
    session = write_session(place, "base", repeats=2, void_retries=100)
    twists: list[tuple[float, Twist]] = []

    def moves(after: float) -> bool:
        return any(at > after and (twist.linear.x or twist.angular.z) for at, twist in twists)

    def of(kind: type) -> list:
        return [event for run in place.runs for event in events_of(run) if isinstance(event, kind)]

    with laboratory(resolve(session), place.folder, **LATE["base"]) as lab, spun_node("localiser") as node:
        localiser = Localiser(node)

        def heard(twist: Twist, info: dict[str, Any]) -> None:
            twists.append((1e-9 * info["source_timestamp"], twist))

        node.create_subscription(Twist, "locobot/mobile_base/cmd_vel", heard, RECORDED)
        process = place.begin("evaluate", session)
        (void, *_) = wait_until(lambda: of(TrialVoid), "a void trial")
        assert not moves(0.0), "nothing has moved"
        # Odometry began where the helper put the base.
        start = localiser.origin = of(SetUp)[0].after.robot
        wait_until(lambda: of(TrialFinished), "a trial")
        (run,) = place.runs
        now = time.time()
        wait_until(lambda: moves(now), "the second one")
        os.kill(node_pids(run)["watchdog"], signal.SIGSTOP)
        wait_until(lambda: of(TrialVoid)[-1].fault is Fault.ROBOT_STOPPED, "the rollout stops the robot itself")
        now = time.time()
        code, output = finish(process)
        assert code == 3 and not moves(now), output
    assert void.fault is Fault.ROBOT_NOT_READY and "from its start and turned by" in void.detail, void
    last = of(TrialVoid)[-1]
    assert "'watchdog' is silent" in last.detail, last
    is_complete(run)
    (trial,) = finished(run)
    assert trial.pose_source.startswith("map -> locobot/base_footprint by tf")
    with AnyReader([run / trial.recording.bag]) as reader:
        wanted = [c for c in reader.connections if c.topic.strip("/") == "tool_pose"]
        poses = [reader.deserialize(raw, c.msgtype).pose.position for c, _, raw in reader.messages(wanted)]
    (x, y), (end_x, end_y) = start.xy, trial.result.final_scene.robot.xy
    assert (poses[0].x, poses[0].y) == pytest.approx((x + Localiser.OFF, y), abs=0.02)
    assert (poses[-1].x, poses[-1].y) == pytest.approx((end_x + Localiser.OFF, end_y), abs=0.08)
    stamps = bag_of(run)
    assert "clock" not in stamps and stamps["scene"] == stamps["tool_pose"]
    (command,) = {topic for topic in stamps if topic.startswith("commanded/")}
    assert lab["taken"]["commands"] >= len(stamps[command]), "velocities are repeated"
