"""The simulator of an arm with a hand: commands on two topics, and what the driver publishes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

rclpy = pytest.importorskip("rclpy", reason="needs ROS 2 (run `make setup`)")

from simulator_process import SimulatorClient, start_process  # noqa: E402
from tf2_msgs.msg import TFMessage  # noqa: E402

from robocontrast_ros.configuration import resolve_uri  # noqa: E402
from robocontrast_ros.domain import Pose  # noqa: E402
from robocontrast_ros.nodes.runtime.qos import LOCKSTEP  # noqa: E402
from robocontrast_ros.objects.frames import compose  # noqa: E402
from robocontrast_ros.robots.commands import JointTrajectoryCommand  # noqa: E402
from robocontrast_ros.robots.kinematics import Kinematics  # noqa: E402
from robocontrast_ros.robots.profile import load_profile  # noqa: E402
from robocontrast_ros.worlds.mujoco.world import World  # noqa: E402

PROFILE = replace(load_profile("franka_hand"), cameras=(), mount=None)
WORLD = "package://robocontrast_ros/models/tabletop.xml"
CONTROL, STEPS = 50, 20
JOINTS, CONTACTS = (topic for topic, _ in PROFILE.driver_topics)


@pytest.fixture(scope="module")
def simulator(tmp_path_factory) -> Iterator[SimulatorClient]:
    process = start_process(
        tmp_path_factory.mktemp("simulator"),
        robot=str(resolve_uri("package://robocontrast_ros/config/robots/franka_hand.yaml")),
        world=WORLD,
    )
    client = SimulatorClient(PROFILE)
    client.start_over()
    yield client
    client.close()
    process.terminate()
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output


def test_what_is_sent_to_arm_and_hand_before_a_step_is_carried_out_in_it_to_the_last_bit(simulator):
    world, rng = World(PROFILE, WORLD), np.random.default_rng(0)
    hand = PROFILE.end_effector
    for k in range(STEPS):
        joints = tuple((PROFILE.home + rng.uniform(-0.05, 0.05, len(PROFILE.joints))).tolist())
        # Now and then the hand gets no command, and goes on.
        gripper = hand.drive(float(rng.uniform())) if k % 4 else None
        command = JointTrajectoryCommand(PROFILE.joint_names, joints, 0.1, gripper)
        simulator.command(command)
        simulator.step(CONTROL)
        world.apply_command(command)
        world.step(CONTROL)
        simulator.wait(lambda k=k: all(len(simulator.heard[topic]) > k for topic in (JOINTS, CONTACTS)))
        message, expected = simulator.heard[JOINTS][k], world.joint_state()
        assert tuple(message.name) == expected.names == (*PROFILE.joint_names, *PROFILE.hand_joint_names)
        assert tuple(message.position) == expected.positions
        assert tuple(message.effort) == expected.efforts
        assert simulator.heard[CONTACTS][k].header.stamp == message.header.stamp
        assert tuple(simulator.heard[CONTACTS][k].entities) == world.touched()
        assert tuple(simulator.heard[CONTACTS][k].carried) == world.carried()


def test_tf_of_the_links_comes_to_whoever_subscribes_and_puts_the_tool_where_the_joints_have_it(simulator):
    heard: list[TFMessage] = []
    subscription = simulator.node.create_subscription(TFMessage, "tf", heard.append, LOCKSTEP)

    def stepped() -> bool:
        # The simulator has to discover the subscription first; it says nothing where nobody listens.
        simulator.step(1)
        return bool(heard)

    simulator.wait(stepped)
    simulator.node.destroy_subscription(subscription)
    latest = heard[-1].transforms
    stamp = latest[0].header.stamp
    simulator.wait(lambda: any(each.header.stamp == stamp for each in simulator.heard[JOINTS]))
    joints = next(each for each in simulator.heard[JOINTS] if each.header.stamp == stamp)
    frames = {t.child_frame_id: t for t in (*latest, *simulator.latched["tf_static"][0].transforms)}
    place, frame = Pose(), PROFILE.tool_frame
    while frame in frames:
        where = frames[frame].transform
        x, y, z = where.translation.x, where.translation.y, where.translation.z
        turned = (where.rotation.x, where.rotation.y, where.rotation.z, where.rotation.w)
        place, frame = compose(Pose((x, y, z), turned), place), frames[frame].header.frame_id
    assert frame == "world"
    expected = Kinematics(PROFILE).tool_pose(joints.position[: len(PROFILE.joints)])
    assert place.distance_to(expected) < 1e-9
