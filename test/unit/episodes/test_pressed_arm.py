"""An arm that is pressed against something, and springs to its target when it comes free."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from robocontrast_ros.domain import Fault, JointTracking, Pose
from robocontrast_ros.episodes.assembly import EpisodeAssembly
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.policies.protocol import PolicyDescription, PolicyFault
from robocontrast_ros.robots.commands import JointTrajectoryCommand
from robocontrast_ros.robots.kinds import make_safety_filter, make_state_estimator
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.worlds.mujoco.world import World

FRANKA = load_profile("franka")
PERIOD = 0.1
SPRANG = r"jump of fr3_joint1: 0\.6\d+ rad, at most 0\.3\d+: it was pressed against something, and sprang$"
WALL = '<mujoco><worldbody><body name="wall"><geom type="box" size="0.3 0.02 0.3"/></body></worldbody></mujoco>'


class Embedded:
    """The port of an arm in the embedded world; its readings may be shifted."""

    homes = False

    def __init__(self) -> None:
        self.world, self.shift = World(FRANKA, "package://robocontrast_ros/models/language_table/world.xml"), 0.0
        self.located: list[JointTracking] = []

    def state(self, after):
        reading = self.world.reading()
        assert reading.stamp > after
        return replace(reading, positions=(reading.positions[0] + self.shift, *reading.positions[1:]))

    def command(self, command, stamp):
        self.world.apply_command(command)


class Pushing:
    """A policy that is told nothing of the scene."""

    description = PolicyDescription("pushing", "joint_positions", 7)


def pushed(target):
    """Push the first joint towards a target [rad], with a wall in its way; return the arm and its episode."""
    robot = Embedded()
    world, told = robot.world, []
    pacer = SimpleNamespace(step=lambda: world.step(round(PERIOD / world.step_duration)))
    around = SimpleNamespace(
        person_near=False,
        located=lambda state, targets: robot.located.append(JointTracking.of(state, targets)),
        intervened=lambda stamp, those: told.extend(those),
    )
    estimator = make_state_estimator(FRANKA)
    estimator.begin(world.tool_pose())
    episode = EpisodeAssembly(robot, estimator, pacer, around, Pushing(), PERIOD, make_safety_filter(FRANKA, PERIOD))
    x, y, z = world.tool_pose().position
    world.spawn("wall", Pose((x, y + 0.15, z)), resource=WALL)
    episode.step()
    start = episode.observe(0)
    joints, stamp = np.array(start.joint_positions), start.stamp
    for share in np.linspace(0.0, 1.0, round(target / 0.05) + 1)[1:]:
        goal = joints + share * target * np.eye(7)[0]
        episode.command(JointTrajectoryCommand(FRANKA.joint_names, tuple(goal.tolist()), PERIOD))
        episode.step()
        stamp = episode.observe(stamp).stamp
    assert ("franka", "wall") in world.contacts()
    return robot, episode, told, stamp


def test_an_arm_that_springs_to_its_target_when_it_comes_free_is_a_fault_of_the_policy_that_pressed_it():
    robot, episode, told, stamp = pushed(0.75)
    robot.world.delete("wall")
    episode.step()
    with pytest.raises(PolicyFault, match=SPRANG) as raised:
        episode.observe(stamp)
    assert raised.value.fault is Fault.POLICY_UNSAFE
    assert dict(episode.interventions) == {"jump": 1}
    assert [(each.kind, each.action) for each in told] == [("jump", "stop")]


@pytest.mark.parametrize(("target", "shift"), [(0.75, -1.0), (0.2, 1.0), (0.2, np.nan), (0.75, np.nan)])
def test_a_reading_that_no_spring_explains_is_a_fault_of_the_robot(target, shift):
    robot, episode, told, stamp = pushed(target)
    robot.shift = shift
    episode.step()
    with pytest.raises(BenchFault, match="'fr3_joint1' is read as") as raised:
        episode.observe(stamp)
    assert raised.value.fault is Fault.ROBOT_FAULT
    assert not episode.interventions and not told


def test_an_arm_that_is_pressed_less_comes_free_within_what_a_reading_may_show():
    robot, episode, _, stamp = pushed(0.35)
    robot.world.delete("wall")
    episode.step()
    assert episode.observe(stamp).stamp > stamp


def test_joints_are_compared_with_the_command_before_them_and_the_first_with_none():
    robot, _, _, _ = pushed(0.2)
    first, *rest = robot.located
    assert first.names == FRANKA.joint_names and all(map(math.isnan, first.commanded))
    goals = [first.measured[0] + share * 0.2 for share in np.linspace(0.0, 1.0, 5)[1:]]
    assert [each.commanded for each in rest] == [pytest.approx((goal, *first.measured[1:])) for goal in goals]
    assert {each.gripper_closed for each in robot.located} == {None}, "a rod does not close"
