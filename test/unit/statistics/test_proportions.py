"""Wilson's and Clopper and Pearson's intervals, against the values that were published of them."""

from __future__ import annotations

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from robocontrast_ros.statistics.estimate import NO_ESTIMATE
from robocontrast_ros.statistics.proportions import clopper_pearson, wilson

# Newcombe (1998), Statistics in Medicine 17, 857-872, table I: methods 3 (score) and 5 (Clopper-Pearson).
NEWCOMBE = [
    (81, 263, (0.2553, 0.3662), (0.2527, 0.3676)),
    (15, 148, (0.0624, 0.1605), (0.0578, 0.1617)),
    (0, 20, (0.0000, 0.1611), (0.0000, 0.1684)),
    (1, 29, (0.0061, 0.1718), (0.0009, 0.1776)),
]

counts = st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize(("successes", "trials", "score", "exact"), NEWCOMBE)
def test_the_intervals_are_newcombes(successes, trials, score, exact):
    for estimate, (low, high) in (
        (wilson(successes, trials), score),
        (clopper_pearson(successes, trials), exact),
    ):
        assert estimate.mean == successes / trials
        assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=5e-5)


@given(counts, st.sampled_from([0.8, 0.95, 0.99]))
@examples(50)
def test_the_intervals_are_those_of_statsmodels(count, confidence):
    for interval, method in ((wilson, "wilson"), (clopper_pearson, "beta")):
        estimate = interval(*count, confidence)
        expected = proportion_confint(*count, alpha=1.0 - confidence, method=method)
        assert (estimate.low, estimate.high) == pytest.approx(expected, abs=1e-9)
        assert 0.0 <= estimate.low <= estimate.mean + 1e-12 <= estimate.high + 2e-12 <= 1.0 + 2e-12


@pytest.mark.parametrize("share", [0.03, 0.5, 0.9])
def test_clopper_and_pearsons_interval_covers_any_share_at_least_as_often_as_it_says(share):
    n = 25
    covered = sum(
        stats.binom.pmf(k, n, share) for k in range(n + 1)
        if (e := clopper_pearson(k, n)).low <= share <= e.high
    )  # fmt: skip
    assert covered >= 0.95


def test_without_a_trial_there_is_no_estimate_and_impossible_counts_are_refused():
    assert wilson(0, 0) == clopper_pearson(0, 0) == NO_ESTIMATE
    with pytest.raises(ValueError, match="successes"):
        wilson(4, 3)
