"""Tests of equivalence and harm: their level, and what holds of them whatever the outcomes are."""

from __future__ import annotations

import numpy as np
import pytest
from examples import examples
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from robocontrast_ros.statistics.clusters import paired_difference
from robocontrast_ros.statistics.equivalence import equivalence, harm

MARGIN = 0.15

outcomes = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 5)), min_size=1, max_size=40)
margins = st.floats(0.02, 0.9)


def arrays(rows):
    a, b, instances = (np.array(column) for column in zip(*rows, strict=True))
    return a, b, instances


def rejected(rng, number, loses, gains, draws, each=1):
    """Return how often equivalence is shown: instances lose, gain or stay whole, ``each`` trials of one instance."""
    shown = 0
    for _ in range(draws):
        d = rng.choice((-1.0, 1.0, 0.0), number, p=(loses, gains, 1.0 - loses - gains))
        a, b = np.repeat(d > 0.0, each).astype(float), np.repeat(d < 0.0, each).astype(float)
        shown += equivalence(a, b, np.repeat(np.arange(number), each), margin=MARGIN).p_value < 0.05
    return shown / draws


@pytest.mark.parametrize(
    ("number", "loses", "gains", "each"),
    [
        # Nothing ever gains: the differences vary least, and outcomes seldom change.
        *((number, MARGIN, 0.0, 1) for number in (10, 16, 19, 25, 40)),
        (25, MARGIN, 0.0, 4),
        (25, MARGIN + 0.03, 0.03, 1),
        (50, MARGIN + 0.01, 0.01, 1),
        (40, MARGIN + 0.1, 0.1, 1),
        (100, MARGIN + 0.25, 0.25, 1),
        (60, 0.02, 0.02 + MARGIN, 1),
    ],
)
def test_a_change_as_large_as_the_margin_is_called_none_in_no_more_than_one_of_twenty_samples(
    number, loses, gains, each
):
    draws = 200
    share = rejected(np.random.default_rng(number), number, loses, gains, draws, each)
    # With a probability of 5 % in each, fewer than one in ten thousand simulations has more.
    assert share <= stats.binom.ppf(0.9999, draws, 0.05) / draws


def test_no_change_is_shown_where_there_are_instances_enough():
    rng = np.random.default_rng(0)
    assert rejected(rng, 100, 0.05, 0.05, 200) > 0.95
    assert rejected(rng, 40, 0.0, 0.0, 1) == 1.0


@pytest.mark.parametrize("each", [1, 3])
def test_instances_that_never_change_have_the_probability_of_seeing_no_change_although_the_margin_is_reached(each):
    for number in (2, 12, 18, 19, 40):
        same = np.ones(number * each)
        found = equivalence(same, same, np.repeat(np.arange(number), each), margin=MARGIN)
        assert found.p_value == pytest.approx((1.0 - MARGIN) ** number)
        assert (found.difference.mean, found.instances) == (0.0, number)
        assert found.inner.high == pytest.approx(1.0 - 0.05 ** (1.0 / number))
    assert equivalence(np.ones(18), np.ones(18), margin=MARGIN).p_value > 0.05
    assert equivalence(np.ones(19), np.ones(19), margin=MARGIN).p_value < 0.05


def test_one_instance_shows_nothing_however_often_it_is_repeated():
    found = equivalence(np.ones(30), np.ones(30), np.zeros(30), margin=MARGIN)
    assert (found.p_value, found.difference.low, found.inner.low) == (None, None, None)
    assert harm(np.zeros(30), np.ones(30), np.zeros(30), np.random.default_rng(0)) == 0.5
    nothing = equivalence([], [], margin=MARGIN)
    assert (nothing.p_value, nothing.difference.mean, nothing.instances) == (None, None, 0)


@given(outcomes, margins)
@examples(60)
def test_no_difference_is_shown_where_the_90_percent_interval_is_inside_the_margin_and_only_there(rows, margin):
    found = equivalence(*arrays(rows), margin=margin)
    assume(found.p_value is not None)
    ends = found.inner.low, found.inner.high
    assume(all(abs(abs(end) - margin) > 1e-9 for end in ends))
    assert (found.p_value < 0.05) == (-margin < ends[0] and ends[1] < margin)
    assert found.difference.low <= ends[0] <= found.difference.mean <= ends[1] <= found.difference.high


@given(outcomes, margins, margins)
@examples(60)
def test_both_directions_are_alike_and_a_larger_margin_is_shown_sooner(rows, one, other):
    a, b, instances = arrays(rows)
    there, back = equivalence(a, b, instances, margin=one), equivalence(b, a, instances, margin=one)
    assert there.p_value == (None if back.p_value is None else pytest.approx(back.p_value))
    assume(there.p_value is not None)
    assert there.difference.low == pytest.approx(-back.difference.high)
    small, large = (equivalence(a, b, instances, margin=margin).p_value for margin in sorted((one, other)))
    assert large <= small + 1e-12


@given(outcomes)
@examples(40)
def test_the_interval_is_nowhere_narrower_than_that_of_the_paired_difference(rows):
    found, usual = equivalence(*arrays(rows), margin=MARGIN).difference, paired_difference(*arrays(rows))
    assert found.mean == usual.mean
    if usual.low is not None:
        assert found.low <= usual.low and usual.high <= found.high


def test_the_repeats_of_an_instance_count_once():
    a, b = np.array([1.0, 0.0, 1.0, 1.0] * 8), np.ones(32)
    once = equivalence(a, b, margin=MARGIN)
    five = equivalence(np.repeat(a, 5), np.repeat(b, 5), np.repeat(np.arange(32), 5), margin=MARGIN)
    assert five.inner.low == pytest.approx(once.inner.low, abs=0.02)
    assert five.p_value == pytest.approx(once.p_value, abs=0.02)


def test_harm_with_one_trial_an_instance_is_the_exact_sign_test():
    a, b = np.array([0, 0, 0, 0, 1, 1, 0, 1]), np.array([1, 1, 1, 1, 0, 1, 0, 1])
    found = harm(a, b, np.arange(8), np.random.default_rng(0))
    assert found == pytest.approx(stats.binomtest(4, 5, alternative="greater").pvalue)
    assert harm(b, a, np.arange(8), np.random.default_rng(0)) > 0.5
    assert harm([], [], [], np.random.default_rng(0)) is None


def test_equal_policies_are_called_harmed_in_no_more_than_one_of_twenty_samples():
    rng, draws = np.random.default_rng(1), 200
    harmed = 0
    for _ in range(draws):
        instance = rng.random(12)
        a, b = (rng.random((3, 12)) < instance).ravel(), (rng.random((3, 12)) < instance).ravel()
        harmed += harm(a, b, np.tile(np.arange(12), 3), rng) < 0.05
    assert harmed <= stats.binom.ppf(0.9999, draws, 0.05)


@pytest.mark.parametrize("margin", [0.0, 1.0, -0.1, float("nan")])
def test_a_margin_that_makes_no_sense_is_refused(margin):
    with pytest.raises(ValueError, match=r"margin: got .*, expected a number between 0 and 1"):
        equivalence([1.0, 0.0], [1.0, 1.0], margin=margin)
