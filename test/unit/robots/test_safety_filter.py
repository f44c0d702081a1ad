"""The safety filter: whatever is commanded, what is sent holds the robot's limits."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import Pose, RobotState, nanoseconds
from robocontrast_ros.robots.commands import GripperCommand, JointTrajectoryCommand, TwistCommand
from robocontrast_ros.robots.controllers.arm import workspace_margins
from robocontrast_ros.robots.kinds import make_safety_filter
from robocontrast_ros.robots.kinematics import Kinematics
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.robots.safety_limits import (
    Area,
    ArmSafety,
    BaseSafety,
    Jump,
    KeepOut,
    Limit,
    WorkspaceLimit,
)

PERIOD = 0.1
ROUNDING = 1e-6
"""Share of a limit, or metres, that rounding may cost."""
VELOCITY, ACCELERATION, JERK = 0.6, 3.0, 40.0
TIGHT = ArmSafety(
    workspace=WorkspaceLimit(margin=-0.02),
    velocity=Limit(limit=VELOCITY),
    acceleration=Limit(limit=ACCELERATION),
    jerk=Limit(limit=JERK),
)
FRANKA = load_profile("franka")
START = Kinematics(FRANKA).posture((0.4, 0.0, 0.1))


@cache
def kinematics():
    return Kinematics(FRANKA)


def filtered(profile, **limits):
    """Return the filter of a robot with these limits."""
    return make_safety_filter(replace(profile, safety=replace(profile.safety, **limits)), PERIOD)


def arm(joints, at=0.0, force=None):
    return RobotState(nanoseconds(at), Pose(), FRANKA.joint_names, tuple(map(float, joints)), force=force)


def to(joints, duration=PERIOD):
    return JointTrajectoryCommand(FRANKA.joint_names, tuple(map(float, joints)), duration)


def moved(joint, by, start=START):
    """Return joints of which one is elsewhere [rad]."""
    joints = list(start)
    joints[joint] += by
    return joints


def between(values, centre, reach):
    """Tell whether values are in centre ± reach, or between 0 and that."""
    slack = ROUNDING * np.max(reach)
    low, high = np.minimum(centre - reach, 0.0), np.maximum(centre + reach, 0.0)
    return bool(((values >= low - slack) & (values <= high + slack)).all())


class Sent:
    """The commanded motion, as somebody else would work it out from what was sent."""

    def __init__(self, axes):
        self.velocity = self.acceleration = np.zeros(axes)

    def holds(self, velocity, greatest, acceleration, jerk):
        """Take the next velocities and tell whether they hold the limits."""
        before, rate = self.velocity, self.acceleration
        self.velocity, self.acceleration = velocity, (velocity - before) / PERIOD
        return (
            between(velocity, 0.0 * velocity, greatest)
            and between(velocity, before, PERIOD * acceleration)
            and between(velocity, before + PERIOD * rate, PERIOD * PERIOD * jerk)
        )

    def rests(self):
        self.velocity = self.acceleration = 0.0 * self.velocity


steps = st.lists(
    st.one_of(
        st.just("hold"),
        st.tuples(*[st.floats(-0.3, 0.3)] * 7),
        st.tuples(*[st.floats(-0.01, 0.01)] * 7),
    ),
    max_size=12,
)
"""What is asked for, one control step after the other: a hold, or where the joints go from the last target [rad]."""


@given(steps, st.floats(0.0, 1.0), st.booleans())
@examples(60)
def test_whatever_an_arm_is_told_what_is_sent_holds_all_limits(asked, lag, person_near):
    safety, sent = filtered(FRANKA, **vars(TIGHT)), Sent(7)
    target = measured = np.array(START)
    greatest = VELOCITY * (0.25 if person_near else 1.0)
    margins = workspace_margins(kinematics(), target)
    for number, step in enumerate(asked):
        state = arm(measured, PERIOD * number)
        if step == "hold":
            command = to(measured)
            checked = safety.check(command, state, person_near)
            assert checked.command is command and checked.interventions == ()
            sent.rests()
        else:
            command = to(target + step)
            checked = safety.check(command, state, person_near)
            if checked.command is None:
                assert [each.kind for each in checked.interventions if each.action == "stop"] == ["jump"]
                return
            assert (checked.command is command) is (checked.interventions == ())
            assert all(each.value > each.limit and each.person_near is person_near for each in checked.interventions)
            velocity = (np.array(checked.command.positions) - target) / PERIOD
            assert sent.holds(velocity, greatest, ACCELERATION, JERK)
            gone, asked_for = velocity * PERIOD, np.array(step)
            share = float(gone @ asked_for) / max(float(asked_for @ asked_for), 1e-300)
            assert -ROUNDING < share < 1.0 + ROUNDING
            assert gone == pytest.approx(share * asked_for, abs=1e-9), "straight on, and no farther than asked"
            if np.array_equal(command.positions, measured):
                sent.rests()
        before, target = margins, np.array(checked.command.positions)
        margins = workspace_margins(kinematics(), target)
        if step != "hold":
            assert (margins >= np.minimum(before, 0.02) - ROUNDING).all(), "inside, or no further out"
        measured = measured + (1.0 - lag) * (target - measured)


twists = st.lists(
    st.tuples(st.floats(-2.0, 2.0) | st.just(0.0), st.floats(-6.0, 6.0) | st.just(0.0)), min_size=1, max_size=40
)


@given(twists, st.booleans())
@examples(100)
def test_whatever_a_base_is_told_what_is_sent_holds_all_limits_and_keeps_its_curve(asked, person_near):
    locobot = load_profile("locobot")
    limits = {
        f"{axis}_{kind}": Limit(limit=value)
        for kind, value in (("acceleration", 1.0), ("jerk", 20.0))
        for axis in ("linear", "angular")
    }
    safety, sent = filtered(locobot, **limits), Sent(2)
    greatest = np.array([0.7, 1.92]) * (0.25 if person_near else 1.0)
    for number, (linear, angular) in enumerate(asked):
        command = TwistCommand(linear, angular)
        checked = safety.check(command, RobotState(number * nanoseconds(PERIOD), Pose()), person_near)
        assert (checked.command is command) is (checked.interventions == ())
        if command == TwistCommand():
            assert checked.command is command
            sent.rests()
            continue
        assert sent.holds(np.array([checked.command.linear, checked.command.angular]), greatest, 1.0, 20.0)
        assert checked.command.linear * angular == pytest.approx(checked.command.angular * linear, abs=1e-9)


@given(twists, st.floats(-math.pi, math.pi))
@examples(100)
def test_a_base_that_is_not_where_it_must_not_be_never_comes_there(asked, yaw):
    locobot = load_profile("locobot")
    wall, x, y = Area((1.0, 3.0), (-3.0, 3.0)), 0.5, 0.0
    safety = filtered(locobot, keep_out=KeepOut((wall,), margin=0.05))
    for number, (linear, angular) in enumerate(asked):
        state = RobotState(number * nanoseconds(PERIOD), Pose.planar(x, y, yaw))
        sent = safety.check(TwistCommand(linear, angular), state, False).command
        yaw += 0.5 * sent.angular * PERIOD
        x, y = x + sent.linear * PERIOD * math.cos(yaw), y + sent.linear * PERIOD * math.sin(yaw)
        yaw += 0.5 * sent.angular * PERIOD
        assert x <= 1.0 - locobot.body.radius - 0.05 + ROUNDING


def test_a_base_drives_up_to_where_it_must_not_be_and_away_again():
    locobot = load_profile("locobot")
    safety, x = filtered(locobot, keep_out=KeepOut((Area((1.0, 3.0), (-3.0, 3.0)),))), 0.0
    found = set()
    for number in range(80):
        checked = safety.check(
            TwistCommand(0.5, 0.0), RobotState(number * nanoseconds(PERIOD), Pose.planar(x, 0.0)), False
        )
        found |= {each.kind for each in checked.interventions}
        x += PERIOD * checked.command.linear
    assert found == {"keep_out"}
    assert 1.0 - locobot.body.radius - 0.02 < x <= 1.0 - locobot.body.radius
    back = TwistCommand(-0.5, 0.0)
    assert safety.check(back, RobotState(9_000_000_000, Pose.planar(x, 0.0)), False).command is back


@given(st.lists(st.tuples(*[st.floats(-0.02, 0.02)] * 7), max_size=20))
@examples(30)
def test_what_is_inside_all_limits_is_sent_as_it_is(asked):
    safety, target = make_safety_filter(FRANKA, PERIOD), np.array(START)
    for number, step in enumerate(asked):
        if np.abs(target + step - START).max() > 0.1:
            continue
        command, measured = to(target + step), target
        target = target + step
        checked = safety.check(command, arm(measured, PERIOD * number), False)
        assert checked.command is command and checked.interventions == ()


@pytest.mark.parametrize("off", [0.71, -0.71])
def test_a_target_far_from_where_the_arm_is_measured_stops_it(off):
    checked = make_safety_filter(FRANKA, PERIOD).check(to(moved(6, off)), arm(START), False)
    assert checked.command is None
    (jump,) = [each for each in checked.interventions if each.kind == "jump"]
    assert (jump.where, jump.action, jump.unit, jump.limit) == ("fr3_joint7", "stop", "rad", 0.7)
    assert jump.value == pytest.approx(0.71)
    assert jump.words == "jump of fr3_joint7: 0.71 rad, at most 0.7"


def test_a_hold_is_sent_even_where_everything_else_is_refused():
    outside = moved(1, 0.8)
    safety = filtered(FRANKA, **vars(TIGHT) | {"force": Limit(limit=5.0, action="stop")})
    safety.check(to(moved(0, 0.05)), arm(START), False)
    hold = to(outside)
    assert safety.check(hold, arm(outside, PERIOD, force=80.0), True).command is hold


@pytest.mark.parametrize("kind", ["velocity", "acceleration", "jerk"])
def test_a_limit_whose_action_is_to_stop_refuses_the_command_and_says_what_it_was(kind):
    safety = filtered(FRANKA, **{kind: Limit(limit=1e-3, action="stop")})
    checked = safety.check(to(moved(3, -0.05)), arm(START), False)
    assert checked.command is None
    (found,) = checked.interventions
    assert (found.kind, found.where, found.action, found.limit) == (kind, "fr3_joint4", "stop", 1e-3)
    order = ("velocity", "acceleration", "jerk").index(kind)
    assert found.value == pytest.approx(0.05 / PERIOD ** (order + 1))


def test_a_robot_may_stop_at_once_but_not_turn_back_at_once():
    safety = filtered(FRANKA, acceleration=Limit(limit=5.0))
    joints = moved(0, 0.05)
    assert safety.check(to(joints), arm(START, 0.0), False).interventions == ()
    faster = moved(0, 0.15)
    assert safety.check(to(faster), arm(joints, 0.1), False).interventions == (), "from 0.5 to 1.0 rad/s in 0.1 s"
    stay = to(faster)
    back = to(moved(0, 0.05))
    for command, unchanged in ((stay, True), (back, False)):
        again = filtered(FRANKA, acceleration=Limit(limit=5.0))
        again.check(to(joints), arm(START, 0.0), False)
        again.check(to(faster), arm(joints, 0.1), False)
        checked = again.check(command, arm(moved(0, 0.13), 0.2), False)
        assert (checked.command is command) is unchanged
        assert checked.command.positions[0] == pytest.approx(faster[0]), "it comes to rest first"


def test_after_a_pause_the_arm_starts_from_rest():
    for pause, kinds in ((0.1, set()), (1.0, {"acceleration"})):
        safety = filtered(FRANKA, acceleration=Limit(limit=5.0))
        safety.check(to(moved(0, 0.04)), arm(START, 0.0), False)
        checked = safety.check(to(moved(0, 0.12)), arm(moved(0, 0.04), pause), False)
        assert {each.kind for each in checked.interventions} == kinds, "0.4, then 0.8 rad/s"


def test_a_command_that_takes_several_periods_is_followed_on_its_way():
    safety = filtered(FRANKA, velocity=Limit(limit=0.5))
    far = moved(0, 0.2)
    assert safety.check(to(far, duration=0.4), arm(START, 0.0), False).interventions == ()
    half = moved(0, 0.1)
    onwards = to(moved(0, 0.15))
    assert safety.check(onwards, arm(half, 0.2), False).command is onwards
    (found,) = safety.check(to(moved(0, 0.25)), arm(half, 0.3), False).interventions
    assert found.value == pytest.approx(1.0)


def test_a_force_at_the_tool_stops_or_holds_the_arm_where_it_is_reported():
    command = to(moved(0, 0.01))
    for force, action, sent in ((None, "stop", True), (9.0, "stop", True), (11.0, "stop", None), (11.0, "slow", False)):
        safety = filtered(FRANKA, force=Limit(limit=10.0, action=action))
        checked = safety.check(command, arm(START, force=force), False)
        if sent:
            assert checked.command is command
        elif sent is None:
            assert checked.command is None and checked.interventions[0].words == "force of the tool: 11 N, at most 10"
        else:
            assert checked.command.positions == pytest.approx(START)


def test_a_command_to_some_joints_in_any_order_leaves_the_others_and_the_hand_alone():
    hand = load_profile("franka_hand")
    home = dict(zip(hand.joint_names, hand.home, strict=True))
    state = RobotState(0, Pose(), hand.joint_names, hand.home)
    names = ("fr3_joint5", "fr3_joint1")
    command = JointTrajectoryCommand(names, (home["fr3_joint5"] + 0.5, home["fr3_joint1"]), PERIOD, gripper=0.01)
    sent = make_safety_filter(hand, PERIOD).check(command, state, False).command
    assert sent.gripper == 0.01
    assert dict(zip(sent.names, sent.positions, strict=True)) == pytest.approx(home | {"fr3_joint5": 0.261}, abs=1e-9)
    grasp = GripperCommand(0.0)
    assert make_safety_filter(hand, PERIOD).check(grasp, state, True).command is grasp


def test_the_limits_of_the_shipped_robots_are_those_that_were_published():
    for name in ("franka", "franka_hand"):
        limits = load_profile(name).safety
        assert (limits.acceleration.limit, limits.jerk.limit) == (50.0, 5000.0)
    for name in ("ur5e", "ur5e_2f85"):
        limits = load_profile(name).safety
        assert limits.velocity.limit == pytest.approx(math.pi) and limits.acceleration.limit is None
    locobot = load_profile("locobot")
    assert locobot.safety == BaseSafety(
        linear_velocity=Limit(limit=locobot.limits.linear_speed),
        angular_velocity=Limit(limit=locobot.limits.angular_speed),
    )


def test_a_robot_has_the_limits_of_its_own_file_or_of_the_one_it_names(tmp_path):
    own = tmp_path / "slow.yaml"
    own.write_text("extends: franka\nsafety: {jump: {limit: 0.1}}\n")
    assert load_profile(own).safety == ArmSafety(jump=Jump(limit=0.1))
    named = tmp_path / "named.yaml"
    named.write_text("extends: ur5e\nsafety: franka\n")
    assert load_profile(named).safety == FRANKA.safety
    (tmp_path / "limits.yaml").write_text("reduced_speed: 0.1\n")
    named.write_text("extends: ur5e\nsafety: limits.yaml\n")
    assert load_profile(named).safety == ArmSafety(reduced_speed=0.1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("safety: {velocity: {limit: -1.0}}", ("`safety.velocity.limit`", "-1.0", "greater than 0")),
        ("safety: {velocity: {action: crawl}}", ("`safety.velocity.action`", "crawl", "slow")),
        ("safety: {jump: {action: slow}}", ("`safety.jump.action`", "slow", "stop")),
        ("safety: {speed: {limit: 1.0}}", ("`safety.speed`",)),
        ("safety: kuka", ("`safety`", "kuka", "franka")),
    ],
)
def test_a_mistake_in_the_limits_is_one_line_that_names_it(tmp_path, text, words):
    path = tmp_path / "robot.yaml"
    path.write_text(f"extends: franka\n{text}\n")
    with pytest.raises(ConfigurationError) as error:
        load_profile(path)
    assert "\n" not in str(error.value) and str(path) in str(error.value)
    assert [word for word in words if word not in str(error.value)] == [], error.value
