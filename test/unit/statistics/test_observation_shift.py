"""Numbers of observation-space shift: the paper's tables from its published rates, and properties."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from robocontrast_ros.configuration import read_yaml, resolve_uri
from robocontrast_ros.statistics.difficulty import difficulty
from robocontrast_ros.statistics.estimate import Estimate
from robocontrast_ros.statistics.observation_shift import (
    Pair,
    chain_shifts,
    dubr,
    observation_shift,
    pooled_shift,
    rpd,
    upper_bound,
)


@cache
def published():
    return read_yaml(resolve_uri("package://robocontrast_ros/config/published/boss.yaml"))


@cache
def pairs_of(policy):
    table = published()["policies"][policy]
    n = table["trials"]
    counts = zip(*([round(rate * n / 100) for rate in table[key]] for key in ("original", "modified")), strict=True)
    return tuple(Pair(original, modified, n) for original, modified in counts)


POLICIES = tuple(published()["policies"])


@pytest.mark.parametrize("policy", POLICIES)
def test_each_printed_rpd_is_that_of_some_numbers_of_successes_that_round_to_the_printed_rates(policy):
    table = published()["policies"][policy]
    n = table["trials"]
    columns = list(zip(*(table[key] for key in ("original", "modified", "printed_rpd")), strict=True))
    assert len(columns) == len(published()["skills"]) == 44
    for original, modified, printed in columns:
        possible = ([k for k in range(n + 1) if abs(100 * k / n - rate) <= 0.5001] for rate in (original, modified))
        # An undefined RPD is printed as 0.
        found = [rpd(k, m) or 0.0 for k, m in product(*possible)]
        assert min(abs(delta - printed / 100) for delta in found) <= 0.0055, (original, modified, printed)


# Table IV and figure 4 have .67, .35, .34, .54, and 66 % of BC-ResNet-T; its own table III gives .36 and 64 %.
@pytest.mark.parametrize(
    ("policy", "harmed", "mean", "pooled", "expected", "found"),
    [
        ("bc_resnet_rnn", 30, 0.67, 0.41, (0.37, 0.29), (15, 0)),
        ("bc_resnet_t", 28, 0.36, 0.19, (0.40, 0.10), (12, 1)),
        ("bc_vit_t", 22, 0.34, 0.12, (0.38, 0.09), (11, 1)),
        ("openvla", 29, 0.54, 0.34, (0.36, 0.20), (12, 0)),
        ("mail", 33, 0.54, 0.40, (0.45, 0.14), (19, 2)),
    ],
)
def test_the_published_rates_give_the_published_numbers_and_what_chance_alone_would_give(
    policy, harmed, mean, pooled, expected, found
):
    shift = observation_shift(pairs_of(policy))
    assert (shift.skills, shift.harmed) == (44, harmed)
    assert shift.mean_rpd_harmed == pytest.approx(mean, abs=0.005)
    assert shift.pooled_rpd == pytest.approx(pooled, abs=0.006)
    assert (shift.expected_harmed, shift.expected_rpd_harmed) == pytest.approx(expected, abs=0.006)
    assert (shift.found_harmed, shift.found_helped) == found


def test_the_bounds_of_the_published_chains_are_the_products_of_table_three():
    originals = np.array(published()["policies"]["bc_resnet_t"]["original"]) / 100
    bounds = [upper_bound(originals[chain]) for chain in published()["chains"]]
    assert bounds == pytest.approx([0.95, 0.95, 0.77, 0.76, 0.66, 0.66, 0.64, 0.64, 0.79, 0.81], abs=0.0055)


def test_where_nothing_is_solved_there_is_no_ratio_and_harm_is_positive():
    assert rpd(0.0, 0.5) is None and dubr(0.2, 0.0) is None
    assert rpd(0.5, 0.25) == dubr(0.25, 0.5) == 0.5
    assert rpd(0.5, 0.75) == dubr(0.75, 0.5) == -0.5
    nothing = observation_shift([Pair(0, 0, 5)] * 3)
    assert (nothing.mean_rpd_harmed, nothing.pooled_rpd, nothing.expected_rpd_harmed) == (None, None, None)
    assert (nothing.harmed, nothing.expected_harmed, nothing.found_harmed) == (0, 0.0, 0)


@pytest.mark.parametrize("wrong", [(-1, 0, 5), (0, 6, 5), (0, 0, 0)])
def test_impossible_numbers_of_successes_are_refused(wrong):
    with pytest.raises(ValueError, match="successes"):
        Pair(*wrong)
    with pytest.raises(ValueError, match="got no skills"):
        observation_shift([])


@examples(60)
@given(
    st.lists(
        st.integers(1, 12).flatmap(lambda n: st.builds(Pair, st.integers(0, n), st.integers(0, n), st.just(n))),
        min_size=1,
        max_size=8,
    )
)
def test_what_helps_one_way_harms_the_other_way_and_chance_is_the_same(pairs):
    there = observation_shift(pairs)
    back = observation_shift([Pair(pair.modified, pair.original, pair.trials) for pair in pairs])
    assert there.found_harmed == back.found_helped and there.found_helped == back.found_harmed
    assert there.expected_harmed == pytest.approx(back.expected_harmed)
    assert there.harmed + sum(pair.modified >= pair.original for pair in pairs) == len(pairs)
    assert 0.0 <= there.expected_harmed <= 0.5 + 1e-12, "ties apart, worse is as likely as better"


def test_the_expected_share_is_what_simulated_pairs_without_an_effect_have():
    rng = np.random.default_rng(0)
    pair, n = Pair(14, 10, 20), 20_000
    draws = rng.binomial(pair.trials, 0.6, (2, n))
    worse = draws[1] < draws[0]
    expected = observation_shift([pair])
    assert worse.mean() == pytest.approx(expected.expected_harmed, abs=0.012)
    assert ((draws[0] - draws[1]) / draws[0])[worse].mean() == pytest.approx(expected.expected_rpd_harmed, abs=0.01)


PAIRS = st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 3), st.integers(0, 5)), min_size=1, max_size=24)


@examples(40)
@given(PAIRS)
def test_a_pooled_rpd_is_undefined_where_nothing_is_solved_and_else_has_the_sign_of_the_harm_within_its_interval(pairs):
    original, modified, skills, clusters = (np.array(part, dtype=float) for part in zip(*pairs, strict=True))
    found = pooled_shift(original, modified, skills, clusters, np.random.default_rng(0))
    rates = [[values[skills == skill].mean() for skill in np.unique(skills)] for values in (original, modified)]
    assert (found.original, found.modified) == pytest.approx(tuple(np.mean(rates, axis=1)))
    if not original.any():
        assert (found.rpd, found.same) == (Estimate(), None)
        return
    assert found.rpd.mean == pytest.approx(1.0 - found.modified / found.original)
    assert np.sign(round(found.rpd.mean, 9)) == np.sign(round(found.original - found.modified, 9))
    if found.rpd.low is not None:
        assert found.rpd.low <= found.rpd.mean <= found.rpd.high <= 1.0 + 1e-12
    if len(np.unique(clusters)) == 1:
        assert found.rpd.low is None and found.same.p_value is None


CHAINS = ((0, 1), (1, 0, 2), (2,))
RUNS = st.lists(
    st.tuples(st.integers(0, 2), st.lists(st.booleans(), min_size=3, max_size=3), st.booleans()), max_size=12
)


@examples(40)
@given(RUNS)
def test_dubr_is_undefined_where_the_bound_is_0_and_else_has_the_sign_of_the_loss_within_its_interval(drawn):
    # Each chain is run once at least.
    runs = [*((number, [True, number > 0, False], number == 1) for number in range(3)), *drawn]
    alone = [(ok, skill, k) for k, (n, own, _) in enumerate(runs) for skill, ok in zip(CHAINS[n], own, strict=False)]
    done = [(ended, number, k) for k, (number, _, ended) in enumerate(runs)]
    each, every = chain_shifts(
        tuple(zip(*alone, strict=True)), tuple(zip(*done, strict=True)), CHAINS, np.random.default_rng(0)
    )
    rates = [np.mean([ok for ok, skill, _ in alone if skill == one]) for one in range(3)]
    times = [sum(number == one for number, *_ in runs) for one in range(3)]
    bounds = [upper_bound([rates[skill] for skill in chain]) for chain in CHAINS]
    assert [one.bound for one in each] == pytest.approx(bounds)
    assert every.bound == pytest.approx(np.average(bounds, weights=times))
    assert every.actual.mean == pytest.approx(np.average([one.actual.mean for one in each], weights=times))
    for one, number in zip((*each, every), (*times, len(runs)), strict=True):
        if one.bound == 0.0:
            assert one.dubr == Estimate()
            continue
        assert one.dubr.mean == pytest.approx(dubr(one.actual.mean, one.bound))
        assert np.sign(round(one.dubr.mean, 9)) == np.sign(round(one.bound - one.actual.mean, 9))
        if one.dubr.low is not None:
            assert number > 1 and one.dubr.low <= one.dubr.mean <= one.dubr.high <= 1.0 + 1e-12


def test_a_skill_without_a_trial_of_its_own_leaves_its_chain_without_a_bound():
    alone, done = ((1, 1), (0, 0), (0, 1)), ((1, 0), (0, 0), (0, 1))
    (found,), every = chain_shifts(alone, done, [(0, 1)], np.random.default_rng(0))
    assert (found.bound, found.dubr, found.actual.mean) == (None, Estimate(), 0.5)
    assert every.bound is None
    with pytest.raises(ValueError, match="got no pairs"):
        pooled_shift([], [], [], [], np.random.default_rng(0))


@pytest.mark.parametrize(
    ("size", "harm"), [(1, 0.3), *(pytest.param(*each, marks=pytest.mark.long) for each in ((1, 0.0), (3, 0.3)))]
)
def test_the_interval_of_the_pooled_rpd_covers_the_true_one(size, harm):
    rng, rate, covered = np.random.default_rng(11), np.tile([1.0, 0.9, 0.5, 0.3], 11), 0
    skills = np.repeat(np.arange(44), size)
    for _ in range(60):
        luck, other = rng.random((2, 44 * size))
        original = luck < rate[skills]
        modified = np.where(rng.random(44 * size) < 0.5, luck, other) < (1.0 - harm) * rate[skills]
        found = pooled_shift(original, modified, skills, np.arange(44 * size), np.random.default_rng(0)).rpd
        covered += found.low <= harm <= found.high
    # 54 of 60 or more have a probability of .97 at 95 %.
    assert covered >= 54


def spearman(original, modified):
    """SciPy's correlation of ORI and RPD over the skills with ORI above 0."""
    there = original > 0
    return stats.spearmanr(original[there], 1.0 - modified[there] / original[there]).statistic


