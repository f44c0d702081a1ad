"""Hands in the embedded world: what they lift they hold, what they let go lies still, and they keep their limits."""

from __future__ import annotations

import math

import numpy as np
import pytest

from robocontrast_ros.domain import Pose
from robocontrast_ros.objects import model_of_uri, tool_pose
from robocontrast_ros.robots.commands import GripperCommand, JointTrajectoryCommand
from robocontrast_ros.robots.kinematics import Kinematics
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.robots.state_estimation import JointReading
from robocontrast_ros.worlds.mujoco.entities import ResetScope
from robocontrast_ros.worlds.mujoco.sensors import Contacts, JointState
from robocontrast_ros.worlds.mujoco.world import World

WORLD = "package://robocontrast_ros/models/tabletop.xml"
OBJECTS = "package://robocontrast_ros/config/objects"
PLACE = (0.45, 0.1)
HAND = 0.05
"""Time of one motion step, in which the tool goes at most 1 cm [s]."""


class Rig:
    """An arm with a hand at a table, driven as a controller would."""

    def __init__(self, name: str) -> None:
        self.profile = load_profile(name)
        self.world = World(self.profile, WORLD)
        self.world.spawn("table", Pose(), uri=f"{OBJECTS}/table.yaml#oak")
        self.kinematics = Kinematics(self.profile)
        self.driven = self.profile.end_effector.joints[0]
        self.start()

    def start(self) -> None:
        for name in self.world.entities():
            if name not in ("table", "floor", self.profile.name):
                self.world.delete(name)
        self.world.reset(ResetScope.STATE)
        self.joints = self.profile.home

    def put_cube(self, **model: str) -> None:
        """Put a cube to the place, its sides along the fingers that come straight down there."""
        yaw = self.kinematics.tool_pose(self.kinematics.posture((*PLACE, 0.03))).yaw
        self.world.spawn("cube", Pose.planar(*PLACE, yaw), **(model or {"uri": f"{OBJECTS}/cube.yaml#red"}))
        self.world.step(100)

    def go(self, height: float, aside: tuple[float, float] = (0.0, 0.0)) -> None:
        """Move the tool straight to a height above the cube's place, or beside it [m]."""
        here = np.array(self.kinematics.tool_pose(self.joints).position)
        there = np.array([PLACE[0] + aside[0], PLACE[1] + aside[1], height])
        steps = max(math.ceil(np.linalg.norm(there - here) / 0.01), 1)
        for k in range(1, steps + 1):
            self.joints = self.kinematics.step(self.joints, tuple(here + (there - here) * k / steps), HAND).positions
            self.world.apply_command(JointTrajectoryCommand(self.profile.joint_names, self.joints, HAND))
            self.world.step(round(HAND / self.world.step_duration))
        self.wait(0.1)

    def grip(self, closed: float, wait: float = 0.8) -> None:
        self.world.apply_command(GripperCommand(self.profile.end_effector.drive(closed)))
        self.wait(wait)

    def wait(self, seconds: float) -> None:
        self.world.step(round(seconds / self.world.step_duration))

    @property
    def width(self) -> float:
        state = dict(zip(self.world.joint_state().names, self.world.joint_state().positions, strict=True))
        return self.profile.end_effector.width([state[name] for name in self.profile.hand_joint_names])


@pytest.fixture(scope="module", params=["franka_hand", "ur5e_2f85"])
def made(request) -> Rig:
    return Rig(request.param)


@pytest.fixture
def rig(made) -> Rig:
    made.start()
    return made


def test_a_hand_lifts_a_cube_holds_it_and_lets_it_go(rig):
    rig.put_cube()
    size = model_of_uri(f"{OBJECTS}/cube.yaml#red").size[0]
    rig.go(0.15)
    rig.go(0.03)
    assert "cube" not in rig.world.touched()
    rig.grip(1.0)
    assert rig.world.touched() == ("cube",)
    assert rig.width == pytest.approx(size, abs=1e-3)
    rig.go(0.15)
    lifted = rig.world.entity_state("cube").pose.position[2]
    assert lifted > 0.115
    rig.wait(2.0)
    held = rig.world.entity_state("cube").pose.position[2]
    assert abs(held - lifted) < 5e-4, "what is held neither slips nor creeps"
    assert rig.world.touched() == ("cube",)
    rig.go(0.032)
    rig.grip(0.0)
    rig.go(0.15)
    after = rig.world.entity_state("cube")
    assert rig.world.touched() == ()
    assert after.pose.position == pytest.approx((*PLACE, 0.0), abs=3e-3)
    assert math.hypot(*after.twist.linear) < 1e-3


