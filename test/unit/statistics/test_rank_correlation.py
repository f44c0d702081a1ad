"""Spearman's correlation against scipy's; its permutation within groups; its interval."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from robocontrast_ros.statistics.rank_correlation import rank_correlation

NUMBERS = st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=3, max_size=12)


def correlation(x, y, groups=None, within=False, draws=499):
    groups = range(len(x)) if groups is None else groups
    return rank_correlation(x, y, groups, np.random.default_rng(0), within, draws)


@given(NUMBERS)
def test_it_is_spearmans_where_nothing_is_grouped(pairs):
    x, y = zip(*pairs, strict=True)
    found = correlation(x, y, draws=9)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert found.rho.mean is None and found.p is None
    else:
        assert found.rho.mean == pytest.approx(stats.spearmanr(x, y).statistic)
        assert 0.0 < found.p <= 1.0 and found.pairs == len(pairs)


def test_four_points_in_order_have_no_p_of_zero():
    """The paper prints 0.0 for them; of 24 orders two are as far from none."""
    found = correlation([1, 2, 3, 4], [1, 2, 3, 4])
    assert found.rho.mean == pytest.approx(1.0) and found.p == pytest.approx(2 / 24, abs=0.02)


def test_a_difference_between_groups_alone_is_no_correlation_within_them():
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(20), 10)
    x, y = groups + 0.01 * rng.normal(size=200), groups + 0.01 * rng.normal(size=200)
    assert correlation(x, y, groups).rho.mean > 0.99
    within = correlation(x, y, groups, within=True)
    assert abs(within.rho.mean) < 0.2 and within.p > 0.05
    assert within.rho.low < 0.0 < within.rho.high


def test_a_correlation_within_groups_is_found():
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(20), 10)
    x = rng.normal(size=200)
    found = correlation(x, x + rng.normal(size=200), groups, within=True)
    assert found.rho.low > 0.3 and found.p == 1 / 500


def test_lengths_that_differ_are_refused():
    with pytest.raises(ValueError, match="expected as many"):
        correlation([1, 2], [1, 2, 3])
