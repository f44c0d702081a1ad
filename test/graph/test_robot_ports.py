"""Ports of real drivers, over emulated ones that do what real drivers do wrong."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

import rclpy
from control_msgs.action import FollowJointTrajectory
from domains import own_domain
from emulated_controllers import (
    POSITION,
    SPEED_SCALING,
    TRAJECTORY,
    VELOCITY,
    EmulatedControllers,
    Fingers,
    PointJoints,
)
from geometry_msgs.msg import TransformStamped, Twist, WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy, qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64
from tf2_msgs.msg import TFMessage

from robocontrast_ros.configuration import ConfigurationError, load_plugin
from robocontrast_ros.domain import Fault, Pose, nanoseconds
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.graph.parameters.rollout import RolloutParameters
from robocontrast_ros.nodes.conversions.domain import time_to_msg
from robocontrast_ros.nodes.conversions.driver import reading_from_msg
from robocontrast_ros.nodes.rollout.inbox import Inbox
from robocontrast_ros.nodes.rollout.recorder_watch import RecorderWatch
from robocontrast_ros.nodes.rollout.robot import TopicRobot
from robocontrast_ros.nodes.runtime.executor import LockstepExecutor
from robocontrast_ros.robots.commands import JointTrajectoryCommand, TwistCommand
from robocontrast_ros.robots.kinds import stop_command
from robocontrast_ros.robots.kinematics import Kinematics
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.robots.state_estimation import ArmState

PERIOD = 0.1
LONG = 60.0
"""How long a test waits for what has to come [s]."""
CLOSING = 0.01
"""Speed of a finger of the emulated hand [m/s]."""
LONG_LIMITS = {"answer_timeout": LONG, "clock_tolerance": LONG}
"""Of a driver on a machine where any process may get no processor for seconds."""

UR = {"universal_robots": {}}
PORTS = {
    "follow_joint_trajectory": {"controller": TRAJECTORY},
    "streaming": {"controller": POSITION, "rate": 100.0},
    "moveit_servo": {"node": "servo_node", "frame": "base_link", "frame_yaw": math.pi},
}


def until(condition: Callable[[], Any]) -> Any:
    """Wait until something holds; return it."""
    deadline = time.monotonic() + LONG
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.02)
    return found


@dataclass
class Lab:
    """An emulated arm, and ports that talk to it."""

    folder: Any
    stack: ExitStack
    robot: str = "ur5e"
    made: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.nodes: list[Node] = []
        self.heard: list[str] = []
        self.context = rclpy.Context()
        rclpy.init(context=self.context)
        self.executor = LockstepExecutor(context=self.context)
        self.thread = threading.Thread(target=self.executor.spin, daemon=True)
        self.thread.start()
        self.stack.callback(self._end)

    def _end(self) -> None:
        """Destroy everything, when nothing is served any more."""
        self.executor.shutdown(timeout_sec=2.0)
        self.thread.join(timeout=LONG)
        for driver in self.made:
            if isinstance(driver, EmulatedControllers):
                driver.close()
        for node in self.nodes:
            node.destroy_node()
        rclpy.shutdown(context=self.context)

    def node(self, name: str, namespace: str = "") -> Node:
        """Return a node; all of them are of one context, so that none has to discover the others."""
        node = Node(f"{name}{len(self.made)}", namespace=namespace, context=self.context)
        self.executor.add_node(node)
        self.nodes.append(node)
        return node

    def drive(self, namespace: str = "", **options: Any) -> EmulatedControllers:
        """Start the driver of the robot."""
        profile = load_profile(self.robot)
        self.joints, node = PointJoints(profile.home), self.node("driver", namespace)
        if profile.has_hand:
            options["fingers"] = self.fingers = fingers_of(profile.end_effector)
        names = profile.joint_names
        driver = EmulatedControllers(node, names, self.joints.positions, self.joints.follow, **options)
        self.made.append(driver)
        return driver

    def port(
        self, port: str = "follow_joint_trajectory", safety: Any = None, period: float = PERIOD, **driver: Any
    ) -> Any:
        """Make a port, with these settings of its driver; what it says is read as soon as anything comes."""
        path = self.folder / f"robot{len(self.made)}.yaml"
        settings = {**{name: PORTS[name] for name in PORTS if name == port}, **LONG_LIMITS, **driver}
        limits = {"safety": safety} if safety else {}
        path.write_text(yaml.safe_dump({"extends": self.robot, "port": port, "driver": settings, **limits}))
        profile = load_profile(path)
        parameters = RolloutParameters(
            robot=path, steps_per_control=1, control_period=period, sensor_timeout=2.0, world_resets_robot=False
        )
        node = self.node("client")
        kind, inbox = load_plugin("robot_ports", port, "test", "port"), Inbox(node, self.heard.append)
        robot = kind(node, profile, parameters, inbox, RecorderWatch(node, profile, parameters, False))
        self.stack.callback(robot.close)
        self.made.append(robot)
        return robot

    def to(self, shift: float, duration: float = PERIOD) -> JointTrajectoryCommand:
        """Return the command to turn all joints from home."""
        profile = load_profile(self.robot)
        return JointTrajectoryCommand(profile.joint_names, tuple(p + shift for p in profile.home), duration)

    def off(self, shift: float) -> float:
        """Return how far the joint that is farthest from there is [rad]."""
        home = load_profile(self.robot).home
        return max(abs(a - b - shift) for a, b in zip(self.joints.positions(), home, strict=False))


def fingers_of(effector: Any) -> Fingers:
    """Return the open fingers of a hand with nothing between them."""
    joint = PointJoints((effector.joints[0].open,))

    def go(position: float) -> None:
        (here,) = joint.positions()
        joint.follow((position,), abs(position - here) / CLOSING)

    return Fingers(effector, lambda: joint.positions()[0], go)


@pytest.fixture(autouse=True)
def domain() -> Iterator[int]:
    """Keep each test in a domain of its own: what another left would be named among what is there."""
    with own_domain() as number:
        yield number


@pytest.fixture
def lab(tmp_path) -> Iterator[Lab]:
    with ExitStack() as stack:
        yield Lab(tmp_path, stack)


@pytest.fixture
def hand_lab(tmp_path) -> Iterator[Lab]:
    with ExitStack() as stack:
        yield Lab(tmp_path, stack, "franka_hand")


@contextmanager
def fault() -> Iterator[SimpleNamespace]:
    """Expect ROBOT_FAULT, and return its words."""
    said = SimpleNamespace(words="")
    with pytest.raises(BenchFault) as raised:
        yield said
    said.words = raised.value.detail
    assert raised.value.fault is Fault.ROBOT_FAULT, raised.value


def faulty(robot: Any) -> str:
    """Read the state until the driver has a fault; return its words."""
    deadline = time.monotonic() + LONG
    while time.monotonic() < deadline:
        try:
            robot.state(robot.state(0).stamp)
        except BenchFault as error:
            found = error
            break
    else:
        raise AssertionError("no fault came")
    assert found.fault is Fault.ROBOT_FAULT, found
    return found.detail


def begin(robot: Any) -> int:
    """Read the state once, as an episode does before any command."""
    return robot.state(0).stamp


class TestFollowJointTrajectory:
    def test_goals_of_one_point_replace_each_other_and_none_of_that_is_a_fault(self, lab):
        driver, robot = lab.drive(), lab.port(**UR)
        stamp = begin(robot)
        for step in range(1, 6):
            robot.command(lab.to(0.02 * step), stamp)
            until(lambda step=step: len(driver.seen.goals) == step)
            stamp = robot.state(stamp).stamp
        until(lambda: lab.off(0.1) < 1e-6)
        assert [len(goal.points) for goal in driver.seen.goals] == [1] * 5
        assert robot.state(stamp).stamp > stamp, "goals that were replaced are no fault"
        assert not driver.seen.switches

    def test_the_robot_is_sent_home_by_a_goal_that_takes_as_long_as_it_says(self, lab):
        driver, robot = lab.drive(), lab.port()
        tool = Kinematics(load_profile("ur5e")).tool_pose(load_profile("ur5e").home)
        x, y, z = tool.position
        first = robot.way(Pose((x, y + 0.05, z)), 0)[0]
        robot.command(first, 0)
        until(lambda: driver.seen.goals)
        point = driver.seen.goals[0].points[0]
        assert point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec == pytest.approx(first.duration)

    def test_a_command_that_answers_an_old_observation_is_not_taken_to_end_in_the_past(self, lab):
        driver, robot = lab.drive(), lab.port()
        stamp = begin(robot)
        robot.command(lab.to(0.05), stamp - nanoseconds(2.0))
        until(lambda: lab.off(0.05) < 1e-6)
        assert driver.seen.goals[0].header.stamp.sec == 0

    def test_joints_in_another_order_are_taken_by_name(self, lab):
        driver, robot = lab.drive(order=tuple(reversed(load_profile("ur5e").joint_names))), lab.port()
        driver.misbehaviour.state_names = tuple(reversed(load_profile("ur5e").joint_names))
        target = JointTrajectoryCommand(load_profile("ur5e").joint_names, (0.1, -1.2, 2.0, -2.2, -1.5, 0.3), PERIOD)
        robot.command(target, begin(robot))
        until(lambda: math.dist(lab.joints.positions(), target.positions) < 1e-6)

    def test_a_joint_that_is_missing_is_named(self, lab):
        driver = lab.drive()
        driver.misbehaviour.state_names = tuple(f"left_{name}" for name in load_profile("ur5e").joint_names)
        robot = lab.port()
        with fault() as said:
            robot.check()
        assert "joint_states has the joints left_elbow_joint, left_shoulder_lift_joint" in said.words
        assert "without shoulder_pan_joint, shoulder_lift_joint" in said.words and "correct the names" in said.words

    def test_a_controller_of_other_joints_is_named(self, lab):
        driver, robot = lab.drive(), lab.port()
        driver.parameters[TRAJECTORY, "joints"] = ["a", "b"]
        begin(robot)
        with fault() as said:
            robot.command(lab.to(0.1), 0)
        assert f"'{TRAJECTORY}' moves the joints a, b, the robot's file has shoulder_pan_joint" in said.words

    def test_a_rejection_is_a_fault_of_the_robot(self, lab):
        driver, robot = lab.drive(), lab.port()
        driver.misbehaviour.rejected_goals = 1
        robot.command(lab.to(0.1), begin(robot))
        assert f"'{TRAJECTORY}' rejected a motion" in faulty(robot)

    def test_an_abort_is_told_in_the_words_of_the_driver(self, lab):
        driver, robot = lab.drive(), lab.port()
        robot.command(lab.to(1.0, 30.0), begin(robot))
        until(lambda: driver.seen.goals)
        code = FollowJointTrajectory.Result.PATH_TOLERANCE_VIOLATED
        driver.misbehaviour.abort = code, "elbow_joint is off by 0.3"
        assert "aborted a motion with PATH_TOLERANCE_VIOLATED (-4): elbow_joint is off by 0.3" in faulty(robot)

    def test_after_a_fault_the_driver_is_checked_again_and_the_robot_moves(self, lab):
        driver, robot = lab.drive(), lab.port()
        driver.misbehaviour.rejected_goals = 1
        robot.command(lab.to(0.1), begin(robot))
        faulty(robot)
        driver.states[TRAJECTORY] = "inactive"
        robot.command(lab.to(0.1), begin(robot))
        until(lambda: lab.off(0.1) < 1e-6)
        assert driver.seen.switches == [([TRAJECTORY], [])]

    def test_goals_without_an_answer_are_a_fault(self, lab):
        driver, robot = lab.drive(), lab.port(answer_timeout=5.0)
        driver.misbehaviour.silent = True
        robot.command(lab.to(0.1), begin(robot))
        assert "neither accepted nor rejected a motion" in faulty(robot)

    def test_a_late_driver_is_no_fault(self, lab):
        driver, robot = lab.drive(), lab.port()
        driver.misbehaviour.latency = 0.3
        robot.command(lab.to(0.1), begin(robot))
        until(lambda: lab.off(0.1) < 1e-6)
        begin(robot)

    def test_a_stop_of_another_process_cancels_the_goal_and_the_robot_stands(self, lab):
        driver, robot, watchdog = lab.drive(), lab.port(), lab.port()
        robot.command(lab.to(2.0, 40.0), begin(robot))
        until(lambda: driver.seen.goals)
        begin(watchdog)
        watchdog.stop()
        assert "another process asked it to cancel" in faulty(robot)
        until(lambda: len(driver.seen.goals) == 2)
        until(lambda: robot.state(0) and _stands(lab))
        for _ in range(3):
            watchdog.stop()
            _hears(robot)
        assert len(driver.seen.goals) == 2, "an arm that stands where it was stopped is not stopped there anew"

    def test_hold_cancels_and_is_no_fault_of_its_own(self, lab):
        driver, robot = lab.drive(), lab.port()
        robot.command(lab.to(2.0, 40.0), begin(robot))
        until(lambda: driver.seen.goals)
        reading = robot.state(0)
        robot.hold(stop_command(load_profile("ur5e"), reading, PERIOD), reading.stamp)
        until(lambda: len(driver.seen.goals) == 2 and _stands(lab))
        begin(robot)

    def test_what_is_commanded_is_published_for_the_record(self, lab):
        lab.drive()
        robot = lab.port()
        topic = "commanded/scaled_joint_trajectory_controller/joint_trajectory"
        assert [name for name, _ in robot._profile.command_topics] == [topic]
        robot.command(lab.to(0.1), begin(robot))
        assert robot._recorder.published[topic] == 1


class TestState:
    """What ports make of the topics of a robot's state."""

    def publish(self, lab: Lab, joints: dict[str, float], quality: Any = 10) -> str:
        """Publish joints at 50 Hz from a node of their own; return its name."""
        node = lab.node("other")
        publisher = node.create_publisher(JointState, "joint_states", quality)

        def tick() -> None:
            message = JointState(name=list(joints), position=list(joints.values()))
            message.header.stamp = node.get_clock().now().to_msg()
            publisher.publish(message)

        node.create_timer(0.02, tick)
        return node.get_fully_qualified_name()

    def test_two_nodes_that_publish_the_same_joints_are_refused_by_name_and_no_zero_is_used(self, lab):
        lab.drive()
        robot = lab.port()
        robot.check()
        other = self.publish(lab, dict.fromkeys(load_profile("ur5e").joint_names, 0.0))
        found, deadline = set(), time.monotonic() + LONG
        while not any("2 publishers" in words for words in found):
            assert time.monotonic() < deadline, found
            try:
                assert robot.state(robot.state(0).stamp).positions == pytest.approx(load_profile("ur5e").home)
            except BenchFault as error:
                found.add(error.detail)
        assert any("_joint' is read as 0.0000" in words for words in found), found
        with fault() as said:
            robot.check()
        assert f"/joint_states has 2 publishers: /driver0, {other}. One alone" in said.words

    @pytest.mark.parametrize("quality", [10, qos_profile_sensor_data], ids=["reliable", "best effort"])
    def test_arm_and_hand_may_be_published_apart_and_best_effort(self, hand_lab, quality):
        driver, profile = hand_lab.drive(), load_profile("franka_hand")
        driver.misbehaviour.state_names = profile.joint_names
        robot = hand_lab.port()
        self.publish(hand_lab, dict.fromkeys(profile.hand_joint_names, 0.03), quality)
        robot.check()
        stamp, state = begin(robot), ArmState(profile)
        for _ in range(5):
            reading = robot.state(stamp)
            assert reading.stamp > stamp and state.update(reading).gripper_width == pytest.approx(0.06)
            stamp = reading.stamp
        assert set(hand_lab.heard) == {robot.topic}
        driver.misbehaviour.state_names = ("wheel",)
        _hears(robot)
        hand_lab.heard.clear()
        _hears(robot)
        assert hand_lab.heard == [], "a hand alone does not show that the arm's state still comes"

    def test_in_lockstep_a_state_is_of_one_time_whichever_of_its_messages_comes_first(self, hand_lab):
        profile, node = load_profile("franka_hand"), hand_lab.node("client")
        parameters = RolloutParameters(robot="franka_hand", steps_per_control=1, control_period=PERIOD)
        recorder = RecorderWatch(node, profile, parameters, True)
        robot = TopicRobot(node, profile, parameters, Inbox(node, lockstep=True), recorder)

        def taken(joints: dict[str, float], stamp: int) -> tuple[int, Any] | None:
            message = JointState(name=list(joints), position=list(joints.values()))
            message.header.stamp = time_to_msg(stamp)
            return robot._take(message)

        arm, state = dict(zip(profile.joint_names, profile.home, strict=True)), ArmState(profile)
        for number in range(1, 4):
            stamp, hand = number * nanoseconds(PERIOD), dict.fromkeys(profile.hand_joint_names, 0.01 * number)
            first, last = (arm, hand) if number % 2 else (hand, arm)
            assert taken(first, stamp) is None
            found, reading = taken(last, stamp)
            assert found == stamp and state.update(reading).gripper_width == pytest.approx(0.02 * number)

    def test_joints_without_a_position_each_are_told(self):
        with pytest.raises(ValueError, match="2 names and 1 positions; have the robot's driver"):
            reading_from_msg(JointState(name=["a", "b"], position=[0.0]))

    @pytest.mark.parametrize("wrong", [math.nan, 1000.0])
    def test_a_joint_that_jumps_is_a_fault_before_any_command_and_a_stop_goes_where_it_was_before(self, lab, wrong):
        driver, robot = lab.drive(), lab.port()
        robot.command(lab.to(0.05), begin(robot))
        there = [p + 0.05 for p in load_profile("ur5e").home]
        until(lambda: _stands(lab) and math.dist(robot.state(robot.state(0).stamp).positions, there) < 1e-3)
        driver.misbehaviour.shift = {"elbow_joint": wrong}
        words = faulty(robot)
        assert words.startswith("joint_states: 'elbow_joint' is read as ")
        assert ("nan" if math.isnan(wrong) else "at most 0.") in words
        before = len(driver.seen.goals)
        robot.stop()
        goal = until(lambda: driver.seen.goals[before:])[-1]
        assert list(goal.points[0].positions) == pytest.approx(there, abs=1e-3)
        driver.misbehaviour.shift = {}
        _hears(robot)
        robot.check()


