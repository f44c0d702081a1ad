"""How smoothly and how fast the robot moved."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tabletop_scenes import asked, scene, tabletop

from robocontrast_ros.domain import Pose, TestInstance
from robocontrast_ros.episodes.scoring import EpisodeScorer, Sample
from robocontrast_ros.episodes.scoring.motion import OF_MOTION, STILL, spectral_arc_length

TABLE = tabletop()
START = scene(red_cube=(0.42, 0.15))
PERIOD = 0.1


def scored(positions, times=None):
    """Return the scores of a trial whose tool is at these positions, shape (n, 3), at these times [s]."""
    times = PERIOD * np.arange(1, len(positions) + 1) if times is None else times
    instance = TestInstance("x", TABLE.name, asked("pick", "red_cube"), START, 1.0)
    scorer = EpisodeScorer.for_instance(TABLE, instance, START, scores=OF_MOTION)
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
