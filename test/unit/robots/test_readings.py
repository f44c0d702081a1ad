"""Readings that cannot be true, and those of arm and hand that come apart."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robocontrast_ros.domain import Pose, nanoseconds
from robocontrast_ros.robots.kinds import kind_of, make_state_estimator
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.robots.readings import (
    FASTER,
    SILENCE,
    ImpossibleReading,
    JointMerger,
    ReadingCheck,
)
from robocontrast_ros.robots.state_estimation import JointReading, OdometryReading

UR, FRANKA, BASE = load_profile("ur5e_2f85"), load_profile("franka_hand"), load_profile("locobot")
ARMS = st.sampled_from((UR, FRANKA))
HAND = "robotiq_85_left_knuckle_joint"


def at_rest(profile):
    """Return the joints of an arm at home with an open hand, by name."""
    hand = {joint.name: joint.open for joint in profile.end_effector.joints}
    return dict(zip(profile.joint_names, profile.home, strict=True)) | hand


def reading(stamp, joints):
    return JointReading(nanoseconds(stamp), tuple(joints), tuple(joints.values()))


def check_of(profile):
    return ReadingCheck(kind_of(profile).axes(profile))


@given(ARMS, st.data())
def test_what_moves_within_its_limits_is_never_refused_and_one_jump_beyond_them_always_is(profile, data):
    check, speeds = check_of(profile), profile.joint_speeds
    here, now, steps = at_rest(profile), 1.79e9, data.draw(st.lists(st.floats(0.0, 2.0), max_size=8))
    check.check(reading(now, here))
    for passed in steps:
        shares = data.draw(st.lists(st.floats(-1.0, 1.0), min_size=len(here), max_size=len(here)))
        moved = {n: p + s * speeds[n] * passed for (n, p), s in zip(here.items(), shares, strict=True)}
        names = data.draw(st.permutations(tuple(moved)))
        now, here = now + passed, moved
        # Of joints that are not used, a driver may say anything.
        check.check(reading(now, {"other": math.nan} | {name: here[name] for name in names}))
    passed, joint = data.draw(st.floats(0.0, 1.0)), data.draw(st.sampled_from(tuple(here)))
    # Even with a tenth of a second that stamps may be wrong by.
    beyond = FASTER * speeds[joint] * (passed + 0.1) + data.draw(st.floats(1e-3, 10.0))
    wrong = here | {joint: here[joint] + data.draw(st.sampled_from((-1.0, 1.0))) * beyond}
    with pytest.raises(ImpossibleReading, match=f"^'{joint}' is read as"):
        check.check(reading(now + passed, wrong))
    check.check(reading(now + passed, here))


@given(ARMS, st.sampled_from((math.nan, math.inf, -math.inf)), st.data())
def test_a_joint_that_is_used_is_finite_also_in_the_first_reading(profile, value, data):
    joint = data.draw(st.sampled_from(tuple(at_rest(profile))))
    with pytest.raises(ImpossibleReading, match=f"^'{joint}' is read as (nan|inf|-inf) at 0.000 s"):
        check_of(profile).check(reading(0.0, at_rest(profile) | {joint: value}))
    with pytest.raises(ImpossibleReading, match=f"^the force at the tool is read as {value:g}"):
        check_of(profile).check(replace(reading(0.0, at_rest(profile)), force=value))
    check_of(profile).check(replace(reading(0.0, at_rest(profile)), force=5.0))


def test_an_all_zero_reading_is_refused_whenever_it_comes_and_the_last_that_was_possible_is_what_counts():
    """Stamped as the one before, not at all, as its successor, or out of order, and as often as it comes."""
    estimator, joints, zeros = make_state_estimator(UR), at_rest(UR), dict.fromkeys(at_rest(UR), 0.0)
    first = estimator.update(reading(100.0, joints))
    for stamp in (100.0, 100.008, 100.1, 99.992, 100.1):
        with pytest.raises(ImpossibleReading) as raised:
            estimator.update(reading(stamp, zeros))
        words = str(raised.value)
        assert words.startswith("'shoulder_lift_joint'" if stamp == 100.1 else "'shoulder_pan_joint'"), words
        assert "3.142 rad/s" in words and "does a second node publish the same topic" in words
    assert estimator.update(reading(100.2, joints)).joint_positions == first.joint_positions


def test_a_robot_may_be_anywhere_where_an_episode_begins_or_when_nobody_read_for_long():
    check, joints = check_of(UR), at_rest(UR)
    elsewhere = joints | {"elbow_joint": joints["elbow_joint"] - 2.0}
    check.check(reading(5.0, joints))
    check.check(reading(6.0, elsewhere))
    check.begin()
    check.check(reading(6.0, joints))


def test_a_driver_that_goes_on_with_zeros_is_not_believed_because_time_passes_until_long_after():
    check, joints, zeros = check_of(UR), at_rest(UR), dict.fromkeys(at_rest(UR), 0.0)
    check.check(reading(5.0, joints))
    for step in range(1, 100):
        with pytest.raises(ImpossibleReading):
            check.check(reading(5.0 + 0.1 * step, zeros))
    moved = joints | {"elbow_joint": joints["elbow_joint"] - 0.4}
    check.check(reading(14.96, moved))
    with pytest.raises(ImpossibleReading):
        check.check(reading(15.0, zeros))
    check.check(reading(26.0, zeros))


def odometry(stamp, x, y, yaw):
    return OdometryReading(nanoseconds(stamp), Pose.planar(x, y, yaw))


pose = st.tuples(st.floats(-3.0, 3.0), st.floats(-3.0, 3.0), st.floats(-math.pi, math.pi))


@given(pose, st.lists(st.tuples(st.floats(0.0, SILENCE), st.floats(-1.0, 1.0), st.floats(-1.0, 1.0)), max_size=8))
def test_a_base_drives_and_turns_across_pi_as_fast_as_it_can(start, steps):
    check, (x, y, yaw), now = check_of(BASE), start, 50.0
    poses = [odometry(now, x, y, yaw)]
    for passed, ahead, turn in steps:
        # Sent back by stamps that are rounded, at most.
        now += 0.999 * passed
        x, y = (
            x + ahead * passed * BASE.limits.linear_speed * math.cos(yaw),
            y + ahead * passed * BASE.limits.linear_speed * math.sin(yaw),
        )
        yaw += turn * passed * BASE.limits.angular_speed
        poses.append(odometry(now, x, y, yaw))
    for each in poses:
        check.check(each)


@pytest.mark.parametrize(
    ("stamp", "there", "words"),
    [
        (10.1, (0.0, 0.0, 0.0), "'x' is read as 0.0000, 0.1000 s after 1.0000: 1.0000 m away, and at most 0.1260"),
        (10.1, (1.0, 2.5, 0.5), "'y' is read as 2.5000"),
        (10.1, (1.0, 2.0, 1.5), "'yaw' is read as 1.5000"),
        (13.0, (0.0, 0.0, 0.0), "odometry was silent for 3.00 s, more than 2 s: a driver that was started again"),
    ],
)
def test_odometry_that_jumps_or_begins_anew_is_refused_and_a_localiser_may_correct_itself(stamp, there, words):
    estimator = make_state_estimator(BASE)
    estimator.begin(Pose.planar(1.0, 2.0, 0.5))
    estimator.update(odometry(10.0, 1.0, 2.0, 0.5))
    with pytest.raises(ImpossibleReading) as raised:
        estimator.update(odometry(stamp, *there))
    assert words in str(raised.value)
    estimator.update(odometry(stamp + 0.1, *there))  # it counts from there now: the fault has ended the trial
    estimator.begin(Pose.planar(0.0, 0.0))
    for stamp, x in ((20.0, 0.0), (20.1, 0.15)):
        estimator.update(OdometryReading(nanoseconds(stamp), Pose.planar(x, 0.0), localised=True))


ARM = {name: position for name, position in at_rest(UR).items() if name != HAND}


def merger():
    return JointMerger(kind_of(UR).axes(UR), 0.2)


def test_arm_and_hand_that_are_published_apart_are_one_reading_with_the_stamp_of_the_arm():
    merged = merger()
    assert merged.merge(reading(1.0, {HAND: 0.3})) is None
    assert "without shoulder_pan_joint, shoulder_lift_joint" in merged.problem
    first = merged.merge(reading(1.02, ARM | {"wheel": math.nan}))
    assert first.stamp == 1_020_000_000 and dict(zip(first.names, first.positions, strict=True)) == ARM | {HAND: 0.3}
    assert merged.merge(reading(1.03, {HAND: 0.4})) is None, "a hand alone is no new state of the arm"
    last = merged.merge(reading(1.04, ARM))
    assert last.stamp == 1_040_000_000 and last.positions[last.names.index(HAND)] == 0.4
    assert merged.groups == {frozenset(ARM), frozenset({*ARM, "wheel"}), frozenset({HAND})}


@pytest.mark.parametrize("stamp", [0.0, 1.0, 2.0])
def test_a_hand_that_is_silent_or_stamps_by_another_clock_is_told_and_a_stop_still_has_the_newest_of_the_arm(stamp):
    merged = merger()
    merged.merge(reading(stamp, {HAND: 0.3}))
    moved = {name: position + 0.1 for name, position in ARM.items()}
    assert merged.merge(reading(1.5, moved)) is None
    assert f"has {HAND} at {stamp:.3f} s and the arm at 1.500 s" in merged.problem
    newest = dict(zip(merged.newest.names, merged.newest.positions, strict=True))
    assert newest == moved | {HAND: 0.3}


@given(st.permutations(tuple(at_rest(UR))), st.lists(st.floats(0.01, 0.05), min_size=2, max_size=6))
def test_a_message_with_all_joints_is_taken_as_it_is(names, periods):
    merged, joints, now = merger(), at_rest(UR), 3.0
    for passed in periods:
        now += passed
        given_ = reading(now, {"finger": 0.0} | {name: joints[name] for name in names})
        assert merged.merge(given_) is given_