def _hears(robot: Any) -> None:
    """Wait for more messages of the state than may have been under way."""
    enough = robot._inbox.received(robot.topic) + 20
    until(lambda: robot._inbox.received(robot.topic) >= enough)


class TestControllers:
    def test_an_inactive_one_takes_the_place_of_that_which_moves_the_same_joints_and_gives_it_back(self, lab):
        driver, robot = lab.drive(active=(POSITION,)), lab.port(restore_controllers=True)
        robot.command(lab.to(0.1), begin(robot))
        until(lambda: lab.off(0.1) < 1e-6)
        assert driver.seen.switches == [([TRAJECTORY], [POSITION])]
        robot.close()
        assert driver.seen.switches[1:] == [([POSITION], [TRAJECTORY])]

    def test_they_stay_switched_where_nobody_asks_for_more(self, lab):
        driver, robot = lab.drive(active=(POSITION,)), lab.port()
        robot.command(lab.to(0.1), begin(robot))
        robot.close()
        assert driver.states == {TRAJECTORY: "active", POSITION: "inactive", VELOCITY: "inactive"}

    def test_a_manager_that_refuses_is_quoted(self, lab):
        driver, robot = lab.drive(active=()), lab.port()
        driver.misbehaviour.refuse_switch = "command interface elbow_joint/position is not available"
        begin(robot)
        with fault() as said:
            robot.command(lab.to(0.1), 0)
        assert f"does not activate {TRAJECTORY}: command interface elbow_joint/position is not" in said.words

    def test_one_that_is_not_loaded_is_told_with_those_that_are(self, lab):
        lab.drive()
        robot = lab.port(follow_joint_trajectory={"controller": "scaled"})
        begin(robot)
        with fault() as said:
            robot.command(lab.to(0.1), 0)
        assert f"'scaled' is not loaded; there are: {TRAJECTORY} (active), {POSITION} (inactive)" in said.words


