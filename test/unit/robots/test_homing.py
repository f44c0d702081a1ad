"""The way of an arm to where an episode starts, and back to its posture of rest."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import takewhile

import numpy as np
import pytest
from examples import examples
from hypothesis import assume, given
from hypothesis import strategies as st

from robocontrast_ros.domain import Pose
from robocontrast_ros.robots import homing
from robocontrast_ros.robots.homing import CLEAR, DIP, LEANS, way_of_arm
from robocontrast_ros.robots.kinematics import Kinematics, Unreachable
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.robots.safety_limits import Limit
from robocontrast_ros.robots.state_estimation import JointReading
from robocontrast_ros.strategies.effort import angle_between

ARMS = ("franka", "ur5e", "franka_hand", "ur5e_2f85")


@cache
def arm_of(name: str) -> Kinematics:
    return Kinematics(load_profile(name))


@st.composite
def places(draw, name: str):
    """Draw a place near the table where the arm's tool can point down; return it with the joints there."""
    workspace = load_profile(name).workspace
    x, y = (draw(st.floats(*side)) for side in (workspace.x, workspace.y))
    place = (x, y, draw(st.floats(workspace.z[0], CLEAR * workspace.z[1])))
    try:
        return place, arm_of(name).posture(place)
    except Unreachable:
        assume(False)


@st.composite
def elbows(draw, name: str, joints):
    """Draw a posture with another elbow and about the same place of the tool, as a policy of joints leaves it."""
    arm = arm_of(name)
    turns = [draw(st.floats(-0.8, 0.8)) if len(joints) == 7 else 0.0 for _ in joints]
    motion = arm.step(np.add(joints, turns).tolist(), arm.tool_pose(joints), 0.02)
    for _ in range(60):
        if motion.position_error < 0.001 and motion.tilt < 0.01:
            break
        motion = arm.step(motion.positions, arm.tool_pose(joints), 0.02)
    assume(motion.tool[2] >= 0.0)
    return motion.positions if any(turns) else joints


@examples(40)
@given(data=st.data(), name=st.sampled_from(ARMS))
def test_the_tool_goes_straight_up_over_and_straight_down_and_no_link_comes_low_on_the_way(data, name):
    profile, arm = load_profile(name), arm_of(name)
    here = data.draw(elbows(name, data.draw(places(name))[1]))
    goal = data.draw(st.one_of(st.none(), places(name)))
    start = None if goal is None else Pose(goal[0])
    # A driver may list its joints in any order, and others besides.
    reading = JointReading(1_000_000_000, (*reversed(profile.joint_names), "another"), (*reversed(here), 0.0))
    # That of a task whose things are taller than usual, or none.
    given = data.draw(st.one_of(st.just(0.0), st.floats(0.2, 0.9 * profile.workspace.z[1])))
    clear = given or CLEAR * profile.workspace.z[1]
    try:
        way = way_of_arm(profile, reading, start, given)
    except Unreachable:
        assume(False)
    ends = arm.tool_pose(here), arm.tool_pose(way[-1].positions)
    if goal is None:
        assert way[-1].positions == pytest.approx(arm.rest, abs=1e-9)
        assert ends[1].position[2] >= CLEAR * profile.workspace.z[1], "nothing of it is where a scene is set up"
    else:
        assert way[-1].positions == pytest.approx(goal[1], abs=1e-9)
    lowest = min(arm.lowest(here), arm.lowest(way[-1].positions), clear - DIP)
    before = here
    for command in way:
        assert command.names == profile.joint_names
        farthest = np.abs(np.subtract(command.positions, before)).max()
        assert farthest <= profile.safety.homing_speed * command.duration + 1e-9
        for share in np.linspace(0.0, 1.0, 6):
            joints = np.add(before, share * np.subtract(command.positions, before))
            tool = arm.tool_pose(joints)
            assert arm.clamp(joints) == pytest.approx(joints), "within the joints' limits"
            assert arm.lowest(joints) >= lowest - 0.02
            if tool.position[2] < clear - 0.03:
                beside = min(np.hypot(tool.xy[0] - end.xy[0], tool.xy[1] - end.xy[1]) for end in ends)
                assert beside < 0.01, "low above the table the tool goes straight up or down"
        before = command.positions


def test_a_hand_opens_where_it_is_before_the_arm_goes_up():
    profile = load_profile("ur5e_2f85")
    here = arm_of("ur5e_2f85").posture((0.45, 0.1, 0.1))
    first, *rest = way_of_arm(profile, JointReading(1_000_000_000, profile.joint_names, here), None)
    assert first.positions == pytest.approx(here) and first.duration == pytest.approx(1.0)
    assert {command.gripper for command in (first, *rest)} == {profile.end_effector.joints[0].open}


def test_an_arm_whose_joints_have_a_low_limit_of_velocity_goes_home_no_faster():
    profile = load_profile("franka")
    slow = replace(profile, safety=replace(profile.safety, velocity=Limit(limit=0.05)))
    here = arm_of("franka").posture((0.45, 0.1, 0.1))
    reading = JointReading(1_000_000_000, profile.joint_names, here)
    usual, slower = (sum(command.duration for command in way_of_arm(p, reading, None)) for p in (profile, slow))
    assert slower == pytest.approx(usual * profile.safety.homing_speed / 0.05)


def test_an_arm_that_lacks_a_joint_or_cannot_go_up_is_not_moved():
    profile = load_profile("franka_hand")
    with pytest.raises(ValueError, match="expected also fr3_joint7"):
        way_of_arm(profile, JointReading(1_000_000_000, profile.joint_names[:6], profile.home[:6]), None)
    workspace = profile.workspace
    high = replace(profile, workspace=replace(workspace, z=(workspace.z[0], 3.0)))
    with pytest.raises(Unreachable, match=r"cannot go straight up .* by hand"):
        way_of_arm(high, JointReading(1_000_000_000, profile.joint_names, profile.home), None)


@pytest.mark.parametrize(("name", "place"), [("franka", (0.1, -0.071, 0.01)), ("franka_hand", (0.281, -0.02, 0.048))])
def test_near_its_base_an_arm_goes_straight_up_though_the_tool_has_to_lean(name, place, monkeypatch):
    profile, arm = load_profile(name), arm_of(name)
    reading = JointReading(1_000_000_000, profile.joint_names, arm.posture(place))
    tools = [arm.tool_pose(command.positions) for command in way_of_arm(profile, reading, None)]
    up = list(takewhile(lambda tool: np.hypot(tool.xy[0] - place[0], tool.xy[1] - place[1]) < 0.005, tools))
    assert up[-1].position[2] > CLEAR * profile.workspace.z[1] - 0.005
    assert max(angle_between(tool, up[0]) for tool in up) < LEANS[-1][1] + 0.05
    monkeypatch.setattr(homing, "LEANS", LEANS[:1])
    with pytest.raises(Unreachable, match="cannot go straight up"):
        way_of_arm(profile, reading, None)