def test_an_arm_carries_a_kilogramme_without_sinking(rig):
    heavy = (
        '<mujoco><worldbody><body name="b"><freejoint/><geom type="box" size=".025 .025 .025" pos="0 0 .025" mass="1"'
        ' condim="4" friction="1 .005 .0001"/></body></worldbody></mujoco>'
    )
    rig.put_cube(resource=heavy)
    rig.go(0.1)
    rig.go(0.025)
    rig.grip(1.0)
    rig.go(0.2)
    rig.wait(1.0)
    assert rig.world.tool_pose().position[2] == pytest.approx(0.2, abs=2e-3)
    assert rig.world.entity_state("cube").pose.position[2] == pytest.approx(0.175, abs=3e-3)


def test_the_fingers_keep_the_speed_and_the_force_of_the_hand(rig):
    hand, dt = rig.profile.end_effector, rig.world.step_duration
    widths = [rig.width]
    rig.world.apply_command(GripperCommand(rig.driven.closed))
    for _ in range(round(1.0 / dt)):
        rig.world.step()
        widths.append(rig.width)
    speeds = np.abs(np.diff(widths)) / dt
    assert widths[0] == pytest.approx(hand.greatest_width)
    assert widths[-1] == pytest.approx(0.0, abs=5e-4)
    # A crank turns at an even speed, so its finger is faster where it goes straight across, and slower at the end.
    assert hand.speed * 0.9 < speeds.max() < hand.speed * 1.3
    duration = hand.greatest_width / hand.speed
    assert widths[round(0.9 * duration / dt)] > 0.0
    assert widths[round(1.2 * duration / dt)] < 1e-3


def test_the_drive_presses_with_the_whole_force_and_opens_at_once(rig):
    hand = rig.profile.end_effector
    rig.put_cube()
    rig.go(0.03)
    rig.grip(1.0)
    joints = rig.world.joint_state()
    effort = abs(joints.efforts[joints.names.index(rig.driven.name)])
    lever = hand.crank.length if hand.type == "parallelogram_jaw" else 1.0
    assert effort == pytest.approx(hand.force * lever, rel=0.02)
    closed = rig.width
    rig.grip(0.0, wait=0.2)
    assert rig.width > closed + 0.002


def test_repeating_a_command_changes_nothing(rig):
    rig.put_cube()
    rig.go(0.03)
    rig.grip(1.0)
    before = rig.width
    for _ in range(5):
        rig.grip(1.0, wait=0.1)
    assert rig.width == pytest.approx(before, abs=1e-4)


def test_a_position_beyond_the_fingers_ends_is_the_nearest_end(rig):
    ends = rig.driven.open, rig.driven.closed
    span = ends[1] - ends[0]
    for end, beyond in ((ends[1], ends[1] + span), (ends[0], ends[0] - span)):
        rig.world.apply_command(GripperCommand(beyond))
        rig.wait(1.2)
        joints = rig.world.joint_state()
        assert joints.positions[joints.names.index(rig.driven.name)] == pytest.approx(end, abs=2e-3)


def test_what_is_no_position_is_refused_and_changes_nothing(rig):
    with pytest.raises(ValueError, match="finite position"):
        rig.world.apply_command(GripperCommand(math.nan))
    with pytest.raises(ValueError, match="finite position"):
        rig.world.apply_command(JointTrajectoryCommand(rig.profile.joint_names, rig.joints, 0.1, math.inf))
    rig.wait(0.2)
    assert rig.width == pytest.approx(rig.profile.end_effector.greatest_width, abs=1e-4)


def test_an_arm_without_a_hand_refuses_to_grip():
    world = World(load_profile("franka"), "package://robocontrast_ros/models/language_table/world.xml")
    with pytest.raises(ValueError, match="'franka' has no hand"):
        world.apply_command(GripperCommand(0.0))


def test_the_driver_publishes_the_hands_joints_after_the_arms_and_what_is_touched(rig):
    rig.put_cube()
    rig.go(0.03)
    rig.grip(1.0)
    joints, contacts = rig.world.sensors()
    assert isinstance(joints.value, JointState)
    assert joints.value.names == (*rig.profile.joint_names, *rig.profile.hand_joint_names)
    assert (contacts.topic, contacts.value) == (rig.profile.contacts_topic, Contacts(("cube",), ()))
    assert isinstance(rig.world.reading(), JointReading)
    assert rig.world.reading().names == joints.value.names