class TestWhatIsNotThere:
    def test_a_driver_in_another_namespace_is_named_with_the_cure(self, lab):
        lab.drive(namespace="/ur")
        with fault() as said:
            lab.port().state(0)
        assert "nobody publishes /joint_states; there is /ur/joint_states" in said.words
        assert "start the session in the namespace /ur" in said.words

    def test_an_action_of_another_controller_is_named(self, lab):
        lab.drive()
        robot = lab.port(follow_joint_trajectory={"controller": "scaled"}, controller_manager="", answer_timeout=2.0)
        begin(robot)
        with fault() as said:
            robot.command(lab.to(0.1), 0)
        assert "the action /scaled/follow_joint_trajectory is not there" in said.words
        assert f"there is /{TRAJECTORY}/follow_joint_trajectory" in said.words

    def test_without_any_driver_it_is_to_be_started(self, lab):
        with fault() as said:
            lab.port().state(0)
        assert "nobody publishes /joint_states: start the robot's driver, in the same ROS_DOMAIN_ID" in said.words


class TestBeforeASceneIsSetUp:
    @pytest.mark.parametrize("port", PORTS)
    def test_the_driver_is_checked_and_nothing_is_switched_or_moved(self, lab, port):
        driver = lab.drive(active=())
        robot = lab.port(port, **UR)
        robot.check()
        seen = driver.seen
        assert not (seen.goals or seen.streamed or seen.switches or seen.twists or seen.servo)
        driver.protective_stop()
        until(lambda: robot._problem())
        with fault() as said:
            robot.check()
        assert "unlock the protective stop on the pendant" in said.words

    def test_a_hand_is_not_homed_yet(self, hand_lab):
        driver, robot = hand_lab.drive(), hand_lab.port(hand={"type": "franka", "homing": True})
        robot.check()
        assert driver.seen.hand == []

    def test_a_controller_that_is_not_loaded_is_named(self, lab):
        lab.drive()
        robot = lab.port(follow_joint_trajectory={"controller": "scaled"})
        with fault() as said:
            robot.check()
        assert "'scaled' is not loaded" in said.words


