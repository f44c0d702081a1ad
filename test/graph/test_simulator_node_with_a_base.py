"""The simulator with a mobile base, over real topics and services."""

from __future__ import annotations

import math
from collections.abc import Iterator
from xml.etree import ElementTree as ET

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from simulation_interfaces.msg import Result
from simulation_interfaces.srv import (
    GetEntitiesStates,
    GetEntityInfo,
    GetEntityState,
    SetEntityState,
)
from simulator_process import OK, SimulatorClient, start_process

from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.domain import Pose
from robocontrast_ros.messages.decoding import pose_from_msg, stamp_from_msg
from robocontrast_ros.messages.images import image_to_array
from robocontrast_ros.nodes.conversions.domain import pose_to_msg
from robocontrast_ros.nodes.conversions.driver import command_from_msg, command_to_msgs, reading_from_msg
from robocontrast_ros.robots.commands import TwistCommand
from robocontrast_ros.robots.kinds import make_state_estimator
from robocontrast_ros.robots.profile import load_profile

PROFILE = load_profile("locobot")
ODOMETRY, JOINTS, CONTACTS, TF = (topic for topic, _ in PROFILE.driver_topics)
IMAGE = PROFILE.cameras[0].image_topic
CONTROL, STEP_NS = 20, 5_000_000
CRATE = (
    '<mujoco><worldbody><body mocap="true"><geom type="box" size=".3 .3 .4" pos="0 0 .4" rgba="1 0 0 1"/>'
    "</body></worldbody></mujoco>"
)


@pytest.fixture(scope="module")
def client(tmp_path_factory) -> Iterator[SimulatorClient]:
    process = start_process(
        tmp_path_factory.mktemp("simulator"),
        robot=str(resolve_uri("package://robocontrast_ros/config/robots/locobot.yaml")),
        world="package://robocontrast_ros/models/apartment/world.xml",
        physics_step=STEP_NS * 1e-9,
        cameras=["camera"],
        camera_widths=[64],
        camera_heights=[64],
    )
    client = SimulatorClient(PROFILE)
    yield client
    client.close()
    process.terminate()
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output


@pytest.fixture
def simulator(client) -> SimulatorClient:
    client.start_over()
    return client


def step(simulator: SimulatorClient, steps: int = CONTROL) -> None:
    """Step, and wait until everything of the new time is there."""
    count = len(simulator.heard[ODOMETRY]) + 1
    simulator.step(steps)
    simulator.wait(lambda: all(len(heard) == count for heard in simulator.heard.values()))


def put(simulator: SimulatorClient, entity: str, pose: Pose) -> int:
    request = SetEntityState.Request()
    request.state.pose = pose_to_msg(pose)
    return simulator.call(SetEntityState, entity=entity, state=request.state).result.result


def true_pose(simulator: SimulatorClient) -> Pose:
    return pose_from_msg(simulator.call(GetEntityState, entity="locobot").state.pose)


def test_a_step_brings_everything_that_the_driver_publishes_with_one_stamp(simulator):
    for _ in range(3):
        step(simulator)
    due = [CONTROL * STEP_NS * count for count in (1, 2, 3)]
    for topic in (ODOMETRY, JOINTS, CONTACTS, IMAGE):
        assert [stamp_from_msg(m.header.stamp) for m in simulator.heard[topic]] == due, topic
    transform = simulator.heard[TF][-1].transforms[0]
    assert stamp_from_msg(transform.header.stamp) == due[-1]
    joints = simulator.heard[JOINTS][-1]
    assert tuple(joints.name) == PROFILE.joint_names
    assert len(joints.position) == len(joints.velocity) == len(joints.effort) == 2
    assert image_to_array(simulator.heard[IMAGE][-1]).shape == (64, 64, 3)


def test_a_twist_moves_the_base_and_odometry_and_tf_say_so_in_the_drivers_frames(simulator):
    assert put(simulator, "locobot", Pose.planar(1.0, 1.0, 0.5)) == OK
    estimator = make_state_estimator(PROFILE)
    estimator.begin(Pose.planar(1.0, 1.0, 0.5))
    step(simulator)
    estimator.update(reading_from_msg(simulator.heard[ODOMETRY][-1]))
    for _ in range(20):
        simulator.command(TwistCommand(0.3, 0.4))
        step(simulator)
    odometry = simulator.heard[ODOMETRY][-1]
    assert (odometry.header.frame_id, odometry.child_frame_id) == (PROFILE.odom_frame, PROFILE.base_frame)
    assert odometry.twist.twist.linear.x == pytest.approx(0.3, abs=0.02)
    assert odometry.twist.twist.angular.z == pytest.approx(0.4, abs=0.02)
    transform = simulator.heard[TF][-1].transforms[0]
    assert (transform.header.frame_id, transform.child_frame_id) == (PROFILE.odom_frame, PROFILE.base_frame)
    assert transform.transform.translation.x == odometry.pose.pose.position.x
    assert transform.transform.rotation == odometry.pose.pose.orientation
    believed = estimator.update(reading_from_msg(odometry)).pose
    assert believed.distance_to(true_pose(simulator)) < 0.02
    assert math.dist(believed.xy, (1.0, 1.0)) > 0.3


