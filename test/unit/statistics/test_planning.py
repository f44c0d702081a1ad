"""How much more it takes: the least that reaches the width."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from robocontrast_ros.statistics.clusters import cluster_mean
from robocontrast_ros.statistics.planning import trials_for_half_width, trials_for_wilson
from robocontrast_ros.statistics.proportions import wilson


@pytest.mark.parametrize("half_width", [0.1, 0.05, 0.03])
def test_without_a_trial_it_is_the_number_of_wilsons_interval_at_a_half(half_width):
    # Half-width z / (2 sqrt(n + z^2)) at a share of a half, solved for n.
    z = stats.norm.ppf(0.975)
    expected = math.ceil(z**2 / (4.0 * half_width**2) - z**2)
    # An odd number of trials has no share of exactly a half.
    assert expected <= trials_for_wilson(0, 0, half_width) <= expected + 1


def test_it_is_near_the_number_of_the_textbooks():
    # Cochran (1977), Sampling Techniques, section 4.4: 385 trials for ±0.05 at a share of a half, 1068 for ±0.03.
    values = np.tile([0.0, 1.0], 10)
    for half_width, published in ((0.05, 385), (0.03, 1068)):
        total = 20 + trials_for_half_width(values, np.arange(20), half_width)
        assert total == pytest.approx(published, rel=0.02)
        assert total == pytest.approx(20 + trials_for_wilson(10, 20, half_width), abs=1)


@given(st.integers(1, 40).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.floats(0.02, 0.3))
@settings(max_examples=40, deadline=None)
def test_one_trial_less_would_not_do(count, half_width):
    successes, trials = count
    more = trials_for_wilson(successes, trials, half_width)
    share = successes / trials
    n = trials + more
    assert wilson(round(share * n), n).half_width <= half_width
    if more:
        assert wilson(round(share * (n - 1)), n - 1).half_width > half_width


@given(st.lists(st.floats(0.0, 1.0), min_size=6, max_size=30), st.floats(0.02, 0.4))
@settings(max_examples=40, deadline=None)
def test_one_instance_less_would_not_do(values, half_width):
    clusters = np.arange(len(values)) // 3
    number = clusters[-1] + 1
    more = trials_for_half_width(values, clusters, half_width)
    reached = cluster_mean(values, clusters, times=(number + more) / number)
    assert reached.half_width <= half_width
    if more:
        assert cluster_mean(values, clusters, times=(number + more - 1) / number).half_width > half_width


def test_what_is_narrow_enough_takes_nothing_and_one_instance_tells_nothing():
    values = np.random.default_rng(0).random(60)
    assert trials_for_half_width(values, np.arange(60) // 5, 0.2) == 0
    assert trials_for_wilson(50, 100, 0.1) == 0
    assert trials_for_half_width([0.5, 0.7], [1, 1], 0.1) is None
    assert trials_for_half_width([], [], 0.1) is None
    for half_width in (0.0, -1.0, math.nan):
        with pytest.raises(ValueError, match="expected a positive number"):
            trials_for_wilson(1, 2, half_width)