class TestForce:
    def test_the_force_at_the_tool_is_that_of_the_topic_in_the_files_of_the_real_robots(self, lab):
        lab.drive().wrench.force = 2.0, 3.0, -6.0
        for name in ("ur5e_real", "franka_hand_real"):
            robot = lab.port(wrench=load_profile(name).driver.wrench)
            assert until(lambda robot=robot: robot.state(0)).force == pytest.approx(7.0), name

    def test_a_force_whose_clock_is_ahead_is_named(self, lab):
        lab.drive()
        robot = lab.port(wrench="of_another_clock")
        node = lab.node("sensor")
        publisher = node.create_publisher(WrenchStamped, "of_another_clock", 10)
        message = WrenchStamped()
        message.wrench.force.x, message.wrench.force.y, message.wrench.force.z = 2.0, 3.0, -6.0

        def publish() -> None:
            message.header.stamp = node.get_clock().now().to_msg()
            message.header.stamp.sec += ahead
            publisher.publish(message)

        ahead = 0
        node.create_timer(0.01, publish)
        assert until(lambda: robot.state(0)).force == pytest.approx(7.0)
        ahead = 1
        assert "ahead of those of joint_states, more than `driver.wrench_staleness` (0.1 s)" in faulty(robot)

    def test_a_topic_that_nobody_publishes_is_named(self, lab):
        lab.drive()
        assert "nobody publishes /ft_data" in faulty(lab.port(wrench="ft_data"))

    def test_a_limit_without_a_topic_is_refused_before_the_first_motion(self, lab):
        lab.drive()
        robot = lab.port(safety={"force": {"limit": 40.0}})
        begin(robot)
        with fault() as said:
            robot.command(lab.to(0.1), 0)
        assert "`driver.wrench`" in said.words