def test_a_cube_that_is_carried_into_a_bottle_touches_it_and_the_hand_does_not(rig):
    rig.put_cube()
    yaw = rig.world.entity_state("cube").pose.yaw
    along = np.array([math.cos(yaw), math.sin(yaw)])  # square to the fingers, so that the cube comes first
    bottle = model_of_uri(f"{OBJECTS}/water_bottle.yaml#blue")
    across = np.array([-along[1], along[0]])
    # It lies across the way, so that the palm passes above it.
    x, y = np.array(PLACE) + 0.09 * along - bottle.size[2] / 2 * across
    half = math.sqrt(0.5)
    lying = Pose((x, y, bottle.size[0] / 2), (*(-half * along), 0.0, half))
    rig.world.spawn("bottle", lying, uri=bottle.uri)
    rig.go(0.15)
    rig.go(0.03)
    rig.grip(1.0)
    assert ("cube", "table") in rig.world.contacts()
    assert (rig.world.touched(), rig.world.carried()) == (("cube",), ()), "the table cannot be pushed away"
    rig.go(0.034)
    before = rig.world.entity_state("bottle").pose
    seen = set()
    for share in np.linspace(0.0, 0.06, 25):
        rig.go(0.034, tuple(share * along))
        assert rig.world.touched() == ("cube",)
        seen.add(rig.world.carried())
        contacts = rig.world.sensors()[-1].value
        assert contacts == Contacts(rig.world.touched(), rig.world.carried())
    assert ("bottle",) in seen and seen <= {(), ("bottle",)}
    assert rig.world.entity_state("bottle").pose.distance_to(before) > 0.005
    rig.go(0.15)
    assert (rig.world.touched(), rig.world.carried()) == (("cube",), ())


def test_a_hand_that_presses_on_the_table_says_so(rig):
    rig.go(0.05)
    rig.grip(1.0)
    assert rig.world.touched() == ()
    rig.go(rig.profile.end_effector.overhang - 0.004)
    assert rig.world.touched() == ("table",)


def test_a_reset_opens_the_hand_and_the_same_commands_give_the_same_bits(rig):
    ends = []
    for _ in range(2):
        rig.start()
        assert rig.width == pytest.approx(rig.profile.end_effector.greatest_width, abs=1e-12)
        rig.put_cube()
        rig.go(0.03)
        rig.grip(1.0)
        rig.go(0.06)
        ends.append((rig.world.joint_state(), rig.world.entity_state("cube")))
    assert ends[0] == ends[1]


def test_what_is_spawned_meanwhile_leaves_hand_and_cube_as_they_are(rig):
    rig.put_cube()
    rig.go(0.03)
    rig.grip(1.0)
    before = rig.world.joint_state(), rig.world.entity_state("cube")
    rig.world.spawn("can", Pose.planar(0.6, -0.2, 0.0), uri=f"{OBJECTS}/can.yaml#red")
    assert (rig.world.joint_state(), rig.world.entity_state("cube")) == before
    rig.go(0.08)
    assert rig.world.entity_state("cube").pose.position[2] > 0.04


def test_the_frame_tool_is_where_a_grasp_says(rig):
    """The fingers close along the tool's y, onto the sides of what a grasp names."""
    cube = model_of_uri(f"{OBJECTS}/cube.yaml#red")
    pose = Pose.planar(*PLACE, 0.4)
    rig.world.spawn("cube", pose, uri=cube.uri)
    rig.world.step(50)
    grasp = cube.grasps[0]
    turns = [tool_pose(pose, grasp, turn) for turn in range(grasp.turns)]
    target = max(turns, key=lambda candidate: abs(candidate.orientation[0]))  # least turned from x ahead
    joints = rig.kinematics.posture(Pose((*target.position[:2], target.position[2] + 0.1), target.orientation))
    for goal, wait in ((joints, 3.0), (rig.kinematics.step(joints, target, 1.0, iterations=20).positions, 1.0)):
        rig.world.apply_command(JointTrajectoryCommand(rig.profile.joint_names, goal, wait))
        rig.wait(wait + 0.2)
    assert rig.world.tool_pose().distance_to(target) < 1e-3
    rig.grip(1.0)
    after = rig.world.entity_state("cube").pose
    assert after.position == pytest.approx(pose.position, abs=1e-3), "fingers that close evenly do not push"
    assert math.remainder(after.yaw - pose.yaw, math.tau) == pytest.approx(0.0, abs=0.02)
    assert rig.width == pytest.approx(grasp.width, abs=2e-3)
