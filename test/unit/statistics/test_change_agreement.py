"""Agreement of changes in two worlds: MMRV by hand, Pearson and Spearman against scipy's, symmetries, and chance."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from robocontrast_ros.statistics.change_agreement import change_agreement, mmrv

SCORES = st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0])


@st.composite
def changes(draw):
    """Return changes of some instances by three to five perturbations in two worlds; each perturbation has some."""
    n, k = draw(st.integers(2, 6)), draw(st.integers(3, 5))
    first, second = (
        np.array(draw(st.lists(st.lists(SCORES, min_size=k, max_size=k), min_size=n, max_size=n))) for _ in "ab"
    )
    left_out = np.array(draw(st.lists(st.lists(st.booleans(), min_size=k, max_size=k), min_size=n, max_size=n)))
    left_out[0] = False
    for values in (first, second):
        values[left_out] = np.nan
    return first, second


def agreement(first, second, clusters=None, draws=99):
    labels = np.arange(len(first)) if clusters is None else clusters
    return change_agreement(first, second, labels, np.random.default_rng(0), draws)


@pytest.mark.parametrize(
    ("true", "predicted", "expected"),
    [
        pytest.param([0.1, 0.5, 0.9], [0.2, 0.3, 0.4], 0.0, id="the same order"),
        pytest.param([0.1, 0.5, 0.9], [0.4, 0.3, 0.2], (0.8 + 0.4 + 0.8) / 3, id="the opposite order"),
        pytest.param([0.1, 0.5, 0.9], [0.3, 0.2, 0.4], (0.4 + 0.4 + 0.0) / 3, id="two exchanged"),
        # For the lesser item both comparisons are false; for the greater one only the prediction's is.
        pytest.param([0.1, 0.5, 0.9], [0.3, 0.3, 0.4], (0.0 + 0.4 + 0.0) / 3, id="a tie counts for one of both"),
        pytest.param([0.5, 0.5, 0.5], [0.3, 0.2, 0.4], 0.0, id="nothing to order"),
    ],
)
def test_mmrv_is_what_a_hand_computes(true, predicted, expected):
    assert mmrv(true, predicted) == pytest.approx(expected)


def test_mmrv_is_not_symmetric():
    true, predicted = [0.0, 0.1, 1.0], [0.0, 1.0, 0.9]
    assert mmrv(true, predicted) == pytest.approx((0.0 + 0.9 + 0.9) / 3)
    assert mmrv(predicted, true) == pytest.approx((0.0 + 0.1 + 0.1) / 3)


@given(changes())
def test_runs_that_are_the_same_agree_in_full(both):
    found = agreement(both[0], both[0])
    for one in (found.mmrv_first, found.mmrv_second):
        assert (one.value.mean, one.value.high) == (0.0, 0.0 if one.value.high is not None else None)
    varies = len(set(np.round(np.nanmean(both[0], axis=0), 9))) > 1
    for one in (found.pearson, found.spearman):
        assert one.value.mean == (pytest.approx(1.0) if varies else None)


@given(changes())
def test_numbers_are_scipys_and_exchanging_the_runs_exchanges_both_mmrvs(both):
    found, swapped = agreement(*both), agreement(*both[::-1])
    means = [np.round(np.nanmean(one, axis=0), 9) for one in both]
    if min(map(np.ptp, means)) > 0.0:
        assert found.pearson.value.mean == pytest.approx(stats.pearsonr(*means).statistic)
        assert found.spearman.value.mean == pytest.approx(stats.spearmanr(*means).statistic)
    else:
        assert found.pearson.value.mean is None and found.spearman.p is None
    assert found.mmrv_second.value.mean == pytest.approx(float(mmrv(*means)))
    assert (swapped.pearson.value, swapped.spearman.value) == (found.pearson.value, found.spearman.value)
    assert (swapped.mmrv_first.value, swapped.mmrv_second.value) == (found.mmrv_second.value, found.mmrv_first.value)


def test_by_chance_is_the_mean_over_all_orders_and_p_the_share_that_agrees_as_much():
    rng = np.random.default_rng(1)
    first, second = (rng.normal([0.0, 0.1, 0.2, 0.6], 0.2, (30, 4)).clip(-1, 1) for _ in "ab")
    found, means = agreement(first, second), [values.mean(axis=0) for values in (first, second)]
    orders = [means[1][list(order)] for order in permutations(range(4))]
    r = [stats.pearsonr(means[0], order).statistic for order in orders]
    violations = [float(mmrv(means[0], order)) for order in orders]
    assert found.least_p == 1 / 24
    assert found.pearson.by_chance == pytest.approx(np.mean(r), abs=1e-8)
    assert found.pearson.p == np.mean(np.array(r) >= r[0] - 1e-9)
    assert found.mmrv_second.by_chance == pytest.approx(np.mean(violations), abs=1e-8)
    assert found.mmrv_second.p == np.mean(np.array(violations) <= violations[0] + 1e-9)


def test_whole_clusters_are_drawn_the_same_in_both_runs():
    rng = np.random.default_rng(1)
    once = rng.normal([0.0, 0.3, 0.6], 0.5, (8, 3)).clip(-1, 1)
    found = agreement(np.repeat(once, 3, axis=0), np.repeat(once + 0.01, 3, axis=0), np.repeat(np.arange(8), 3))
    assert (found.pearson.value.low, found.pearson.value.high) == (pytest.approx(1.0), pytest.approx(1.0))
    other = once[::-1]
    assert (
        agreement(np.repeat(once, 3, axis=0), np.repeat(other, 3, axis=0), np.repeat(np.arange(8), 3)).pearson.value
        == agreement(once, other).pearson.value
    )


def test_many_perturbations_are_drawn_orders_of_labels():
    rng = np.random.default_rng(1)
    first = rng.normal(np.linspace(0, 0.5, 9), 0.1, (20, 9))
    found = agreement(first, first)
    assert found.perturbations == 9 and found.least_p == found.pearson.p == pytest.approx(1 / 2000)


def test_one_instance_has_no_interval_and_two_perturbations_no_agreement():
    assert agreement([[0.0, 0.1, 0.2]], [[0.0, 0.2, 0.1]]).pearson.value.low is None
    assert agreement([[0.0, 0.1]], [[0.0, 0.2]]) is None


def test_changes_that_do_not_match_are_refused():
    with pytest.raises(ValueError, match="the same instances in both"):
        agreement([[0.0, 0.1, 0.2]], [[0.0, np.nan, 0.2]])
    with pytest.raises(ValueError, match="a perturbation has no change"):
        agreement([[0.0, 0.1, np.nan]], [[0.0, 0.1, np.nan]])