class TestClocks:
    def test_a_clock_that_is_off_is_told(self, lab):
        lab.drive().misbehaviour.clock_offset = -20.0
        words = faulty(lab.port(clock_tolerance=1.0))
        assert "behind this machine's clock, more than `driver.clock_tolerance` (1 s)" in words

    def test_a_clock_that_goes_back_is_told(self, lab):
        driver, robot = lab.drive(), lab.port()
        until(lambda: begin(robot))
        driver.misbehaviour.clock_offset = -20.0
        assert "the stamps of joint_states went back by" in faulty(robot)

    def test_a_clock_that_jumps_ahead_by_less_than_its_tolerance_is_told_and_by_how_much(self, lab):
        driver, robot = lab.drive(), lab.port()
        begin(robot)
        # At 100 Hz; before, nobody knows how late messages are by themselves.
        until(lambda: robot._inbox.received("joint_states") > 350)
        driver.misbehaviour.clock_offset = 0.5
        assert "the stamps of joint_states jumped ahead by 0." in faulty(robot)
        assert robot.state(begin(robot)), "it is told once"

    def grow_late(self, driver: EmulatedControllers, robot: Any) -> None:
        """Have the stamps fall behind by a third of a second, and never go back by so much that a clock was set."""
        for _ in range(4):
            driver.misbehaviour.clock_offset -= 0.09
            received = robot._inbox.received("joint_states")
            until(lambda received=received: robot._inbox.received("joint_states") > received + 1)

    def test_a_state_that_comes_later_than_it_did_is_not_used(self, lab):
        driver, robot = lab.drive(), lab.port()
        until(lambda: begin(robot))
        self.grow_late(driver, robot)
        with pytest.raises(BenchFault, match=r"older than they usually are, more than `state\.staleness` \(0\.2 s\)"):
            robot.state(0)

    def test_in_simulated_time_no_clock_is_compared(self, lab):
        driver, robot = lab.drive(), lab.port(clock_tolerance=None)
        driver.misbehaviour.clock_offset = -20.0
        begin(robot)
        self.grow_late(driver, robot)
        assert begin(robot) < time.time_ns() - nanoseconds(10.0), "it may stand still, and fall behind"


class TestUniversalRobots:
    def test_a_protective_stop_ends_the_episode_and_nothing_recovers_by_itself(self, lab):
        driver, robot = lab.drive(), lab.port(**UR)
        robot.command(lab.to(2.0, 40.0), begin(robot))
        until(lambda: driver.seen.goals)
        driver.protective_stop()
        words = faulty(robot)
        assert "PROTECTIVE_STOP (3), not NORMAL" in words or "PATH_TOLERANCE_VIOLATED" in words
        until(lambda: "PROTECTIVE_STOP" in faulty(robot))
        goals = len(driver.seen.goals)
        with fault() as said:
            robot.command(lab.to(0.1), 0)
        assert "unlock the protective stop on the pendant" in said.words
        assert len(driver.seen.goals) == goals and not driver.seen.switches
        driver.unlock()
        until(lambda: robot._problem() == "")
        robot.command(lab.to(0.1), begin(robot))
        until(lambda: lab.off(0.1) < 1e-6)

    def test_a_robot_without_power_is_not_commanded(self, lab):
        driver, robot = lab.drive(), lab.port(**UR)
        begin(robot)
        driver.set_modes(robot=3)
        until(lambda: robot._problem())
        with fault() as said:
            robot.command(lab.to(0.1), 0)
        assert "the mode of the robot is POWER_OFF (3), not RUNNING" in said.words

    def test_a_program_that_does_not_run_is_told(self, lab):
        driver, robot = lab.drive(), lab.port(**UR)
        driver.set_modes(program=False)
        until(lambda: robot._problem())
        assert "press play for External Control on the pendant" in faulty(robot)


class TestWhatSlowsTheRobot:
    def limit(self, topic: str = "slider", kind: str = "std_msgs/msg/Float64", **keys: Any) -> dict[str, Any]:
        return {"topic": topic, "type": kind, "cure": "raise the slider", **({"full": 100.0} | keys)}

    def test_a_slider_is_known_and_the_lowest_speed_of_an_episode_is_kept(self, lab):
        driver, robot = lab.drive(), lab.port(limits=[self.limit(SPEED_SCALING)], **UR)
        limits = robot.limits
        begin(robot)
        robot.prepare()
        assert (limits.share, limits.lowest, limits.words()) == (1.0, 1.0, "")
        driver.misbehaviour.speed = 0.5
        until(lambda: limits.share == 0.5)
        begin(robot)
        assert limits.words() == f"speed scaling: 50 % of full speed (50 of 100 on {SPEED_SCALING}): raise the slider"
        driver.misbehaviour.speed = 1.0
        until(lambda: limits.share == 1.0)
        begin(robot)
        assert limits.lowest == 0.5, "the speed came back, and the episode was slowed all the same"
        robot.prepare()
        assert limits.lowest == 1.0
        driver.misbehaviour.speed = 0.0
        assert f"something outside holds the robot (0 of 100 on {SPEED_SCALING}): raise the slider" in faulty(robot)

    @pytest.mark.parametrize("latched", [True, False])
    def test_a_publisher_of_any_quality_of_service_is_heard(self, lab, latched):
        qos = QoSProfile(
            depth=1,
            durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
            reliability=ReliabilityPolicy.RELIABLE if latched else ReliabilityPolicy.BEST_EFFORT,
        )
        driver, node = lab.drive(), lab.node("slider")
        slider = node.create_publisher(Float64, "slider", qos)
        slider.publish(Float64(data=0.2))
        robot = lab.port(limits=[self.limit(full=1.0)])
        again = node.create_timer(0.02, lambda: latched or slider.publish(Float64(data=0.2)))
        robot.check()
        again.cancel()
        assert robot.limits.share == 0.2 and "20 % of full speed (0.2 of 1 on slider)" in robot.limits.words()
        for nothing in (math.nan, -1.0):
            slider.publish(Float64(data=nothing))
            words = f"speed scaling: not known: slider says {nothing:g}"
            until(lambda words=words: robot.limits.words() == words)
            assert math.isnan(robot.limits.share)
        assert driver.seen.goals == []

    def test_where_nobody_publishes_it_that_is_said_and_the_robot_moves(self, lab):
        lab.drive()
        robot = lab.port(limits=[self.limit(), self.limit("robot_state", "franka_msgs/msg/None")], answer_timeout=1.0)
        robot.command(lab.to(0.01), begin(robot))
        words = robot.limits.words()
        assert words.startswith("speed scaling: not known: nobody publishes /slider: start the robot's driver")
        assert "; not known: franka_msgs/msg/None is not installed" in words and math.isnan(robot.limits.lowest)
        assert lab.port().limits.words().endswith("the robot's file names no topic for it (`driver.limits`)")

    def test_a_mode_in_which_the_robot_is_held_is_a_fault_with_its_name_until_it_is_free(self, lab):
        mode = self.limit("io_and_status_controller/robot_mode", "ur_dashboard_msgs/msg/RobotMode", field="mode")
        driver, robot = lab.drive(), lab.port(limits=[{**mode, "full": None, "free": [7]}])
        begin(robot)
        robot.prepare()
        driver.set_modes(robot=3)
        words = "something outside holds the robot (mode is POWER_OFF (3) on io_and_status_controller/robot_mode)"
        assert words in faulty(robot)
        with fault() as said:
            robot.check()
        assert words in said.words
        driver.set_modes()
        until(lambda: not robot.limits.problem())
        robot.prepare()
        assert robot.limits.words() == "" and math.isnan(robot.limits.lowest), "a mode is no share of full speed"

    def test_a_recovery_that_is_asked_for_comes_before_the_mode_is_a_fault(self, hand_lab):
        mode = self.limit("io_and_status_controller/robot_mode", "ur_dashboard_msgs/msg/RobotMode", field="mode")
        driver = hand_lab.drive(active=())
        driver.misbehaviour.in_error = True
        driver.set_modes(robot=3)
        robot = hand_lab.port(limits=[{**mode, "full": None, "free": [7]}], franka={"recover": True})

        def leave_reflex() -> None:
            until(lambda: driver.seen.recoveries)
            driver.set_modes()

        leaving = threading.Thread(target=leave_reflex)
        leaving.start()
        robot.prepare()
        leaving.join()
        assert driver.states[TRAJECTORY] == "active" and not robot.limits.problem()
        driver.set_modes(robot=3)
        assert "POWER_OFF (3)" in faulty(robot), "while it moves there is no recovery"

    @pytest.mark.parametrize(
        ("keys", "words"),
        [
            ({"full": 1.0}, "reports 100, more than `full` (1) of `driver.limits`"),
            ({"field": "value"}, "std_msgs/msg/Float64 of speed_scaling_state_broadcaster/speed_scaling has no number"),
        ],
    )
    def test_a_topic_that_is_described_wrongly_is_told_before_anything_moves(self, lab, keys, words):
        driver, robot = lab.drive(), lab.port(limits=[self.limit(SPEED_SCALING, **keys)])
        with fault() as said:
            robot.check()
        assert words in said.words and not driver.seen.goals


