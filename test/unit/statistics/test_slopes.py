"""Slopes: those of the textbook line, with intervals that hold what they promise."""

from __future__ import annotations

import numpy as np
import pytest

from robocontrast_ros.statistics.slopes import cluster_slope


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_it_is_the_slope_of_the_least_squares_line():
    x, noise = rng(1).random((2, 40))
    found = cluster_slope(x, 2.0 * x + noise, np.arange(40) // 4, rng())
    assert found.mean == pytest.approx(np.polyfit(x, 2.0 * x + noise, 1)[0])
    assert found.low < found.mean < found.high


def test_differences_between_strata_have_no_part_in_it():
    strata = np.repeat([0, 1, 2], 20)
    x = rng(1).random(60) + 10.0 * strata
    y = 0.5 * (x - 10.0 * strata) - 3.0 * strata
    assert cluster_slope(x, y, np.arange(60), rng()).mean < 0.0
    assert cluster_slope(x, y, np.arange(60), rng(), strata).mean == pytest.approx(0.5)


def test_copies_of_a_trial_in_its_own_cluster_tell_nothing_new():
    x, y = rng(2).random((2, 30))
    once = cluster_slope(x, y, np.arange(30), rng())
    often = cluster_slope(np.repeat(x, 5), np.repeat(y, 5), np.repeat(np.arange(30), 5), rng())
    assert (often.mean, often.low, often.high) == pytest.approx((once.mean, once.low, once.high))


def test_without_what_it_takes_there_is_no_estimate_or_no_interval():
    assert cluster_slope([], [], [], rng()).mean is None
    assert cluster_slope([1.0, 1.0], [0.0, 1.0], [0, 1], rng()).mean is None
    one = cluster_slope([0.0, 1.0], [0.0, 2.0], [7, 7], rng())
    assert (one.mean, one.low) == (pytest.approx(2.0), None)
    # Half of the draws hold one of two clusters alone, in which x is the same.
    two = cluster_slope([0.0, 1.0], [0.0, 2.0], [3, 7], rng())
    assert (two.mean, two.low) == (pytest.approx(2.0), None)
    with pytest.raises(ValueError, match="expected as many"):
        cluster_slope([1.0], [1.0, 2.0], [0, 1], rng())


@pytest.mark.parametrize("number", [8, 40])
def test_the_interval_covers_the_true_slope_about_as_often_as_it_says(number):
    draws, covered = rng(3), 0
    for _ in range(200):
        clusters = np.repeat(np.arange(number), 3)
        x, own = draws.random(3 * number), np.repeat(draws.normal(0.0, 0.1, number), 3)
        y = (draws.random(3 * number) < np.clip(0.7 - 0.4 * x + own, 0.0, 1.0)).astype(float)
        found = cluster_slope(x, y, clusters, draws)
        covered += found.low <= -0.4 <= found.high
    assert 0.89 <= covered / 200 <= 0.99
