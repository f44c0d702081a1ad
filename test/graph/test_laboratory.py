"""Sessions on the wall clock: in the embedded simulator, and in the emulated laboratory with its drivers."""

from __future__ import annotations

import math

import pytest
import yaml

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from geometry_msgs.msg import TransformStamped, Twist
from laboratory import WORLD, laboratory, real_robot
from rclpy.node import Node
from rosbags.highlevel import AnyReader
from session_runs import Workplace, events_of, finish, finished, wait_until
from spinning import spun_node
from tf2_msgs.msg import TFMessage

from robocontrast_ros.analysis.rescoring.recorded_trials import find_recorded
from robocontrast_ros.analysis.rescoring.scores_from_bags import score_recorded
from robocontrast_ros.configuration import read_yaml, resolve_uri
from robocontrast_ros.domain import Fault, Pose
from robocontrast_ros.runs.events import SetUp, TrialVoid
from robocontrast_ros.sessions.resolving import resolve

STEPS = 25
KINDS = {
    "arm": ("language_table", "franka", "oracle", "board"),
    "arm with a hand": ("tabletop", "franka_hand", "tabletop_oracle", "top"),
    "base": ("studio_apartment", "locobot", "vln_oracle", "camera"),
}
REAL = {"arm": "ur5e", "arm with a hand": "franka_hand", "base": "locobot"}
LONG = {"arm": 400, "arm with a hand": 400, "base": STEPS}
"""Step limits: within those of the arms a trial is solved; a base needs a minute to its goal."""
STATE = {"arm": "joint_states", "arm with a hand": "joint_states", "base": "locobot/mobile_base/odom"}


@pytest.fixture
def place(tmp_path):
    return Workplace(tmp_path)


def write_session(place: Workplace, kind: str = "arm", robot: str = "", steps: int = STEPS, **changes: object):
    """Write a session of one short trial of a kind of robot and return it."""
    name, usual, policy, camera = KINDS[kind]
    content = read_yaml(resolve_uri(f"package://robocontrast_ros/config/tasks/{name}.yaml"))
    task = place.folder / f"{name}.yaml"
    task.write_text(yaml.safe_dump({**content, "step_limit": steps}))
    cameras = [{"name": camera, "width": 64, "height": 48}]
    settings = {
        "task": str(task),
        "robot": robot or usual,
        "policy": policy,
        "test_set": {"size": 1},
        "cameras": cameras,
    }
    return place.session(**{"world": WORLD, **settings, **changes})


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
    assert done and not any(isinstance(event, TrialVoid) for event in events_of(run))
    scored = list(score_recorded(find_recorded([run])))
    assert len(scored) == len(done)
    for score in scored:
        assert score.equal, (score.differences, score.problem)


@pytest.mark.parametrize("kind", KINDS)
def test_a_session_over_the_interfaces_of_the_real_driver_ends_well_and_its_bags_hold_what_it_was_scored_by(
    place, kind
):
    session = write_session(place, kind, robot=real_robot(REAL[kind], place.folder), steps=LONG[kind])
    with laboratory(resolve(session), place.folder) as lab:
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
    assert state == sorted(state) and set(stamps["tool_pose"]) <= set(state)
    assert lab["images"] > 0 and lab["published"][STATE[kind]] >= len(state)
    (command,) = {topic for topic in stamps if topic.startswith("commanded/") and "gripper" not in topic}
    if kind == "base":
        assert lab["taken"]["commands"] >= len(stamps[command]), "velocities are repeated"
        return
    assert trial.result.scores["success"] == 1.0, trial.result
    assert trial.left is not None, "the scene is read again when an arm went to rest"
    assert lab["taken"]["goals"] >= len(stamps[command]) > trial.result.steps + 5, (
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


def test_a_base_that_is_localised_elsewhere_is_not_moved_and_at_its_start_it_is_where_the_localiser_has_it(place):
    session = write_session(place, "base", robot="locobot_real", void_retries=20)
    twists: list[Twist] = []

    def seen(kind: type) -> object:
        return next((event for run in place.runs for event in events_of(run) if isinstance(event, kind)), None)

    with laboratory(resolve(session), place.folder), spun_node("localiser") as node:
        localiser = Localiser(node)
        node.create_subscription(Twist, "locobot/mobile_base/cmd_vel", twists.append, 10)
        process = place.begin("evaluate", session)
        void = wait_until(lambda: seen(TrialVoid), "a void trial")
        assert not any(twist.linear.x or twist.angular.z for twist in twists), "nothing has moved"
        # Odometry began where the helper put the base.
        start = localiser.origin = seen(SetUp).after.robot
        code, output = finish(process)
    assert code == 0, output
    assert void.fault is Fault.ROBOT_NOT_READY and "from its start and turned by" in void.detail, void
    (run,) = place.runs
    (trial,) = finished(run)
    assert trial.pose_source.startswith("map -> locobot/base_footprint by tf")
    with AnyReader([run / trial.recording.bag]) as reader:
        wanted = [c for c in reader.connections if c.topic.strip("/") == "tool_pose"]
        poses = [reader.deserialize(raw, c.msgtype).pose.position for c, _, raw in reader.messages(wanted)]
    (x, y), (end_x, end_y) = start.xy, trial.result.final_scene.robot.xy
    assert (poses[0].x, poses[0].y) == pytest.approx((x + Localiser.OFF, y), abs=0.02)
    assert (poses[-1].x, poses[-1].y) == pytest.approx((end_x + Localiser.OFF, end_y), abs=0.08)


def test_our_own_simulator_in_real_time_needs_no_laboratory(place):
    session = write_session(place, world={"pacing": "wall_clock"})
    code, output = place.run("evaluate", session)
    assert code == 0, output
    (run,) = place.runs
    assert f"to stop the robot: robocontrast stop {run}\n" in output
    assert "simulator" in {path.stem for path in (run / "logs").iterdir()}
    is_complete(run)
    stamps = bag_of(run)
    assert "clock" not in stamps and stamps["tool_pose"][0] > 1e9


@pytest.mark.parametrize(
    "wrong",
    [
        {"state_latency": 0.05, "state_jitter": 0.02, "state_drop": 0.1, "joint_order": "reversed"},
        {"command_latency": 0.05, "command_drop": 0.05, "camera_latency": 0.2},
    ],
)
def test_what_is_late_or_lost_in_the_laboratory_is_borne(place, wrong):
    session = write_session(place, timeouts={"sensors": 5.0})
    with laboratory(resolve(session), place.folder, **wrong):
        code, output = place.run("evaluate", session)
    assert code == 0, output
    (run,) = place.runs
    is_complete(run)


@pytest.mark.parametrize(
    ("remap", "wrong", "said"),
    [
        ((), {"driver": False}, "SENSOR_LOST: not all of joint_states"),
        (("joint_states:=elsewhere/joint_states",), {}, "SENSOR_LOST: not all of joint_states"),
        ((), {"clock_offset": -3600.0}, "ROBOT_FAULT: the stamps of joint_states are 3600."),
    ],
    ids=["no driver", "a driver in another namespace", "a clock that is an hour behind"],
)
def test_a_session_whose_robot_is_silent_or_in_another_time_ends_before_a_scene_is_set_up(place, remap, wrong, said):
    session = write_session(place, timeouts={"start_up": 60.0})
    with laboratory(resolve(session), place.folder, remap, **wrong):
        code, output = place.run("evaluate", session)
    assert code == 3, output
    assert said in output
    assert not any(isinstance(event, SetUp) for run in place.runs for event in events_of(run))
