"""How smoothly and how fast the robot moved."""

from __future__ import annotations

import math
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tabletop_scenes import asked, scene, tabletop
from trial_bags import TRIAL_TOPICS, known_messages

from robocontrast_ros.bags.reader import read_trial
from robocontrast_ros.bags.writer import BagTopic, BagWriter
from robocontrast_ros.domain import BASE, JointTracking, Pose, RobotState, TestInstance, Trial
from robocontrast_ros.episodes.scoring import EpisodeScorer, Sample
from robocontrast_ros.episodes.scoring.motion import OF_MOTION, STILL, TrackingError, spectral_arc_length
from robocontrast_ros.messages.topics import JOINT_TRACKING

TABLE = tabletop()
START = scene(red_cube=(0.42, 0.15))
OF_PATH = tuple(score for score in OF_MOTION if score is not TrackingError)
INSTANCE = TestInstance("x", TABLE.name, asked("pick", "red_cube"), START, 1.0)
PERIOD = 0.1


def scored(positions, times=None):
    """Return the scores of the path of a trial whose tool is at these positions, shape (n, 3), at these times [s]."""
    times = PERIOD * np.arange(1, len(positions) + 1) if times is None else times
    scorer = EpisodeScorer.for_instance(TABLE, INSTANCE, START, scores=OF_PATH)
    for time, position in zip(times, positions, strict=True):
        scorer.update(Sample(round(1e9 * time), START, Pose(tuple(map(float, position)))))
    return scorer.result(steps=len(positions)).scores


def minimum_jerk(points):
    """Return the speed of a minimum-jerk motion (Flash and Hogan 1985), shape (points,)."""
    t = np.linspace(0.0, 1.0, points)
    return 30.0 * t**2 * (1.0 - t) ** 2


