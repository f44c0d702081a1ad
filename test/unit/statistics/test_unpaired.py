"""The difference of two independent means, against published and reference values, and its coverage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import confint_proportions_2indep

from robocontrast_ros.statistics.clusters import cluster_mean
from robocontrast_ros.statistics.estimate import NO_ESTIMATE, Estimate
from robocontrast_ros.statistics.proportions import wilson
from robocontrast_ros.statistics.unpaired import unpaired_difference


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    # Newcombe (1998), Interval estimation for the difference between independent proportions, table II, method 10.
    [
        ((56, 70), (48, 80), (0.0524, 0.3339)),
        ((9, 10), (3, 10), (0.1705, 0.8090)),
        ((0, 10), (0, 10), (-0.2775, 0.2775)),
    ],
)
def test_with_wilsons_intervals_it_is_newcombes(first, second, expected):
    found = unpaired_difference(wilson(*first), wilson(*second))
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-4)


@given(st.integers(1, 30), st.integers(1, 30), st.data())
def test_of_two_shares_it_is_that_of_statsmodels(n, m, data):
    s, t = data.draw(st.integers(0, n)), data.draw(st.integers(0, m))
    found = unpaired_difference(wilson(s, n), wilson(t, m))
    assert (found.low, found.high) == pytest.approx(confint_proportions_2indep(s, n, t, m, method="newcomb"), abs=1e-9)


def test_exchanged_groups_have_the_opposite_interval():
    a, b = Estimate(0.6, 0.4, 0.7), Estimate(0.3, 0.1, 0.6)
    forth, back = unpaired_difference(a, b), unpaired_difference(b, a)
    assert (forth.mean, forth.low, forth.high) == pytest.approx((-back.mean, -back.high, -back.low))


def test_without_an_interval_of_either_there_is_none():
    assert unpaired_difference(Estimate(0.6), Estimate(0.2, 0.1, 0.3)) == Estimate(pytest.approx(0.4))
    assert unpaired_difference(NO_ESTIMATE, Estimate(0.2, 0.1, 0.3)) == NO_ESTIMATE


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.9, 0.6)])
def test_it_covers_the_difference_of_scores_of_few_instances(shares):
    rng = np.random.default_rng(1)

    def drawn(share, number):
        scores = (rng.random(number) < share) * rng.uniform(0.5, 1.0, number)
        return cluster_mean(scores, np.arange(number))

    truth = 0.75 * (shares[0] - shares[1])
    found = [unpaired_difference(drawn(shares[0], 12), drawn(shares[1], 8)) for _ in range(400)]
    # 0.91 lies three standard errors below 0.95.
    assert np.mean([one.low <= truth <= one.high for one in found]) > 0.91