class TestStreaming:
    def test_positions_go_in_small_steps_to_the_target_in_the_order_of_the_controller(self, lab):
        names = load_profile("ur5e").joint_names
        driver, robot = lab.drive(active=(POSITION,), order=names[::-1]), lab.port("streaming")
        stamp = begin(robot)
        robot.command(lab.to(0.05, LONG), stamp)
        until(lambda: len(driver.seen.streamed) > 10)
        robot.command(lab.to(0.05, 0.5), stamp)
        until(lambda: lab.off(0.05) < 1e-6)
        home = load_profile("ur5e").home[::-1]
        streamed = [values for name, values in driver.seen.streamed if name == POSITION]
        shifts = [values[0] - home[0] for values in streamed]
        assert len(shifts) > 10 and shifts == sorted(shifts), "a controller that jumps is given no jumps"
        for shift, values in zip(shifts, streamed, strict=True):
            assert values == pytest.approx([position + shift for position in home]), (
                "all joints are as far on their way"
            )
        assert shifts[0] < 0.05 and shifts[-1] == pytest.approx(0.05)
        robot.command(lab.to(0.1, 0.2), stamp)
        until(lambda: lab.off(0.1) < 1e-6)

    def test_velocities_bring_the_joints_there_and_end_with_zeros(self, lab):
        driver = lab.drive(active=(POSITION,))
        robot = lab.port("streaming", streaming={"controller": VELOCITY, "interface": "velocity"})
        robot.command(lab.to(0.05, 5.0), begin(robot))
        until(lambda: driver.seen.streamed and not any(driver.seen.streamed[-1][1]))
        # At 1 cm a second: only a stream that stands still for seconds has it go as far beyond.
        assert lab.off(0.05) < 0.045
        assert driver.seen.switches == [([VELOCITY], [POSITION])]

    def test_a_stop_ends_the_stream_where_the_robot_is(self, lab):
        driver, robot = lab.drive(active=(POSITION,)), lab.port("streaming")
        robot.command(lab.to(2.0, 40.0), begin(robot))
        until(lambda: len(driver.seen.streamed) > 5)
        robot.stop()
        until(lambda: _stands(lab))
        assert 0.0 < lab.off(0.0) < 1.0

    def test_a_stop_while_readings_are_refused_leaves_the_controller_at_its_last_command(self, lab):
        driver, robot = lab.drive(active=(POSITION,)), lab.port("streaming")
        robot.command(lab.to(2.0, 40.0), begin(robot))
        until(lambda: len(driver.seen.streamed) > 5)
        driver.misbehaviour.shift = {"elbow_joint": 1000.0}
        faulty(robot)
        robot.stop()
        until(lambda: _stands(lab))
        way = [positions[0] for _, positions in driver.seen.streamed]
        assert way == sorted(way), "the arm is not sent back to where it was last believed to be"

    def test_a_stream_that_sends_no_more_ends_where_it_is_and_the_next_command_begins_another(self, lab):
        driver, robot = lab.drive(active=(POSITION,)), lab.port("streaming")
        stamp = begin(robot)
        robot.command(lab.to(2.0, 40.0), stamp)
        until(lambda: len(driver.seen.streamed) > 5)
        robot.stop_sending()
        until(lambda: _stands(lab))
        assert 0.0 < lab.off(0.0) < 1.0
        robot.command(lab.to(0.0, 0.5), robot.state(stamp).stamp)
        until(lambda: lab.off(0.0) < 1e-6)

    def test_another_process_stops_velocities_though_it_never_moved_the_robot(self, lab):
        driver = lab.drive(active=(VELOCITY,))
        settings = {"controller": VELOCITY, "interface": "velocity"}
        watchdog = lab.port("streaming", streaming=settings)
        begin(watchdog)
        driver._on_stream(VELOCITY, SimpleNamespace(data=[0.01] * 6))

        def is_told_zeros() -> bool:
            # The order of the controller's joints is asked for first.
            with contextlib.suppress(BenchFault):
                watchdog.stop()
            return driver.seen.streamed[-1][1] == [0.0] * 6

        until(is_told_zeros)
        until(lambda: _stands(lab))

    def test_a_controller_of_the_other_interface_is_told(self, lab):
        lab.drive()
        robot = lab.port("streaming", streaming={"controller": VELOCITY})
        begin(robot)
        with fault() as said:
            robot.command(lab.to(0.1), 0)
        assert "commands the interface 'velocity'" in said.words


