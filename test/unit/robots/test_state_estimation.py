"""From readings of a driver to where the robot is in the world."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from two_finger_hand import OPEN, write_arm_with_a_hand

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import Fault, Pose
from robocontrast_ros.episodes.assembly import EpisodeAssembly
from robocontrast_ros.episodes.loop import EpisodeRequest, run_episode
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.robots.homing import way_of_arm
from robocontrast_ros.robots.kinds import (
    make_controller,
    make_safety_filter,
    make_state_estimator,
    stop_command,
)
from robocontrast_ros.robots.kinematics import Kinematics
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.robots.state_estimation import BaseState, JointReading, NotAtStart, OdometryReading


@pytest.fixture(scope="module")
def with_a_hand(tmp_path_factory):
    return load_profile(write_arm_with_a_hand(tmp_path_factory.mktemp("robots") / "arm.yaml"))


def test_a_hand_is_known_by_its_joints_in_whatever_order_they_come(with_a_hand):
    arm = dict(zip(with_a_hand.joint_names, with_a_hand.home, strict=True))
    joints = {"finger2": 0.015, **arm, "finger1": 0.015}
    state = make_state_estimator(with_a_hand).update(JointReading(2_000_000_000, tuple(joints), tuple(joints.values())))
    assert (state.joint_names, state.joint_positions) == (with_a_hand.joint_names, with_a_hand.home)
    assert state.gripper_width == 0.03
    assert state.gripper_closed == pytest.approx(1 - 0.03 / 0.08)
    with pytest.raises(ValueError, match="expected also finger1, finger2"):
        make_state_estimator(with_a_hand).update(JointReading(2_000_000_000, tuple(arm), tuple(arm.values())))
    rod = make_state_estimator(FRANKA).update(JointReading(2_000_000_000, tuple(arm), tuple(arm.values())))
    assert rod.gripper_width is rod.gripper_closed is None


def test_a_hand_opens_on_the_way_home_and_stays_as_it_is_when_the_arm_stops(with_a_hand):
    joints = dict(zip((*with_a_hand.joint_names, "finger1", "finger2"), (*with_a_hand.home, 0.01, 0.01), strict=True))
    reading = JointReading(2_000_000_000, tuple(joints), tuple(joints.values()))
    assert {command.gripper for command in way_of_arm(with_a_hand, reading, Pose((0.4, 0.0, 0.2)))} == {OPEN}
    held = stop_command(with_a_hand, reading, 0.1)
    assert (held.names, held.positions, held.gripper) == (with_a_hand.joint_names, with_a_hand.home, None)


def test_an_arm_with_a_hand_has_its_channels_and_topics(with_a_hand, tmp_path):
    assert with_a_hand.observations == ("joint_positions", "tool_pose", "gripper_width", "gripper_closed")
    assert [topic for topic, _ in with_a_hand.command_topics] == [FRANKA.command.topic, "gripper/commands"]
    assert [topic for topic, _ in with_a_hand.driver_topics] == ["joint_states", "contacts"]
    assert FRANKA.observations == ("joint_positions", "tool_pose")
    assert len(FRANKA.command_topics) == len(FRANKA.driver_topics) == 1
    with pytest.raises(ConfigurationError, match=r"`gripper_command`: where the hand's driver takes commands"):
        load_profile(write_arm_with_a_hand(tmp_path / "arm.yaml", gripper_command=None))
    rod = {"type": "rod", "length": 0.1, "radius": 0.01}
    with pytest.raises(ConfigurationError, match=r"`gripper_command`: nothing, for a rod takes no commands"):
        load_profile(write_arm_with_a_hand(tmp_path / "arm.yaml", end_effector=rod))


FRANKA, LOCOBOT = load_profile("franka"), load_profile("locobot")
place = st.tuples(st.floats(-5.0, 5.0), st.floats(-5.0, 5.0), st.floats(-3.1, 3.1))


def moved(pose: Pose, ahead: float, left: float, turn: float) -> Pose:
    """Return a pose after a motion that is given in the pose's own frame."""
    x, y = pose.xy
    cos, sin = math.cos(pose.yaw), math.sin(pose.yaw)
    return Pose.planar(x + ahead * cos - left * sin, y + ahead * sin + left * cos, pose.yaw + turn)


@given(start=place, odometry=place, motion=place)
def test_a_base_moves_in_the_world_as_its_odometry_does_from_where_the_episode_starts(start, odometry, motion):
    estimator = BaseState(LOCOBOT)
    start, odometry = Pose.planar(*start), Pose.planar(*odometry)
    estimator.begin(start)
    first = estimator.update(OdometryReading(1_000_000_000, odometry))
    assert first.stamp == 1_000_000_000
    assert first.pose.distance_to(start) < 1e-9
    later = estimator.update(OdometryReading(1_100_000_000, moved(odometry, *motion))).pose
    expected = moved(start, *motion)
    assert later.distance_to(expected) < 1e-9
    assert abs(math.remainder(later.yaw - expected.yaw, math.tau)) < 1e-9


def test_the_next_episode_starts_anew_where_it_says():
    estimator = BaseState(LOCOBOT)
    estimator.begin(Pose.planar(1.0, 1.0, 0.0))
    estimator.update(OdometryReading(0, Pose()))
    assert estimator.update(OdometryReading(100_000_000, Pose.planar(2.0, 0.0))).pose.xy == pytest.approx((3.0, 1.0))
    estimator.begin(Pose.planar(-1.0, 0.0, 0.0))
    assert estimator.update(OdometryReading(200_000_000, Pose.planar(2.0, 0.0))).pose.xy == pytest.approx((-1.0, 0.0))


