"""Shipped parameter files of policies that move a gripper, tried on an arm with a hand against local servers."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from remote_servers import SUPPORT, parameter_file, server

from robocontrast_ros.configuration import find_configured, load_configured
from robocontrast_ros.domain import Pose
from robocontrast_ros.domain.rotations import from_vector
from robocontrast_ros.policies.adapters.packing import StateParameters, pack_state
from robocontrast_ros.policies.fit import find_differences
from robocontrast_ros.policies.protocol import Observation
from robocontrast_ros.robots.kinds import make_controller, make_state_estimator
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.worlds.mujoco.world import World

CAMERAS = {"front": (320, 240), "wrist": (320, 240)}


@pytest.fixture(scope="module")
def robot():
    return load_profile("franka_hand")


@pytest.fixture
def world(robot):
    return World(robot, "package://robocontrast_ros/models/tabletop.xml")


def observed(world, estimator):
    """Return what a policy is shown, its images in one colour each."""
    state = estimator.update(world.reading())
    images = {name: np.full((240, 320, 3), 40 * k, np.uint8) for k, name in enumerate(CAMERAS)}
    return Observation(
        state.stamp,
        images,
        state.joint_names,
        state.joint_positions,
        state.pose,
        gripper_width=state.gripper_width,
        gripper_closed=state.gripper_closed,
    )


def played(policy, world, rate, steps):
    """Let a policy act, one answer for each control step, and return the observations and the clamped steps."""
    description, robot = policy.describe(), world.profile
    assert find_differences(description, robot, rate, CAMERAS) == ()
    estimator, controller = make_state_estimator(robot), make_controller(robot, description.action_space, 1.0 / rate)
    seen, clamped = [observed(world, estimator)], 0
    controller.reset(seen[0].robot)
    policy.reset("pick the mug", 1)
    for _ in range(steps):
        actions = policy.act(seen[-1])
        assert actions.shape == (description.chunk_length, controller.action_size)
        controller.begin(actions[0], seen[-1].robot)
        step = controller.step(seen[-1].robot)
        clamped += step.clamped
        world.apply_command(step.command)
        world.step(round(1.0 / rate / world.step_duration))
        seen.append(observed(world, estimator))
    return seen, clamped


def test_a_policy_of_openpi_for_droid_moves_the_joints_by_its_shares_of_their_step(world, tmp_path):
    with server("openpi_server.py", "--droid") as port:
        file = parameter_file("openpi_droid", tmp_path, url=f"ws://127.0.0.1:{port}", timeout=10.0)
        policy = load_configured("policies", file)
        try:
            assert policy.describe().observes == ("joint_positions", "gripper_closed")
            seen, _ = played(policy, world, 15.0, 12)
            policy.reset("pick the mug", 1)
            answer = policy.act(seen[0])[0]
        finally:
            policy.close()
    # The server answers shares of 0.2 rad a control step, of at most 1, that bring each joint to 0.
    first = np.array(seen[0].joint_positions)
    assert answer[:7] / 15.0 == pytest.approx(np.clip(-first, -0.2, 0.2), abs=1e-6)
    assert answer[7] == pytest.approx(seen[0].gripper_closed, abs=1e-6)
    moved = np.subtract(seen[-1].joint_positions, first)
    far = np.abs(first) > 0.2
    assert (np.sign(moved[far]) == -np.sign(first[far])).all()
    assert seen[-1].gripper_closed == pytest.approx(0.0, abs=0.01), "it stays as it is"


def test_an_act_checkpoint_of_lerobot_reads_and_commands_joints_and_gripper(world, tmp_path):
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\nexec '{sys.executable}' '{SUPPORT / 'openpi_server.py'}' --lerobot --act\n")
    python.chmod(0o755)
    (tmp_path / "checkpoint").mkdir()
    (tmp_path / "checkpoint" / "config.json").write_text("{}")
    file = parameter_file("lerobot_act", tmp_path, python=str(python), checkpoint="checkpoint", timeout=10.0)
    policy = load_configured("policies", file)
    try:
        seen, clamped = played(policy, world, 10.0, 5)
    finally:
        policy.close()
    # The server answers with the state that it was sent: the arm stays where it is, and so does the hand.
    assert clamped == 0
    assert seen[-1].joint_positions == pytest.approx(seen[0].joint_positions, abs=2e-3)
    assert seen[-1].gripper_width == pytest.approx(seen[0].gripper_width, abs=1e-3)


@pytest.mark.parametrize("name", ["openpi_droid", "lerobot_act"])
def test_on_an_arm_without_a_hand_one_line_says_that_it_has_no_gripper(name, tmp_path):
    file = parameter_file(name, tmp_path)
    description = find_configured("policies", file).describe_file(file)
    told = [str(each) for each in find_differences(description, load_profile("franka"), None, CAMERAS)]
    assert told[0] == "gripper: the policy has a gripper, robot 'franka' has none"
    assert not [line for line in told[1:] if "gripper" in line or line.startswith("action_size")]


def test_the_state_has_the_gripper_and_the_rotation_vector_of_the_tool():
    pose = Pose((0.4, 0.1, 0.2), from_vector((0.1, -0.2, 0.3)))
    observation = Observation(0, {}, ("j",), (0.5,), pose, gripper_width=0.06, gripper_closed=0.25)
    parts = ("tool_position", "tool_rotation_vector", "gripper_width", "gripper_closed")
    vector = pack_state(observation, StateParameters(parts=parts))
    assert vector == pytest.approx((0.4, 0.1, 0.2, 0.1, -0.2, 0.3, 0.06, 0.25))