class TestFrankaHand:
    HAND = {"hand": {"type": "franka", "homing": True}}  # noqa: RUF012

    def closing(self, lab: Lab, position: float) -> JointTrajectoryCommand:
        profile = load_profile(lab.robot)
        return JointTrajectoryCommand(profile.joint_names, profile.home, PERIOD, position)

    def test_it_is_homed_once_grasps_to_close_and_moves_to_open(self, hand_lab):
        driver, robot = hand_lab.drive(), hand_lab.port(**self.HAND)
        stamp = begin(robot)
        for position, count in ((0.04, 2), (0.04, 2), (0.0, 3), (0.0, 3), (0.04, 4)):
            robot.command(self.closing(hand_lab, position), stamp)
            until(lambda count=count: len(driver.seen.hand) >= count)
        assert driver.seen.hand == [("homing", 0.0), ("move", 0.08), ("grasp", 0.0), ("move", 0.08)]

    def test_a_goal_that_another_one_replaced_is_no_fault(self, hand_lab):
        driver, robot = hand_lab.drive(), hand_lab.port(hand={"type": "franka"})
        stamp = begin(robot)
        for position in (0.0, 0.04, 0.0):
            robot.command(self.closing(hand_lab, position), stamp)
            stamp = robot.state(stamp).stamp
        until(lambda: len(driver.seen.hand) >= 3 and hand_lab.fingers.width() < 1e-3)
        assert robot.state(stamp).stamp > stamp

    def test_a_stop_ends_a_closing_hand_whoever_closes_it_and_lets_go_of_nothing_that_is_held(self, hand_lab):
        driver, robot = hand_lab.drive(), hand_lab.port(hand={"type": "franka"})
        watchdog = hand_lab.port(hand={"type": "franka"})
        begin(watchdog)
        assert not watchdog.stop_answered
        until(lambda: _stopped(watchdog) and watchdog.stop_answered)
        assert not driver.seen.hand, "a hand that does not move is left alone"
        robot.command(self.closing(hand_lab, 0.0), begin(robot))
        until(lambda: 0.0 < hand_lab.fingers.width() < 0.06)
        watchdog.stop()
        until(lambda: driver.seen.hand[-1][0] == "stop")
        width = hand_lab.fingers.width()
        until(lambda: driver._grip is None)
        assert hand_lab.fingers.width() == width > 0.0
        assert "franka_gripper/move" in driver.seen.cancelled

    def test_what_its_driver_says_is_told(self, hand_lab):
        driver, robot = hand_lab.drive(), hand_lab.port(hand={"type": "franka"})
        driver.misbehaviour.hand_error = "libfranka gripper: Command failed!"
        robot.command(self.closing(hand_lab, 0.04), begin(robot))
        assert "the hand did not move: libfranka gripper: Command failed!; is it homed?" in faulty(robot)

    def test_an_error_of_the_arm_is_recovered_from_only_where_that_is_asked_for(self, hand_lab):
        driver = hand_lab.drive(active=())
        driver.misbehaviour.in_error = True
        left, asked = hand_lab.port(franka={}), hand_lab.port(franka={"recover": True})
        begin(left)
        with fault() as said:
            left.command(self.closing(hand_lab, 0.04), 0)
        assert "hardware is in error" in said.words and "recover" in said.words and driver.seen.recoveries == 0
        asked.command(self.closing(hand_lab, 0.04), begin(asked))
        assert driver.seen.recoveries == 1 and driver.states[TRAJECTORY] == "active"


class TestMoveItServo:
    def test_the_flange_goes_where_the_joints_have_it_at_the_speed_that_takes_it_there(self, lab):
        driver, robot = lab.drive(), lab.port("moveit_servo")
        kinematics, home = Kinematics(load_profile("ur5e")), load_profile("ur5e").home
        here = kinematics.tool_pose(home)
        x, y, z = here.position
        names = load_profile("ur5e").joint_names
        target = kinematics.posture(Pose((x, y + 0.02, z), here.orientation))
        robot.command(JointTrajectoryCommand(names, target, 0.5), begin(robot))
        first = until(lambda: len(driver.seen.twists) > 2 and driver.seen.twists[0])
        assert driver.seen.servo == ["switch_command_type", "pause_servo"]
        linear = first.twist.linear
        # 2 cm in half a second along the world's y, which is base_link's. Where the first one is late, the arm, which
        # does not move here, is off by up to 2 cm, which adds up to 4 cm/s.
        assert (linear.x, linear.z) == pytest.approx((0.0, 0.0), abs=0.004) and 0.036 < linear.y < 0.084
        assert first.header.frame_id == "base_link"
        stamp = first.header.stamp.sec + 1e-9 * first.header.stamp.nanosec
        assert abs(time.time() - stamp) < LONG
        until(lambda: driver.seen.twists[-1].twist == type(first.twist)())

    def test_other_units_than_servos_are_refused_before_the_first_motion(self, lab):
        driver, robot = lab.drive(), lab.port("moveit_servo")
        driver.parameters["servo_node", "moveit_servo.command_in_type"] = "unitless"
        begin(robot)
        with fault() as said:
            robot.command(lab.to(0.01), 0)
        assert "Servo takes `command_in_type: unitless`" in said.words and not driver.seen.twists

    def test_the_services_of_another_release_are_told(self, lab):
        lab.drive()
        settings = {**PORTS["moveit_servo"], "api": "start_servo"}
        robot = lab.port("moveit_servo", moveit_servo=settings, answer_timeout=5.0)
        begin(robot)
        with fault() as said:
            robot.command(lab.to(0.01), 0)
        assert "`services` from Jazzy on, `start_servo` on Humble" in said.words


class Base:
    """A base's driver that stands where it says."""

    def __init__(self, node: Node) -> None:
        self.node, self.twists = node, []
        self.at, self.upright, self.correction, self.behind = (1.0, 2.0), 1.0, None, 0.0
        node.create_subscription(Twist, "locobot/mobile_base/cmd_vel", self.twists.append, 10)
        self._odometry = node.create_publisher(Odometry, "locobot/mobile_base/odom", 10)
        self._tf = node.create_publisher(TFMessage, "tf", 10)
        node.create_timer(0.02, self._publish)

    def _publish(self) -> None:
        message = Odometry()
        message.header.stamp = self.node.get_clock().now().to_msg()
        message.pose.pose.position.x, message.pose.pose.position.y = self.at
        message.pose.pose.orientation.w = self.upright
        self._odometry.publish(message)
        if self.correction is not None:
            stamped = TransformStamped(child_frame_id="locobot/odom")
            stamped.header.frame_id, stamped.header.stamp = "map", message.header.stamp
            stamped.header.stamp.sec -= int(self.behind)
            stamped.transform.translation.x = self.correction
            half = math.sqrt(0.5)
            stamped.transform.rotation.z = stamped.transform.rotation.w = half  # a quarter turn to the left
            self._tf.publish(TFMessage(transforms=[stamped]))