@pytest.mark.parametrize("policy", POLICIES)
def test_the_correlation_of_ori_and_rpd_in_the_published_rates_is_scipys(policy):
    pairs = pairs_of(policy)
    original, modified = (np.array([getattr(pair, name) for pair in pairs]) for name in ("original", "modified"))
    found = difficulty(pairs, np.random.default_rng(1))
    assert found.skills == int((original > 0).sum())
    assert found.rho.mean == pytest.approx(spearman(original, modified))
    assert found.rho.low < found.rho.mean < found.rho.high


@examples(60)
@given(counts=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=8))
def test_the_correlation_of_few_skills_is_scipys_or_undefined(counts):
    found = difficulty([Pair(*one, 4) for one in counts], np.random.default_rng(1), draws=40)
    original, modified = np.array(counts, dtype=float).reshape(-1, 2).T
    there = original > 0
    varies = len(np.unique(original[there])) > 1 and len(np.unique(modified[there] / original[there])) > 1
    assert found.skills == there.sum()
    assert found.rho.mean == (pytest.approx(spearman(original, modified)) if varies else None)
    assert found.p is None or 0.0 < found.p <= 1.0


def test_harder_skills_that_lose_more_are_found_and_a_common_loss_is_not():
    rng, rates, trials = np.random.default_rng(3), np.linspace(0.3, 1.0, 44), 20
    found = {}
    for what, kept in (("common", np.full(44, 0.7)), ("harder", (rates - 0.3) / 0.7)):
        runs = []
        for _ in range(60):
            counts = zip(rng.binomial(trials, rates), rng.binomial(trials, kept * rates), strict=True)
            runs.append(difficulty([Pair(int(own), int(other), trials) for own, other in counts], rng, draws=199))
        found[what] = runs
    # ORI is part of RPD: without any effect of difficulty their correlation is above 0.
    assert np.mean([one.by_chance for one in found["common"]]) > 0.1
    bias = np.mean([one.rho.mean - one.by_chance for one in found["common"]])
    assert abs(bias) < 0.05
    assert sum(one.p <= 0.05 for one in found["common"]) <= 8, "of 60, of which 3 are expected"
    assert sum(one.p <= 0.05 for one in found["harder"]) >= 55