def localised(stamp: int, pose: Pose) -> OdometryReading:
    return OdometryReading(stamp, pose, localised=True)


def test_a_base_is_where_its_localiser_has_it_and_not_where_its_episode_should_start():
    estimator = make_state_estimator(LOCOBOT)
    start, found = Pose.planar(1.0, 2.0, 0.5), Pose.planar(1.1, 1.95, 0.4)
    estimator.begin(start)
    assert estimator.update(localised(0, found)).pose.distance_to(found) < 1e-9
    corrected = Pose.planar(1.3, 2.0, 0.45)
    after = estimator.update(localised(100_000_000, corrected)).pose
    assert after.distance_to(corrected) < 1e-9 and after.yaw == pytest.approx(0.45)
    estimator.begin(Pose.planar(1.0, 2.0, 3.1))
    estimator.update(localised(200_000_000, Pose.planar(1.0, 2.0, -3.1)))  # 0.08 rad apart, across pi


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Pose.planar(2.0, 2.0, 3.1), "has the base 1.00 m from its start and turned by 0.00 rad, more than 0.2 m"),
        (Pose.planar(1.0, 2.0, 2.8), "0.00 m from its start and turned by -0.30 rad, more than 0.2 m or 0.2 rad"),
    ],
)
def test_a_localised_base_that_is_not_where_its_episode_starts_says_how_far_off_it_is(found, words):
    estimator = make_state_estimator(LOCOBOT)
    estimator.begin(Pose.planar(1.0, 2.0, 3.1))
    with pytest.raises(NotAtStart, match=words) as raised:
        estimator.update(localised(0, found))
    assert "bring it to x 1.00, y 2.00, yaw 3.10 in 'world'" in str(raised.value)


class LocalisedBase:
    """A port of a base that its localiser has somewhere, which stays there."""

    homes = False

    def __init__(self, pose: Pose) -> None:
        self.pose, self.told = pose, []

    def prepare(self) -> None:
        self.told.append("prepare")

    def state(self, after: int) -> OdometryReading:
        return localised(after + 100_000_000, self.pose)

    def stop(self) -> None:
        self.told.append("stop")

    def command(self, command, stamp) -> None:
        self.told.append(command)


class Unasked:
    """A policy and surroundings: nothing is asked of them but to begin."""

    description, movable = PolicyDescription("unasked", "discrete_navigation", 1), ()

    def reset(self, instruction, seed, segments) -> None:
        pass


class NoTime:
    """A pacer that does not wait."""

    errors = ()

    def begin(self) -> None:
        pass

    def step(self) -> None:
        pass


def test_an_episode_of_a_base_that_is_localised_elsewhere_ends_before_anything_is_commanded():
    port, others, period = LocalisedBase(Pose.planar(2.0, 2.0, 0.5)), Unasked(), 0.1
    estimator, safety = make_state_estimator(LOCOBOT), make_safety_filter(LOCOBOT, period)
    episode = EpisodeAssembly(port, estimator, NoTime(), others, others, period, safety)
    request = EpisodeRequest("0000", "go", 1, 10, True, 7_000_000_000, Pose.planar(1.0, 2.0, 0.5))
    controller = make_controller(LOCOBOT, "discrete_navigation", period)
    report = run_episode(episode, controller, others.description, request)
    assert report.fault is Fault.ROBOT_NOT_READY and "the localiser has the base 1.00 m" in report.detail
    assert (report.steps, port.told) == (0, ["prepare", "stop"])


def test_a_base_takes_odometry_alone():
    with pytest.raises(ValueError, match="odometry: got JointReading"):
        make_state_estimator(LOCOBOT).update(JointReading(0, ("a",), (0.0,)))


def test_an_arm_takes_its_joints_in_any_order_and_refuses_others():
    estimator = make_state_estimator(FRANKA)
    names, home = FRANKA.joint_names, FRANKA.home
    state = estimator.update(JointReading(500_000_000, (*reversed(names), "finger"), (*reversed(home), 0.04)))
    assert state.joint_positions == home
    assert state.pose == Kinematics(FRANKA).tool_pose(home)
    with pytest.raises(ValueError, match="expected also fr3_joint7"):
        estimator.update(JointReading(500_000_000, names[:-1], home[:-1]))


@pytest.mark.parametrize("force", [None, 12.5])
def test_the_force_at_the_tool_is_handed_on_to_the_safety_filter(force):
    reading = JointReading(0, FRANKA.joint_names, FRANKA.home, force=force)
    assert make_state_estimator(FRANKA).update(reading).force == force


def test_an_arm_that_is_not_where_its_episode_starts_says_how_far_away_it_is():
    estimator = make_state_estimator(FRANKA)
    reading = JointReading(0, FRANKA.joint_names, FRANKA.home)
    x, y = estimator.update(reading).pose.xy
    estimator.begin(Pose.planar(x + 0.05, y))
    with pytest.raises(NotAtStart, match=r"the tool is 0\.050 m from its start position"):
        estimator.update(reading)
    estimator.begin(Pose.planar(x + 0.005, y))
    assert estimator.update(reading).pose.xy == (x, y)