def reference(speed, rate):
    """Return SPARC, computed point by point from the definition of Balasubramanian et al. (2015)."""
    padded = 4 * 2 ** int(np.ceil(np.log2(len(speed))))
    k = np.arange(len(speed))
    heights, frequencies = [], []
    for number in range(padded // 2 + 1):
        frequency = number * rate / padded
        if frequency > 10.0:
            break
        frequencies.append(frequency)
        heights.append(abs(np.sum(speed * np.exp(-2j * np.pi * number * k / padded))))
    heights = np.array(heights) / max(heights)
    last = max(number for number, height in enumerate(heights) if height >= 0.05)
    length = 0.0
    for number in range(last):
        along = (frequencies[number + 1] - frequencies[number]) / frequencies[last]
        length += math.hypot(along, heights[number + 1] - heights[number])
    return -length


@pytest.mark.parametrize(("points", "rate"), [(11, 10.0), (31, 10.0), (101, 100.0), (500, 100.0)])
def test_sparc_of_a_smooth_motion_is_that_of_its_definition(points, rate):
    sparc = spectral_arc_length(minimum_jerk(points), rate)
    assert sparc == pytest.approx(reference(minimum_jerk(points), rate), rel=1e-9)
    assert -1.7 < sparc < -1.3


speeds = st.lists(st.floats(0.01, 1.0), min_size=2, max_size=40).map(np.array)
rates = st.sampled_from([10.0, 20.0, 50.0])


@given(speeds, rates)
def test_sparc_of_any_speed_is_that_of_its_definition(speed, rate):
    wanted, near = reference(speed, rate), 1e-9
    amplitude = np.abs(np.fft.rfft(speed, 4 * 2 ** math.ceil(math.log2(len(speed)))))
    if np.abs(amplitude / amplitude.max() - 0.05).min() > near:
        assert spectral_arc_length(speed, rate) == pytest.approx(wanted, rel=1e-6)


@given(speeds, rates, st.sampled_from([2.0**k for k in (-10, -1, 3, 20)]))
def test_sparc_does_not_depend_on_the_size_of_a_motion(speed, rate, factor):
    assert spectral_arc_length(factor * speed, rate) == spectral_arc_length(speed, rate)


@given(st.integers(17, 31), st.integers(1, 40))
def test_sparc_hardly_depends_on_a_rest_after_the_motion(points, rest):
    speed = minimum_jerk(points)
    rested = spectral_arc_length(np.append(speed, np.zeros(rest)), 10.0)
    assert rested == pytest.approx(spectral_arc_length(speed, 10.0), rel=0.05)


@given(st.integers(2, 5))
def test_a_motion_in_pieces_is_rougher_than_a_smooth_one(pieces):
    once = spectral_arc_length(minimum_jerk(60), 100.0)
    assert spectral_arc_length(np.tile(minimum_jerk(60 // pieces), pieces), 100.0) < once - 0.1


@given(st.floats(0.01, 2.0), st.integers(8, 40))
def test_a_straight_way_at_one_speed_has_that_speed_and_no_jerk(speed, steps):
    scores = scored(np.outer(PERIOD * speed * np.arange(steps), [0.6, 0.0, 0.8]))
    assert scores["mean_speed"] == pytest.approx(speed)
    assert scores["peak_speed"] == pytest.approx(speed)
    assert scores["squared_jerk"] == pytest.approx(0.0, abs=1e-15)
    assert scores["sparc"] == pytest.approx(reference(np.full(steps - 1, speed), 1 / PERIOD))


@given(st.floats(0.1, 3.0), st.integers(4, 40))
def test_the_squared_jerk_of_a_cubic_is_its_integral(factor, steps):
    positions = np.outer(factor * (PERIOD * np.arange(steps)) ** 3, [0.0, 1.0, 0.0])
    assert scored(positions)["squared_jerk"] == pytest.approx((6.0 * factor) ** 2 * PERIOD * (steps - 3), rel=1e-6)


@given(st.lists(st.floats(0.05, 0.3), min_size=4, max_size=20))
def test_a_late_control_step_changes_no_speed(periods):
    times = np.cumsum(periods)
    scores = scored(np.outer(0.5 * times, [1.0, 0.0, 0.0]), times)
    assert (scores["mean_speed"], scores["peak_speed"]) == pytest.approx((0.5, 0.5), rel=1e-6)


def test_the_mean_counts_rests_and_the_peak_does_not():
    x = [0.0, 0.02, 0.06, 0.06, 0.06]
    scores = scored(np.outer(x, [1.0, 0.0, 0.0]))
    assert scores["mean_speed"] == pytest.approx(0.06 / 0.4)
    assert scores["peak_speed"] == pytest.approx(0.4)


def test_where_nothing_moved_or_too_little_was_seen_there_is_no_value():
    still = scored(np.outer(0.9 * STILL * PERIOD * np.arange(9), [1.0, 0.0, 0.0]))
    assert math.isnan(still.pop("sparc")) and all(map(math.isfinite, still.values()))
    for steps, known in (
        (0, set()),
        (1, set()),
        (3, {"sparc", "mean_speed", "peak_speed"}),
        (4, set(still) | {"sparc"}),
    ):
        scores = scored(np.outer(0.02 * np.arange(steps), [1.0, 0.0, 0.0]))
        assert {name for name, value in scores.items() if not math.isnan(value)} == known


def tracked(samples):
    """Return the tracking error of samples, live at each step, and at the end."""
    scorer = EpisodeScorer.for_instance(TABLE, INSTANCE, START, scores=[TrackingError])
    live = [scorer.update(sample).scores["tracking_error"] for sample in samples]
    return live, scorer.result(steps=len(live)).scores["tracking_error"]


def sampled(steps):
    """Return a sample a step, of its joints or of None."""
    return [Sample(round(1e9 * PERIOD) * number, START, Pose(), joints) for number, joints in enumerate(steps, start=1)]


angles = st.floats(-3.0, 3.0)
arms = st.integers(1, 7).flatmap(
    lambda count: st.lists(
        st.builds(
            JointTracking,
            st.just(tuple(f"joint{number}" for number in range(count))),
            st.tuples(*[angles] * count),
            st.tuples(*[angles | st.just(math.nan)] * count),
            st.none() | st.floats(0.0, 1.0) if count > 1 else st.none(),
        ),
        max_size=12,
    )
)


@given(arms)
def test_the_tracking_error_is_the_root_mean_square_over_all_that_was_commanded(steps):
    errors = [c - m for step in steps for c, m in zip(step.commanded, step.measured, strict=True) if c == c]
    _, error = tracked(sampled(steps))
    assert error == pytest.approx(float(np.sqrt(np.mean(np.square(errors)))) if errors else math.nan, nan_ok=True)


@given(st.permutations(["base", "elbow", "wrist"]), st.sets(st.sampled_from(["base", "elbow", "wrist"])))
def test_a_command_counts_by_the_names_of_its_joints_in_whatever_order_and_only_where_there_is_one(order, without):
    targets = {"base": 0.1, "elbow": 0.2, "wrist": 0.4, "of_another_arm": 9.0}
    state = RobotState(7, Pose(), ("base", "elbow", "wrist"), (0.0, 0.0, 0.0), 0.04, 0.5)
    named = [name for name in (*order, "of_another_arm") if name not in without]
    joints = JointTracking.of(state, {name: targets[name] for name in named})
    commanded = [target for name, target in targets.items() if name in {*order} - without]
    expected = math.sqrt(sum(target**2 for target in commanded) / len(commanded)) if commanded else math.nan
    assert tracked(sampled([joints]))[1] == pytest.approx(expected, nan_ok=True)
    assert joints.gripper_closed == 0.5


def test_control_steps_before_the_first_command_do_not_count_and_without_one_there_is_no_error():
    waiting, late = (JointTracking(("elbow",), (0.0,), (commanded,)) for commanded in (math.nan, 0.3))
    live, error = tracked(sampled([waiting, waiting, late]))
    assert live == pytest.approx([math.nan, math.nan, 0.3], nan_ok=True) and error == live[-1]
    for steps in ([], [waiting], [None, None], [JointTracking((), (), ())]):
        assert math.isnan(tracked(sampled(steps))[1])


@pytest.mark.parametrize("measured", [math.nan, math.inf])
def test_a_position_that_is_no_number_leaves_no_error(measured):
    steps = [JointTracking(("elbow",), (position,), (0.3,)) for position in (0.0, measured, 0.0)]
    assert math.isnan(tracked(sampled(steps))[1])


def test_positions_of_unknown_joints_are_refused():
    with pytest.raises(ValueError, match="got 1 names, 2 measured and 1 commanded positions, expected as many of each"):
        JointTracking(("elbow",), (0.1, 0.2), (0.1,))


TOPICS = (*TRIAL_TOPICS, BagTopic(f"/eval/{JOINT_TRACKING.name}", JOINT_TRACKING.type_name))


@pytest.fixture(scope="module")
def bags(tmp_path_factory):
    return tmp_path_factory.mktemp("bags")


@given(arms, st.randoms())
def test_a_bag_gives_the_same_joints_in_whatever_order_its_messages_are(bags, steps, random):
    messages, trial, samples = known_messages(), Trial(0, "x", BASE, 0, INSTANCE, 7), sampled(steps)
    bag = bags / f"bag{len(list(bags.iterdir()))}"
    with closing(BagWriter(bag, TOPICS)) as writer:
        writer.write("/eval/trial", 0, messages.cdr(messages.trial(trial, START, 0)))
        for sample in samples:
            made = {
                "scene": messages.scene(sample.scene, sample.stamp),
                "tool_pose": messages.tool_pose(sample.tool_pose, sample.stamp),
                "joint_tracking": messages.joint_tracking(sample.joints, sample.stamp),
            }
            for topic in random.sample(sorted(made), len(made)):
                writer.write(f"/eval/{topic}", sample.stamp, messages.cdr(made[topic]))
    again = read_trial(bag)
    assert not again.broken
    assert repr(again.samples) == repr(tuple(samples)), "NaN is read as NaN"
    assert repr(tracked(again.samples)) == repr(tracked(samples))
