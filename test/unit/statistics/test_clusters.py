"""Means over trials that share base instances: what their intervals cover, and what they must not depend on."""

from __future__ import annotations

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from robocontrast_ros.statistics.clusters import (
    cluster_mean,
    effective_size,
    jackknife_variance,
    paired_difference,
    wilson_ends,
)
from robocontrast_ros.statistics.estimate import NO_ESTIMATE, Estimate
from robocontrast_ros.statistics.proportions import wilson

scores = st.floats(0.0, 1.0)
samples = st.lists(st.tuples(scores, st.integers(0, 5)), min_size=2, max_size=30)


def split(sample):
    values, labels = zip(*sample, strict=True)
    return np.array(values), np.array(labels)


def ends(estimate: Estimate) -> tuple[float, float]:
    assert estimate.low is not None and estimate.high is not None
    return estimate.low, estimate.high


@given(st.lists(scores, min_size=2, max_size=20))
@examples(30)
def test_without_bounds_single_trials_have_students_interval(values):
    estimate = cluster_mean(values, np.arange(len(values)), bounds=None)
    if np.ptp(values) > 1e-6:
        expected = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
        assert ends(estimate) == pytest.approx((expected.low, expected.high), abs=1e-9)


@given(st.integers(2, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.integers(1, 5))
@examples(60)
def test_successes_of_one_trial_an_instance_have_wilsons_interval_repeated_or_not(count, repeats):
    successes, trials = count
    values, labels = np.repeat(np.arange(trials) < successes, repeats), np.repeat(np.arange(trials), repeats)
    expected = wilson(successes, trials)
    assert ends(cluster_mean(values, labels)) == pytest.approx((expected.low, expected.high))


def test_many_samples_at_once_have_the_intervals_that_each_has_alone():
    # As benchmark/interval_coverage.py measures it.
    rng = np.random.default_rng(4)
    sizes = rng.integers(1, 6, (7, 9))
    values = rng.random((7, 9, 5)) * (np.arange(5) < sizes[..., None])
    size = effective_size(values.sum(axis=2), (values**2).sum(axis=2), sizes, caution=1.0)
    found = wilson_ends(values.sum(axis=(1, 2)) / sizes.sum(axis=1), size, 0.95)
    for i in range(7):
        scores_of_one = values[i][np.arange(5) < sizes[i][:, None]]
        alone = cluster_mean(scores_of_one, np.repeat(np.arange(9), sizes[i]))
        assert ends(alone) == pytest.approx((found[0][i], found[1][i]))


def test_trials_of_an_instance_that_are_independent_count_nearly_as_so_many_instances():
    rng = np.random.default_rng(2)
    values = (rng.random(500) < 0.7).astype(float)
    apart, together = cluster_mean(values, np.arange(500)), cluster_mean(values, np.arange(500) // 5)
    assert together.half_width == pytest.approx(apart.half_width, rel=0.1)


def test_scores_that_hardly_differ_have_a_narrower_interval_than_successes_of_the_same_mean():
    scores, successes = np.linspace(0.7, 0.9, 30), np.arange(30) < 24
    assert cluster_mean(scores, np.arange(30)).half_width < 0.5 * cluster_mean(successes, np.arange(30)).half_width


@given(st.lists(st.tuples(scores, st.integers(1, 9)), min_size=2, max_size=8))
@examples(40)
def test_the_jackknifes_variance_is_that_of_means_without_one_cluster(clusters):
    sums, sizes = np.array([[score * size, size] for score, size in clusters]).T
    means = [np.delete(sums, i).sum() / np.delete(sizes, i).sum() for i in range(len(sums))]
    # Efron and Stein (1981), around the mean of all values.
    expected = (len(sums) - 1) / len(sums) * np.sum((np.array(means) - sums.sum() / sizes.sum()) ** 2)
    assert jackknife_variance(sums, sizes) == pytest.approx(expected, abs=1e-12)


@given(samples, st.sampled_from([0.5, 0.95, 0.99]))
@examples(60)
def test_an_interval_holds_the_mean_and_stays_within_the_bounds(sample, confidence):
    values, labels = split(sample)
    estimate = cluster_mean(values, labels, confidence)
    assert estimate.mean == pytest.approx(np.mean(values))
    if len(set(labels)) > 1:
        low, high = ends(estimate)
        assert 0.0 <= low <= estimate.mean <= high <= 1.0
        assert high - low > 0.0


@given(samples, st.randoms(use_true_random=False))
@examples(40)
def test_neither_the_order_of_trials_nor_the_names_of_instances_matter(sample, random):
    values, labels = split(sample)
    order = np.array(random.sample(range(len(values)), len(values)))
    renamed = np.array([f"x{(label * 7 + 3) % 11}" for label in labels])
    one, other = cluster_mean(values, labels), cluster_mean(values[order], renamed[order])
    assert one.mean == pytest.approx(other.mean)
    if one.low is not None:
        assert ends(one) == pytest.approx(ends(other), abs=1e-9)


@given(samples)
@examples(40)
def test_scores_and_failures_are_treated_alike(sample):
    values, labels = split(sample)
    estimate, mirrored = cluster_mean(values, labels), cluster_mean(1.0 - values, labels)
    if estimate.low is not None:
        assert ends(estimate) == pytest.approx((1.0 - mirrored.high, 1.0 - mirrored.low), abs=1e-9)


@given(samples, st.integers(2, 5))
@examples(40)
def test_more_such_instances_make_it_narrower_just_as_times_foretells(sample, times):
    values, labels = split(sample)
    more = cluster_mean(np.tile(values, times), np.concatenate([labels + 10 * i for i in range(times)]))
    foretold = cluster_mean(values, labels, times=times)
    if foretold.low is not None:
        assert ends(foretold) == pytest.approx(ends(more), abs=1e-9)
        assert foretold.half_width <= cluster_mean(values, labels).half_width + 1e-9


def test_repeats_that_say_nothing_new_do_not_make_it_narrower():
    values, labels = np.array([0.1, 0.9, 0.4, 0.6]), np.array(["a", "b", "c", "d"])
    once, thrice = cluster_mean(values, labels), cluster_mean(np.repeat(values, 3), np.repeat(labels, 3))
    assert ends(thrice) == pytest.approx(ends(once))


def test_twelve_successes_of_twelve_leave_room_for_failures():
    low, high = ends(cluster_mean(np.ones(12), np.arange(12)))
    # Wilson's lower bound; that of Clopper and Pearson is 0.735, that of the rule of three 0.75.
    assert low == pytest.approx(0.7575, abs=1e-4)
    assert high == 1.0
    assert ends(cluster_mean(np.ones(60), np.arange(60) // 5)) == pytest.approx((low, high)), "five repeats of each"
    nearly = ends(cluster_mean(np.full(12, 1.0 - 1e-9), np.arange(12)))
    assert nearly == pytest.approx((low, high), abs=1e-6), "no leap where scores come near the bound"


def test_one_instance_alone_has_a_mean_and_no_interval_and_none_has_nothing():
    assert cluster_mean([0.3, 0.5], ["x0", "x0"]) == Estimate(0.4)
    assert cluster_mean([], []) == NO_ESTIMATE
    assert paired_difference([], []) == NO_ESTIMATE


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match=r"got -0.1 to 0.5, expected 0 to 1"):
        cluster_mean([0.5, -0.1], [0, 1])
    with pytest.raises(ValueError, match="expected 0 to 1"):
        cluster_mean([0.5, np.nan], [0, 1])
    with pytest.raises(ValueError, match="2 values and 3 clusters"):
        cluster_mean([0.5, 0.1], [0, 1, 2])
    with pytest.raises(ValueError, match="2 and 1 values"):
        paired_difference([0.5, 0.1], [0.5])


def test_the_interval_of_a_difference_turns_with_its_sign_and_is_narrower_than_bounds_alone_would_make_it():
    rng = np.random.default_rng(1)
    a, b = rng.random(20), rng.random(20)
    difference, other = paired_difference(a, b), paired_difference(b, a)
    assert ends(difference) == pytest.approx((-other.high, -other.low))
    scaled = cluster_mean((a - b + 1.0) / 2.0, np.arange(20))
    assert scaled.low * 2.0 - 1.0 < difference.low < difference.mean < difference.high < scaled.high * 2.0 - 1.0


@pytest.mark.parametrize(("first", "second", "instances"), [(0.5, 0.5, 5), (0.99, 0.9, 12), (0.9, 0.7, 40)])
def test_the_interval_of_a_paired_difference_covers_it_as_often_as_it_says(first, second, instances):
    rng, draws, covered = np.random.default_rng(6), 200, 0
    for _ in range(draws):
        clusters = np.repeat(np.arange(instances), rng.integers(1, 10, instances))
        # Chances of an instance, whose trials have a correlation of 0.3.
        a, b = (
            (rng.random(len(clusters)) < rng.beta(7 / 3 * p, 7 / 3 * (1 - p), instances)[clusters]).astype(float)
            for p in (first, second)
        )
        low, high = ends(paired_difference(a, b, clusters))
        covered += low <= first - second <= high
    assert covered >= stats.binom.ppf(1e-4, draws, 0.95)


def test_two_policies_that_always_agree_may_still_differ_a_little():
    low, high = ends(paired_difference(np.ones(40), np.ones(40)))
    assert -0.15 < low < -0.05
    assert high == pytest.approx(-low)


# Share of successes, correlation between the trials of an instance, instances, trials of each.
WORLDS = [
    (0.5, 0.3, 5, 5),
    (0.95, 0.3, 12, 5),
    (0.95, 0.0, 12, 1),
    (0.8, 0.8, 12, (1, 15)),
    (0.02, 0.3, 40, (1, 15)),
    (0.5, 0.0, 40, 5),
]


@pytest.mark.parametrize("spl", [False, True])
@pytest.mark.parametrize("world", WORLDS)
def test_the_interval_covers_the_mean_as_often_as_it_says(world, spl):
    share, correlation, instances, each = world
    rng, draws, covered = np.random.default_rng(5), 250, 0
    truth = share * (0.8 if spl else 1.0)
    for _ in range(draws):
        sizes = np.full(instances, each) if isinstance(each, int) else rng.integers(each[0], each[1] + 1, instances)
        chance = np.full(instances, share)
        if correlation:
            s = 1.0 / correlation - 1.0
            chance = rng.beta(share * s, (1.0 - share) * s, instances)
        clusters = np.repeat(np.arange(instances), sizes)
        values = (rng.random(len(clusters)) < chance[clusters]).astype(float)
        if spl:
            values *= 0.5 * rng.beta(8, 2, instances)[clusters] + 0.5 * rng.beta(8, 2, len(clusters))
        low, high = ends(cluster_mean(values, clusters))
        covered += low <= truth <= high
    # One world in ten thousand that covers 95 % falls below.
    assert covered >= stats.binom.ppf(1e-4, draws, 0.95)
