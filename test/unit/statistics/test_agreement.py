"""Agreement of two judges: reference values, what it must not depend on, and what its interval covers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from examples import examples
from hypothesis import example, given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa

from robocontrast_ros.statistics.agreement import agreement
from robocontrast_ros.statistics.clusters import cluster_mean
from robocontrast_ros.statistics.estimate import NO_ESTIMATE

verdicts = st.tuples(st.booleans(), st.booleans(), st.integers(0, 5))
samples = st.lists(verdicts, min_size=1, max_size=40).map(
    lambda sample: tuple(map(np.array, zip(*sample, strict=True)))
)


def numbers(found) -> list[float]:
    """Return kappa, the observed agreement, and the ends of their intervals."""
    both = (found.kappa, found.observed)
    return [math.nan if x is None else x for one in both for x in (one.mean, one.low, one.high)]


def alike(found):
    return pytest.approx(numbers(found), abs=1e-9, nan_ok=True)


def from_table(no_no: int, no_yes: int, yes_no: int, yes_yes: int) -> tuple[np.ndarray, np.ndarray]:
    cells = np.repeat(np.arange(4), (no_no, no_yes, yes_no, yes_yes))
    return cells // 2, cells % 2


def test_a_table_by_hand():
    first, second = from_table(15, 10, 5, 20)
    found = agreement(first, second, np.arange(50))
    assert found.table == ((15, 10), (5, 20))
    assert found.observed.mean == pytest.approx(0.7) and found.expected == pytest.approx(0.5)
    assert found.kappa.mean == pytest.approx(0.4)
    assert -1.0 < found.kappa.low < 0.4 < found.kappa.high < 1.0


@given(st.tuples(*[st.integers(1, 30)] * 4))
def test_kappa_is_that_of_statsmodels(cells):
    first, second = from_table(*cells)
    found = agreement(first, second, np.arange(sum(cells)))
    assert found.kappa.mean == pytest.approx(cohens_kappa(np.reshape(cells, (2, 2)), return_results=False), abs=1e-12)


@pytest.mark.parametrize("cells", [(15, 10, 5, 20), (300, 40, 10, 50), (20, 180, 30, 170)])
def test_many_independent_trials_have_the_interval_of_fleiss_cohen_and_everitt(cells):
    many = [100 * count for count in cells]
    first, second = from_table(*many)
    found = agreement(first, second, np.arange(sum(many))).kappa
    reference = cohens_kappa(np.reshape(many, (2, 2)))
    assert (found.low, found.high) == pytest.approx((reference.kappa_low, reference.kappa_upp), abs=1e-3)


@given(samples)
@example((np.array([True]), np.array([False]), np.array([3])))
def test_it_is_the_same_with_judges_exchanged_in_any_order_and_with_yes_for_no(sample):
    first, second, clusters = sample
    found = agreement(first, second, clusters)
    exchanged = agreement(second, first, clusters)
    assert exchanged.table == tuple(zip(*found.table, strict=True)) and exchanged.expected == found.expected
    assert numbers(exchanged) == alike(found)
    order = np.random.default_rng(len(first)).permutation(len(first))
    shuffled = agreement(first[order], second[order], 10 - clusters[order])
    assert shuffled.table == found.table and numbers(shuffled) == alike(found)
    assert numbers(agreement(~first, ~second, clusters)) == alike(found)


@given(samples)
def test_kappa_is_between_its_ends_and_at_most_1_and_1_at_full_agreement_alone(sample):
    first, second, clusters = sample
    found = agreement(first, second, clusters)
    kappa = found.kappa
    if kappa.mean is None:
        assert found.expected == 1.0 and len({*first.tolist(), *second.tolist()}) == 1
    else:
        assert -1.0 <= kappa.mean <= 1.0
        assert (kappa.mean == 1.0) == (found.observed.mean == 1.0)
        assert (kappa.low is None) == (len(np.unique(clusters)) < 2)
        assert kappa.low is None or -1.0 <= kappa.low <= kappa.mean <= kappa.high <= 1.0
    whole = agreement(first, first, clusters).kappa
    assert whole.mean == (1.0 if len(set(first.tolist())) == 2 else None)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=20))
@examples(50)
def test_where_both_say_yes_half_the_time_it_is_the_interval_of_their_agreement(pairs):
    # Every pair and its opposite: both shares of yes are a half, and kappa is twice the agreement, minus 1.
    first, second = np.array([*pairs, *((not a, not b) for a, b in pairs)]).T
    clusters = np.arange(len(first)) % 7
    found, share = agreement(first, second, clusters).kappa, cluster_mean(first == second, clusters)
    expected = [2.0 * end - 1.0 for end in (share.mean, share.low, share.high)]
    assert [found.mean, found.low, found.high] == pytest.approx(expected, abs=1e-9)


def test_judges_who_say_the_same_of_every_trial_have_an_agreement_and_no_kappa():
    found = agreement([1] * 12, [1] * 12, np.arange(12))
    assert (found.table, found.expected, found.kappa) == (((0, 0), (0, 12)), 1.0, NO_ESTIMATE)
    assert found.observed.mean == 1.0 and 0.7 < found.observed.low < 0.8


def test_one_judge_who_says_the_same_of_every_trial_agrees_by_chance():
    assert agreement([1] * 12, [1, 1, 0] * 4, np.arange(12)).kappa.mean == pytest.approx(0.0, abs=1e-12)


def test_full_agreement_has_an_interval_which_is_wide_where_one_category_is_rare():
    clusters = np.arange(20)
    often, seldom = (agreement(v, v, clusters).kappa for v in (clusters < 10, clusters < 1))
    assert often.high == seldom.high == 1.0
    assert seldom.low < 0.0 < 0.5 < often.low < 1.0


def test_copies_of_a_trial_in_its_own_cluster_tell_nothing_new():
    first, second = from_table(5, 0, 0, 7)
    once = agreement(first, second, np.arange(12))
    often = agreement(np.repeat(first, 5), np.repeat(second, 5), np.repeat(np.arange(12), 5))
    assert numbers(often) == alike(once)


def test_without_trials_or_clusters_there_is_no_estimate_or_no_interval():
    found = agreement([], [], [])
    assert (found.table, found.expected) == (((0, 0), (0, 0)), None)
    assert found.kappa == found.observed == NO_ESTIMATE
    one = agreement([0, 1, 1], [0, 1, 0], [7, 7, 7]).kappa
    assert (one.mean, one.low, one.high) == (pytest.approx(0.4), None, None)


@pytest.mark.parametrize("wrong", [0.5, math.nan, 2, "yes", None])
def test_a_verdict_that_is_none_is_refused_with_its_value(wrong):
    with pytest.raises(ValueError, match=r"second: got .*, expected verdicts of 0 or 1; leave out what was not judged"):
        agreement([0, 1], [1, wrong], [0, 1])


def test_arrays_of_other_lengths_are_refused():
    with pytest.raises(ValueError, match="expected one shape"):
        agreement([0, 1], [1, 0], [0])
    with pytest.raises(ValueError, match="expected one shape"):
        agreement([0, 1], [1], [0, 1])


def judged(rng, number: int, trials: int, solved: float, wrong: tuple[float, float], shared: float):
    """Return the verdicts of two judges, shape (number, trials), and the kappa of their domain.

    In a share of its trials, an instance's success, and each judge's mistake about it, are those of the instance.
    """

    def drawn(share: float) -> np.ndarray:
        own, all_own = rng.random((number, trials)) < share, rng.random((number, 1)) < share
        return np.where(rng.random((number, trials)) < shared, all_own, own)

    truth = drawn(solved)
    first, second = (truth ^ drawn(share) for share in wrong)
    a, b = (solved * (1.0 - share) + (1.0 - solved) * share for share in wrong)
    disagreement = wrong[0] * (1.0 - wrong[1]) + wrong[1] * (1.0 - wrong[0])
    return first, second, 1.0 - disagreement / (a * (1.0 - b) + b * (1.0 - a))


def coverage(number: int, trials: int, *domain, independent: bool = False) -> float:
    rng, held = np.random.default_rng(6), []
    clusters = np.arange(number * trials) if independent else np.repeat(np.arange(number), trials)
    for _ in range(500):
        first, second, kappa = judged(rng, number, trials, *domain)
        found = agreement(first.ravel(), second.ravel(), clusters).kappa
        if found.mean is not None:
            held.append(found.low <= kappa <= found.high)
    assert len(held) > 490, "kappa is defined in nearly all draws"
    return float(np.mean(held))


@pytest.mark.parametrize(
    ("number", "trials", "domain"),
    [
        (12, 5, (0.5, (0.02, 0.02), 0.5)),
        (12, 5, (0.8, (0.1, 0.05), 0.7)),
        (25, 5, (0.5, (0.3, 0.2), 0.7)),
        (50, 1, (0.8, (0.1, 0.05), 0.0)),
        (50, 5, (0.8, (0.02, 0.02), 0.7)),
    ],
)
def test_the_interval_covers_kappa_about_as_often_as_it_says(number, trials, domain):
    assert 0.92 <= coverage(number, trials, *domain) <= 0.995


def test_an_interval_that_takes_trials_as_independent_would_cover_it_less_often():
    assert coverage(25, 5, 0.5, (0.3, 0.2), 0.7, independent=True) < 0.85
