"""What a comparison can find, beside sums over all outcomes of the tests themselves."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from robocontrast_ros.statistics import power


def boschloo_power(n: int, p1: float, p2: float) -> float:
    """Return the power of Boschloo's test, summed over all tables of n trials a side."""
    counts = np.arange(n + 1)
    nuisance = [stats.binom.pmf(counts, n, p) for p in np.linspace(0.005, 0.995, 100)]
    together = counts[:, None] + counts[None, :]
    tail = stats.hypergeom.cdf(counts[:, None], 2 * n, together, n)
    order = np.argsort(tail, axis=None, kind="stable")
    values, p_values = tail.ravel()[order], np.zeros(tail.size)
    last = np.searchsorted(values, values * (1 + 1e-9), side="right") - 1
    for shares in nuisance:
        p_values = np.maximum(p_values, np.cumsum(np.outer(shares, shares).ravel()[order])[last])
    less = np.empty(tail.size)
    less[order] = p_values
    less = less.reshape(tail.shape)
    rejected = 2.0 * np.minimum(less, less.T) <= 0.05
    return float(np.sum(np.outer(stats.binom.pmf(counts, n, p1), stats.binom.pmf(counts, n, p2)) * rejected))


@pytest.mark.parametrize(
    ("n", "reference"), [(10, 0.8), (20, 0.5), (20, 0.7), (20, 0.85), (20, 1.0), (30, 0.95), (50, 0.9)]
)
def test_boschloos_test_finds_the_smallest_drop_of_the_formula_with_nearly_80_percent(n, reference):
    drop = power.smallest_drop_of_shares(reference, n, n)
    assert 0.765 <= boschloo_power(n, reference - drop, reference) <= 0.815


@pytest.mark.parametrize(("n", "reference"), [(2, 1.0), (20, 0.1), (20, 0.0)])
def test_where_not_even_a_drop_to_nothing_is_found_there_is_none(n, reference):
    assert power.smallest_drop_of_shares(reference, n, n) is None


@pytest.mark.parametrize(("p1", "p2"), [(0.85, 0.7), (0.7, 0.85), (1.0, 0.9), (0.5, 0.48)])
def test_the_trials_for_two_shares_have_just_80_percent(p1, p2):
    n = power.trials_for_shares(p1, p2)
    assert power.shares_power(p1, n - 1, p2, n - 1) < 0.8 <= power.shares_power(p1, n, p2, n) + 1e-9


@pytest.mark.parametrize(
    ("n", "first", "second"), [(20, 0.1, 0.4), (10, 0.0, 0.6), (30, 0.05, 0.3), (6, 0.0, 1.0), (5, 0.0, 1.0)]
)
def test_the_power_of_mcnemars_test_is_the_sum_over_all_outcomes(n, first, second):
    found = 0.0
    for discordant in range(1, n + 1):
        weight = stats.binom.pmf(discordant, n, first + second)
        for of_first in range(discordant + 1):
            if stats.binomtest(of_first, discordant).pvalue <= 0.05:
                found += weight * stats.binom.pmf(of_first, discordant, first / (first + second))
    assert power.mcnemar_power(n, first, second) == pytest.approx(found, abs=1e-12)


def test_the_pairs_for_shares_are_the_fewest_with_80_percent_near_the_formula():
    n = power.pairs_for_shares(0.3, 0.1)
    assert power.mcnemar_power(n, 0.3, 0.1) >= 0.8 > power.mcnemar_power(n - 1, 0.3, 0.1)
    assert power.pairs_for_shares(0.1, 0.3) == n
    # Beyond the sums it is Connor's formula, 1987.
    z_alpha, z_beta = stats.norm.ppf(0.975), stats.norm.ppf(0.8)
    connor = ((z_alpha * math.sqrt(0.09) + z_beta * math.sqrt(0.09 - 0.01**2)) / 0.01) ** 2
    assert power.pairs_for_shares(0.05, 0.04) == math.ceil(connor)
    assert power.pairs_for_shares(0.2, 0.2) is None


@pytest.mark.parametrize("n", [5, 6, 20, 60])
def test_the_smallest_drop_of_pairs_has_80_percent_and_five_pairs_find_none(n):
    drop = power.smallest_drop_of_pairs(n, 0.0)
    if n < 6:
        assert drop is None and power.smallest_drop_of_clusters(n, 0.0) is None
    else:
        assert power.mcnemar_power(n, 0.0, drop - 0.001) < 0.8 <= power.mcnemar_power(n, 0.0, drop)


def test_of_single_pairs_clusters_need_what_connors_formula_says():
    only_first, only_second = 0.3, 0.1
    variance = only_first + only_second - (only_first - only_second) ** 2
    n = power.clusters_for(only_first - only_second, variance)
    assert abs(n - power.pairs_for_shares(only_first, only_second)) <= 8
    drop = power.smallest_drop_of_clusters(n, variance)
    assert drop == pytest.approx(0.2, abs=0.002)


def test_means_need_the_textbooks_number():
    # Half a standard deviation: 63 a side with the normal quantiles, 64 with Student's.
    assert power.trials_for_means(0.5, 1.0, 1.0) == 63
    assert power.smallest_drop_of_means(math.sqrt(2.0 / 63)) == pytest.approx(0.499, abs=0.001)
    assert power.smallest_drop_of_means(0.5) is None
    assert power.trials_for_means(0.0, 1.0, 1.0) is None