def test_a_late_subscriber_is_told_where_the_camera_is(simulator):
    simulator.wait(lambda: len(simulator.latched["tf_static"]) == 1)
    frames = {frame.child_frame_id: frame for frame in simulator.latched["tf_static"][0].transforms}
    optical = frames[PROFILE.cameras[0].frame_id]
    assert optical.header.frame_id == "locobot/camera_link", "which looks ahead as the body does"
    camera = frames["locobot/camera_link"]
    assert camera.header.frame_id == "locobot/base_link"
    assert frames["locobot/base_link"].header.frame_id == PROFILE.base_frame
    translation = camera.transform.translation
    expected = PROFILE.mount.optical_pose.position
    assert (translation.x, translation.y, translation.z) == pytest.approx(expected)


def test_a_late_subscriber_is_told_the_robots_description(simulator):
    simulator.wait(lambda: len(simulator.latched["robot_description"]) == 1)
    links = ET.fromstring(simulator.latched["robot_description"][0].data).findall("link")
    assert [link.get("name") for link in links][:2] == [PROFILE.base_frame, "locobot/base_link"]


def test_the_robot_can_be_put_somewhere_like_any_other_entity(simulator):
    wanted = Pose.planar(4.0, 2.0, -2.0)
    assert put(simulator, "locobot", wanted) == OK
    assert true_pose(simulator) == wanted
    states = simulator.call(GetEntitiesStates)
    assert set(states.entities) == {"locobot", "walls"}
    assert put(simulator, "walls", wanted) == Result.RESULT_OPERATION_FAILED


def test_what_it_runs_into_is_reported_by_name_and_stays_where_it_is(simulator):
    assert put(simulator, "locobot", Pose.planar(3.0, 2.0, 0.0)) == OK
    answer = simulator.spawn("crate", 3.7, 2.0, resource_string=CRATE)
    assert answer.result.result == OK, answer.result.error_message
    info = simulator.call(GetEntityInfo, entity="crate").info
    assert info.category.category == info.category.CATEGORY_DYNAMIC_OBJECT
    step(simulator)
    assert list(simulator.heard[CONTACTS][-1].entities) == []
    for _ in range(20):
        simulator.command(TwistCommand(0.4, 0.0))
        step(simulator)
    assert list(simulator.heard[CONTACTS][-1].entities) == ["crate"]
    crate = pose_from_msg(simulator.call(GetEntityState, entity="crate").state.pose)
    assert crate == Pose.planar(3.7, 2.0)
    assert true_pose(simulator).position[0] + PROFILE.body.radius == pytest.approx(3.4, abs=0.005)


def test_a_crate_before_it_turns_the_picture_red(simulator):
    assert put(simulator, "locobot", Pose.planar(1.0, 2.0, 0.0)) == OK
    simulator.spawn("crate", 2.2, 2.0, resource_string=CRATE)
    step(simulator)
    red, green, _ = image_to_array(simulator.heard[IMAGE][-1])[32, 32].astype(int)
    assert red > 100 > 2 * green


def test_the_same_requests_give_the_same_messages_to_the_last_bit(simulator):
    def run() -> list:
        simulator.start_over()
        put(simulator, "locobot", Pose.planar(2.0, 2.0, 0.3))
        simulator.spawn("crate", 3.0, 2.3, resource_string=CRATE)
        seen = []
        for count in range(15):
            simulator.command(TwistCommand(0.4, 0.1 * (count % 3)))
            step(simulator)
            state = simulator.call(GetEntityState, entity="locobot").state
            latest = [simulator.heard[topic][-1] for topic in (ODOMETRY, JOINTS, CONTACTS, TF)]
            seen.append((latest, state, bytes(simulator.heard[IMAGE][-1].data)))
        return seen

    assert run() == run()


def test_a_twist_that_wheels_cannot_follow_is_refused():
    ((topic, message),) = command_to_msgs(PROFILE, TwistCommand(0.1, 0.2), 0.0)
    assert topic == PROFILE.command.topic
    assert command_from_msg(message) == TwistCommand(0.1, 0.2)
    message.linear.y = 0.1
    with pytest.raises(ValueError, match=r"expected linear.x and angular.z alone"):
        command_from_msg(message)