class TestCmdVel:
    @pytest.fixture
    def base_lab(self, tmp_path) -> Iterator[Lab]:
        with ExitStack() as stack:
            yield Lab(tmp_path, stack, "locobot")

    def port(self, lab: Lab, period: float = PERIOD) -> tuple[Base, Any]:
        base = Base(lab.node("base"))
        return base, lab.port("cmd_vel", period=period, cmd_vel={"rate": 50.0, "map_pose": [0.0, 1.0, math.pi]})

    def test_a_velocity_is_repeated_while_it_holds_and_followed_by_zeros(self, base_lab):
        base, robot = self.port(base_lab, period=0.5)

        def is_repeated() -> bool:
            """Tell whether a velocity came more than once; a process that got no processor is late for that."""
            base.twists.clear()
            robot.command(TwistCommand(0.3, 0.1), begin(robot))
            until(lambda: base.twists and base.twists[-1].linear.x == 0.0)
            moving = [twist for twist in base.twists if twist.linear.x]
            assert all((twist.linear.x, twist.angular.z) == (0.3, 0.1) for twist in moving)
            return len(moving) > 1

        until(is_repeated)

    def test_where_no_localiser_runs_the_pose_is_odometry_and_says_so(self, base_lab):
        base, robot = self.port(base_lab)
        assert robot.state(0).pose.xy == base.at and not robot.state(0).localised
        assert robot.pose_source == "odometry (locobot/mobile_base/odom)"

    def test_where_one_runs_the_pose_is_that_of_the_map_in_the_world(self, base_lab):
        base, robot = self.port(base_lab)
        base.correction = 10.0
        until(lambda: robot.state(0) and robot.pose_source.startswith("map ->"))
        reading = robot.state(0)
        assert reading.localised
        # The map lies a metre along the world's y, turned by half a turn.
        assert reading.pose.xy == pytest.approx((-(10.0 - 2.0), 1.0 - 1.0))
        assert reading.pose.yaw == pytest.approx(-math.pi / 2)

    def test_a_localiser_that_is_lost_is_a_fault(self, base_lab):
        base, robot = self.port(base_lab)
        base.correction = 10.0
        until(lambda: robot.state(0) and robot.pose_source.startswith("map ->"))
        base.behind = 30.0
        assert "the localiser's newest transform map -> locobot/odom is" in faulty(robot)

    def test_odometry_that_begins_anew_or_has_no_orientation_is_a_fault(self, base_lab):
        base, robot = self.port(base_lab)
        begin(robot)
        base.at = (0.0, 0.0)
        assert "odom: 'x' is read as 0.0000" in faulty(robot)
        base.at, base.upright = (1.0, 2.0), 0.0
        until(lambda: "orientation (0.0, 0.0, 0.0, 0.0) has length 0.0000" in faulty(robot))

    def test_two_sources_of_odometry_are_refused_by_name(self, base_lab):
        _, robot = self.port(base_lab)
        begin(robot)
        other = Base(base_lab.node("other")).node.get_fully_qualified_name()
        until(lambda: robot._node.count_publishers("locobot/mobile_base/odom") == 2)
        with fault() as said:
            robot.check()
        assert "/locobot/mobile_base/odom has 2 publishers: /base0, " + other in said.words

    def test_a_base_that_nobody_drives_is_told(self, base_lab):
        _, robot = self.port(base_lab)
        base_lab.made.clear()
        path = base_lab.folder / "robot.yaml"
        driver = {"cmd_vel": {}, **LONG_LIMITS, "answer_timeout": 1.0}
        command = {"topic": "base/cmd_vel", "type": "geometry_msgs/msg/Twist", "timeout": 1.0}
        path.write_text(yaml.safe_dump({"extends": "locobot", "port": "cmd_vel", "command": command, "driver": driver}))
        profile = load_profile(path)
        other = type(robot)(robot._node, profile, robot._parameters, robot._inbox, robot._recorder)
        base_lab.stack.callback(other.close)
        begin(other)
        with fault() as said:
            other.command(TwistCommand(0.1), 0)
        assert "nobody subscribes to /base/cmd_vel; there is /locobot/mobile_base/cmd_vel" in said.words


def _stopped(robot: Any) -> bool:
    """Stop the robot, and tell whether its driver was there."""
    try:
        robot.stop()
    except BenchFault:
        time.sleep(0.1)
        return False
    return True


def _stands(lab: Lab) -> bool:
    """Tell whether the joints stand still."""
    before = lab.joints.positions()
    time.sleep(0.1)
    return math.dist(lab.joints.positions(), before) < 1e-5


@pytest.mark.parametrize(
    ("robot", "keys", "words"),
    [
        ("ur5e", {"port": "follow_joint_trajectory"}, "`driver.follow_joint_trajectory`, the settings of"),
        ("ur5e", {"port": "cmd_vel", "driver": {}}, "`port` for a robot of this kind: topics, follow_joint_trajectory"),
        ("locobot", {"port": "streaming", "driver": {}}, "`port` for a robot of this kind: topics, cmd_vel"),
        ("ur5e", {"driver": {"streaming": {"controller": "c", "rate": 1.0}}}, "greater than or equal to 20"),
        ("ur5e", {"driver": {"streaming": {"controller": "c", "rat": 3}}}, "Did you mean 'rate'?"),
        ("ur5e", {"driver": {"hand": {"type": "claw"}}}, "driver.hand"),
    ],
)
def test_settings_that_do_not_fit_are_one_clear_line(tmp_path, robot, keys, words):
    path = tmp_path / "robot.yaml"
    path.write_text(yaml.safe_dump({"extends": robot, **keys}))
    with pytest.raises(ConfigurationError) as raised:
        load_profile(path)
    assert words in str(raised.value) and str(path) in str(raised.value) and "\n" not in str(raised.value)
