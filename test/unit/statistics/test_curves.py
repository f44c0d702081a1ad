"""Running means, and the error of several runs in bins of cost."""

from __future__ import annotations

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from robocontrast_ros.statistics.curves import error_curve, running_means

steps = st.lists(st.tuples(st.floats(0.0, 5.0, allow_subnormal=False), st.floats(0.0, 1.0)), min_size=1, max_size=20)


@given(st.lists(st.none() | st.floats(0.0, 1.0), max_size=12))
def test_a_running_mean_is_the_mean_of_what_is_known_so_far(values):
    for number, mean in enumerate(running_means(values), start=1):
        known = [v for v in values[:number] if v is not None]
        assert mean == pytest.approx(np.mean(known)) if known else np.isnan(mean)


def test_there_are_50_bins_from_0_to_the_greatest_cost_of_all_runs():
    # Seed 000, section B.2.
    curve = error_curve([([10.0, 100.0], [1.0, 1.0], 0.5), ([20.0], [1.0], 0.5)])
    assert curve.edges == pytest.approx(np.linspace(0.0, 100.0, 51))
    assert curve.cost == pytest.approx(np.linspace(1.0, 99.0, 50))
    assert len(curve.error) == len(curve.deviation) == len(curve.runs) == 50


def test_a_bin_has_the_mean_of_its_trials_errors_and_an_empty_one_what_came_before():
    costs, scores = [1.0, 2.0, 7.0], [1.0, 0.0, 0.5]
    curve = error_curve([(costs, scores, 0.25)], bins=4, end=8.0)
    # Running means 1, 0.5, 0.5; two trials in the first bin (0 to 2], none in the next two, one in the last.
    assert curve.error == pytest.approx([(0.75 + 0.25) / 2, 0.25, 0.25, 0.25])
    assert list(curve.runs) == [1, 1, 1, 1]
    assert np.isnan(curve.deviation).all(), "one run has no spread"


def test_over_runs_it_is_mean_and_standard_deviation_of_those_that_reach_the_bin():
    first = ([1.0, 3.0], [1.0, 1.0], 0.8)
    second = ([1.0], [0.0], 0.4)
    curve = error_curve([first, second], bins=2, end=4.0)
    assert curve.error == pytest.approx([0.3, 0.2])
    assert curve.deviation[0] == pytest.approx(np.std([0.2, 0.4], ddof=1))
    assert list(curve.runs) == [2, 1]


@given(st.lists(steps, min_size=1, max_size=4), st.integers(1, 50))
@examples(40)
def test_errors_are_within_those_of_the_trials_and_the_dearest_run_reaches_the_last_bin(runs, bins):
    given_runs = []
    for run in runs:
        costs, scores = zip(*run, strict=True)
        given_runs.append((np.cumsum(costs), scores, 0.5))
    curve = error_curve(given_runs, bins)
    errors = np.concatenate([np.abs(running_means(scores) - 0.5) for _, scores, _ in given_runs])
    reached = curve.runs > 0
    assert np.all(np.isnan(curve.error) == ~reached)
    assert np.all(curve.error[reached] >= errors.min() - 1e-12)
    assert np.all(curve.error[reached] <= errors.max() + 1e-12)
    if max(cost[-1] for cost, _, _ in given_runs) > 0.0:
        assert reached[-1]


def test_void_trials_and_runs_without_trials_count_in_no_bin():
    curve = error_curve([([1.0, 2.0], [None, 0.5], 0.5), ([], [], 0.5)], bins=2, end=2.0)
    assert list(curve.runs) == [0, 1]
    assert curve.error[1] == 0.0
    assert list(error_curve([]).runs) == [0] * 50
