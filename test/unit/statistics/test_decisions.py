"""Tests between two policies, against published examples and other packages."""

from __future__ import annotations

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as reference_mcnemar

from robocontrast_ros.statistics import decisions
from robocontrast_ros.statistics.decisions import boschloo, mcnemar, paired_bootstrap

tables = st.tuples(st.integers(0, 6), st.integers(1, 6), st.integers(0, 6), st.integers(1, 6)).map(
    lambda t: (min(t[0], t[1]), t[1], min(t[2], t[3]), t[3])
)


def pairs(both, only_first, only_second, neither):
    counts = (both, only_first, only_second, neither)
    return np.repeat([1, 1, 0, 0], counts), np.repeat([1, 0, 1, 0], counts)


def test_mcnemars_test_of_the_approval_ratings():
    # Agresti (1990), Categorical Data Analysis, page 350: 944 of 1600 approved in the first survey, 880 in the
    # second; 150 and 86 changed their minds. The exact p-value is that of R's exact2x2, 3.716e-05.
    decision = mcnemar(*pairs(794, 150, 86, 570))
    assert decision.p_value == pytest.approx(3.716e-05, rel=2e-4)
    assert (decision.n, decision.difference.mean) == (1600, pytest.approx(0.04))
    # Agresti's interval, by the normal distribution: 0.02 to 0.06.
    assert (decision.difference.low, decision.difference.high) == pytest.approx((0.02, 0.06), abs=2e-3)


@given(st.tuples(*[st.integers(0, 30)] * 4).filter(sum))
@examples(40)
def test_mcnemars_test_is_that_of_statsmodels(counts):
    both, only_first, only_second, neither = counts
    expected = reference_mcnemar([[both, only_first], [only_second, neither]], exact=True).pvalue
    assert mcnemar(*pairs(*counts)).p_value == pytest.approx(1.0 if np.isnan(expected) else expected)


def unconditional(table, statistic):
    """Return the greatest probability, over what both chances may be, of a table that is at least as extreme."""
    s1, n1, s2, n2 = table
    observed = statistic(s1, n1, s2, n2)
    every = [(i, j) for i in range(n1 + 1) for j in range(n2 + 1)]
    extreme = [(i, j) for i, j in every if statistic(i, n1, j, n2) <= observed + 1e-9]
    chances = np.linspace(0.0, 1.0, 401)
    first = stats.binom.pmf(np.arange(n1 + 1)[:, None], n1, chances)
    second = stats.binom.pmf(np.arange(n2 + 1)[:, None], n2, chances)
    return np.max(sum(first[i] * second[j] for i, j in extreme))


def fisher(s1, n1, s2, n2):
    """Return the smaller of both one-sided p-values of Fisher's test."""
    total = s1 + s2
    law = stats.hypergeom(n1 + n2, total, n1)
    return min(law.cdf(s1), law.sf(s1 - 1))


def test_boschloos_test_is_what_going_through_all_tables_gives():
    # Boschloo (1970): unconditional, with Fisher's one-sided p-value as the statistic; twice it is two-sided.
    for table in ((7, 15, 12, 15), (2, 9, 6, 8), (5, 5, 1, 6)):
        s1, n1, s2, n2 = table
        less = s1 / n1 < s2 / n2

        def one_sided(i, n, j, m, less=less):
            law = stats.hypergeom(n + m, i + j, n)
            return law.cdf(i) if less else law.sf(i - 1)

        expected = min(1.0, 2.0 * unconditional(table, one_sided))
        assert boschloo(*table).p_value == pytest.approx(expected, abs=2e-3)


@given(tables)
@examples(10)
def test_boschloos_test_is_at_least_as_powerful_as_fishers(table):
    s1, n1, s2, n2 = table
    assert boschloo(*table).p_value <= min(1.0, 2.0 * fisher(s1, n1, s2, n2)) + 1e-9


def test_the_difference_of_unpaired_shares_is_newcombes():
    # Newcombe (1998), Statistics in Medicine 17, 873-890, table II: 56/70 - 48/80, method 10.
    difference = boschloo(56, 70, 48, 80).difference
    assert (difference.low, difference.high) == pytest.approx((0.0524, 0.3339), abs=5e-5)


def test_without_trials_or_without_any_difference_nothing_is_decided():
    assert mcnemar([], []).p_value is None
    assert boschloo(0, 0, 3, 5).p_value is None
    assert boschloo(5, 5, 4, 4).p_value == 1.0
    nothing = paired_bootstrap([], [], [], np.random.default_rng(0))
    assert (nothing.p_value, nothing.n) == (None, 0)
    same = paired_bootstrap([0.2, 0.7], [0.2, 0.7], [0, 1], np.random.default_rng(0))
    assert same.p_value == 1.0


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=9))
@examples(20)
def test_the_bootstrap_of_single_pairs_is_scipys_permutation_test(sample):
    a, b = (np.round(np.array(x), 3) for x in zip(*sample, strict=True))
    decision = paired_bootstrap(a, b, np.arange(len(a)), np.random.default_rng(0))
    expected = stats.permutation_test(
        (a - b,), lambda d, axis: np.abs(np.mean(d, axis=axis)), permutation_type="samples", vectorized=True,
        alternative="greater", n_resamples=np.inf,
    )  # fmt: skip
    assert decision.p_value == pytest.approx(expected.pvalue, abs=1e-9)


def test_the_bootstrap_changes_the_sign_of_whole_instances():
    a, b = np.ones(50), np.zeros(50)
    # Five instances that all speak for the first policy: two of 32 assignments of signs are as extreme.
    decision = paired_bootstrap(a, b, np.repeat(np.arange(5), 10), np.random.default_rng(0))
    assert decision.p_value == pytest.approx(2 / 32)


@pytest.mark.parametrize("instances", [8, 30])
def test_the_bootstrap_finds_a_difference_where_there_is_none_no_oftener_than_it_says(instances):
    rng, draws, rejected = np.random.default_rng(2), 300 if instances == 8 else 60, 0
    for _ in range(draws):
        sizes = rng.integers(1, 8, instances)
        clusters = np.repeat(np.arange(instances), sizes)
        shared = rng.normal(0.0, 0.2, instances)[clusters]
        a = np.clip(0.6 + shared + rng.normal(0.0, 0.2, len(clusters)), 0.0, 1.0)
        b = np.clip(0.6 - shared + rng.normal(0.0, 0.2, len(clusters)), 0.0, 1.0)
        rejected += paired_bootstrap(a, b, clusters, rng).p_value <= 0.05
    assert rejected <= stats.binom.ppf(1.0 - 1e-3, draws, 0.05)


def test_many_clusters_are_drawn_in_parts_that_together_are_as_many_draws(monkeypatch):
    d = np.random.default_rng(3).normal(0.15, 1.0, 60).clip(-1.0, 1.0)
    clusters, zeros = np.arange(60), np.zeros(60)
    whole = paired_bootstrap(d, zeros, clusters, np.random.default_rng(0))
    monkeypatch.setattr(decisions, "MOST_DRAWN", 60 * 1000)
    parts = paired_bootstrap(d, zeros, clusters, np.random.default_rng(0))
    assert parts.p_value == pytest.approx(whole.p_value, abs=0.02)
    assert round(parts.p_value * 10_000) == pytest.approx(parts.p_value * 10_000)
