"""What a session makes of a robot that something outside slows."""

from __future__ import annotations

import math
from typing import get_args

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.robots.drivers import OutsideLimit
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.robots.speed_scaling import TOLERANCE, SpeedScaling, SpeedScalingRule, is_slowed, share_of

SHARES = st.floats(0.0, 1.0, exclude_min=True)


def limit(**keys) -> OutsideLimit:
    return OutsideLimit(topic="slider", type="std_msgs/msg/Float64", cure="raise it", **keys)


@pytest.mark.parametrize(
    ("keys", "value", "share"),
    [
        ({"full": 100.0}, 100.0, 1.0),
        ({"full": 100.0}, 20.0, 0.2),
        ({"full": 1.0}, 0.2, 0.2),
        ({"full": 255.0}, 51, 0.2),
        ({"full": 100.0}, 100.4, 1.0),
        ({"full": 100.0}, 0.0, 0.0),
        ({"full": 100.0}, math.nan, math.nan),
        ({"full": 100.0}, math.inf, math.nan),
        ({"full": 100.0}, -1.0, math.nan),
        ({"free": [1, 2]}, 2, 1.0),
        ({"free": [1, 2]}, 4, 0.0),
        ({"free": [0]}, False, 1.0),
        ({"free": [0]}, True, 0.0),
    ],
)
def test_percent_fractions_and_modes_become_a_share_of_full_speed_and_what_says_nothing_is_unknown(keys, value, share):
    assert share_of(limit(**keys), value) == pytest.approx(share, nan_ok=True)


def test_a_fraction_that_is_declared_where_percent_are_published_is_no_full_speed():
    with pytest.raises(ValueError, match=r"slider reports 50, more than `full` \(1\).*100.0 for percent"):
        share_of(limit(full=1.0), 50.0)


@given(began=SHARES, shares=st.lists(SHARES | st.just(math.nan), max_size=8))
def test_no_trial_below_the_speed_of_the_sessions_start_counts_and_every_other_does(began, shares):
    speed = SpeedScaling("void_when_lowered")
    assert speed.starts(began) == ""
    highest = began
    for share in shares:
        lowered = share < highest - TOLERANCE
        assert bool(speed.voids(share)) == bool(speed.starts(share)) == lowered
        if share > highest:
            highest = share
    assert speed.began == highest


@given(shares=st.lists(SHARES | st.just(math.nan), min_size=1))
def test_below_full_speed_nothing_counts_where_that_is_asked_for_and_all_does_where_it_is_only_marked(shares):
    below, mark = SpeedScaling("void_below_full"), SpeedScaling("mark")
    for share in shares:
        assert bool(below.starts(share)) == bool(below.voids(share)) == is_slowed(share)
        assert mark.starts(share) == mark.voids(share) == ""


def test_the_reason_says_both_speeds():
    speed = SpeedScaling("void_when_lowered")
    speed.starts(1.0)
    assert speed.voids(0.2) == (
        "the robot was slowed from outside: 20 % of full speed, less than the 100 % at which the session began"
    )
    assert "less than the 100 % which `speed_scaling: void_below_full` demands" in SpeedScaling(
        "void_below_full"
    ).voids(0.5)


@pytest.mark.parametrize("rule", get_args(SpeedScalingRule))
def test_a_robot_that_is_held_may_be_recovered_first_and_no_session_begins_at_no_speed(rule):
    speed = SpeedScaling(rule)
    assert speed.starts(0.0) == speed.starts(1.0) == speed.starts(0.0) == ""
    assert speed.began == 1.0
    assert bool(speed.voids(0.0)) == (rule != "mark")


def test_a_slider_that_nobody_has_heard_before_the_first_trial_is_known_from_there_on():
    speed = SpeedScaling("void_when_lowered")
    assert speed.starts(math.nan) == speed.voids(0.3) == ""
    assert speed.starts(0.5) == ""
    assert "less than the 50 %" in speed.voids(0.3)


def test_the_files_of_real_robots_name_what_their_drivers_publish():
    shares = {"speed_scaling_state_broadcaster/speed_scaling": "std_msgs/msg/Float64"}
    modes = {"franka_robot_state_broadcaster/robot_state": "franka_msgs/msg/FrankaRobotState"}
    named = {"ur5e": shares, "ur5e_2f85": shares, "franka": modes, "franka_hand": modes, "locobot": {}}
    for robot, topics in named.items():
        limits = load_profile(f"{robot}_real").driver.limits
        assert {each.topic: each.type for each in limits} == topics
        assert all((each.full == 100.0) == (topics is shares) for each in limits)
        assert load_profile(robot).driver is None, "a simulated robot reads none of it"


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({}, "`full`, of a share of full speed, or `free`, of a mode"),
        ({"full": 100.0, "free": [1]}, "`full`, of a share of full speed, or `free`, of a mode"),
        ({"full": 0.0}, "greater than 0"),
        ({"full": 1.0, "type": "Float64"}, "driver.limits.0.type"),
    ],
)
def test_a_topic_that_is_not_told_how_to_read_is_one_clear_line(tmp_path, keys, words):
    path = tmp_path / "robot.yaml"
    one = {"topic": "slider", "type": "std_msgs/msg/Float64", "cure": "raise it", **keys}
    path.write_text(yaml.safe_dump({"extends": "ur5e", "driver": {"limits": [one]}}))
    with pytest.raises(ConfigurationError) as raised:
        load_profile(path)
    assert words in str(raised.value) and str(path) in str(raised.value) and "\n" not in str(raised.value)
