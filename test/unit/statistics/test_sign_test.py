"""The sequential sign test: its exact error rate, what it looks at, and how many pairs it takes."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from robocontrast_ros.statistics.sequential import BettingTest
from robocontrast_ros.statistics.sign_test import SequentialSignTest

sys.path.append(str(Path(__file__).resolve().parents[3]))

from benchmark.sequential_comparison import STEP, betting_answers, by_betting, by_signs, chances, of_pattern

PAIRS = st.lists(st.tuples(st.sampled_from([0.0, 1.0]), st.sampled_from([0.0, 1.0])), max_size=60)
RATES = st.floats(0.01, 0.4)


def seen(pairs, error_rate=0.05, most=60):
    test = SequentialSignTest(error_rate, most)
    for first, second in pairs:
        test.update(first, second)
    return test


def of_signs(signs, error_rate, most):
    """Return the test that has seen pairs in which the first policy did better (1), the second (-1) or neither (0)."""
    return seen([(float(sign > 0), float(sign < 0)) for sign in signs], error_rate, most)


@given(st.lists(st.booleans(), min_size=1, max_size=9), RATES, st.integers(1, 12))
@examples(40)
def test_given_which_pairs_count_equal_policies_are_told_apart_as_often_as_it_says_and_no_oftener(
    counts, error_rate, most
):
    tests = [
        of_signs(signs, error_rate, most)
        for signs in itertools.product(*[(1, -1) if counting else (0,) for counting in counts])
    ]
    answers = [test.answer for test in tests]
    assert np.mean(np.abs(answers)) == pytest.approx(tests[0].spent, abs=1e-12)
    assert sum(answers) == 0
    assert tests[0].spent <= error_rate


@pytest.mark.parametrize("error_rate", [0.05, 0.2])
def test_the_error_rate_holds_for_every_share_of_pairs_that_count(error_rate):
    most = 7
    sequences = list(itertools.product((1, 0, -1), repeat=most))
    answered = np.array([of_signs(signs, error_rate, most).answer != 0 for signs in sequences])
    zeros = np.array([signs.count(0) for signs in sequences])
    errors = [float(answered @ ((1.0 - q) ** zeros * (q / 2.0) ** (most - zeros))) for q in np.linspace(0, 1, 101)]
    assert max(errors) <= error_rate
    assert max(errors) > 0.6 * error_rate


@pytest.mark.parametrize("most", [50, 200, 1000])
@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_with_many_pairs_nearly_all_of_the_error_rate_is_used_and_never_more(most, share):
    rng = np.random.default_rng(most)
    signs = np.where(rng.random(most) < share, rng.choice([-1, 1], most), 0)
    spent = of_signs(signs, 0.05, most).spent
    assert spent <= 0.05
    assert spent > 0.05 * (1.0 - 3.0 / np.sqrt(max(1, np.count_nonzero(signs))))


@given(PAIRS, RATES)
@settings(deadline=None)
def test_pairs_that_came_out_alike_count_by_their_number_alone(pairs, error_rate):
    other = [(1.0 - a, 1.0 - b) if a == b else (a, b) for a, b in pairs]
    one, same = seen(pairs, error_rate), seen(other, error_rate)
    assert vars(one) | {"_apart": 0} == vars(same) | {"_apart": 0}


@given(PAIRS, RATES)
@settings(deadline=None)
def test_policies_that_change_places_change_the_sign_of_the_answer(pairs, error_rate):
    one, swapped = seen(pairs, error_rate), seen([(b, a) for a, b in pairs], error_rate)
    assert swapped.answer == -one.answer
    assert (swapped.first_alone, swapped.second_alone) == (one.second_alone, one.first_alone)
    assert (swapped.limit, swapped.spent, swapped.number) == (one.limit, one.spent, one.number)


@given(PAIRS, PAIRS, RATES)
@settings(deadline=None)
def test_an_answer_stays(pairs, more, error_rate):
    answer = seen(pairs, error_rate).answer
    assert not answer or seen([*pairs, *more], error_rate).answer == answer


def test_the_error_rate_holds_when_more_pairs_come_than_were_said():
    spent = [of_signs([1] * number, 0.05, 10).spent for number in (10, 20, 200)]
    assert spent == sorted(spent) and spent[-1] <= 0.05


def test_six_pairs_that_all_go_one_way_are_enough_where_there_are_eight():
    # 2 / 2**6 = 0.031 may be spent by then, 2 / 2**5 = 0.0625 never.
    assert [of_signs([-1] * number, 0.05, 8).answer for number in (5, 6)] == [0, -1]
    assert stats.binomtest(0, 6).pvalue <= 0.05 < stats.binomtest(0, 5).pvalue


def test_at_half_against_seventy_per_cent_it_takes_as_few_pairs_as_step_and_fewer_than_betting():
    alone = chances(0.5, 0.7, 0.0)
    pairs, error, found, wrong = by_signs(200, *alone, 300, np.random.default_rng(0))
    step_pairs, step_found = STEP[200, 0.5, 0.7, 0.0]
    betting, betting_found, _ = by_betting(200, *alone)
    assert pairs < step_pairs + 2.0 * error
    assert found > step_found - 0.02
    assert betting == pytest.approx(102.0, abs=0.5) and betting > pairs + 10.0
    assert found > betting_found + 0.05
    assert wrong < 0.001


def test_the_benchmark_sums_over_what_the_test_answers():
    counts = np.array([True, False, True, True, True, False, True, True, True])
    pairs, right, wrong = of_pattern(counts, 0.8)
    expected = np.zeros(3)
    for signs in itertools.product((1, -1), repeat=7):
        probability = 0.8 ** signs.count(1) * 0.2 ** signs.count(-1)
        test, steps = SequentialSignTest(0.05, len(counts)), iter(signs)
        for counting in counts:
            sign = next(steps) if counting else 0
            test.update(float(sign < 0), float(sign > 0))
            if test.answer:
                break
        expected += probability * np.array([test.number, test.answer == -1, test.answer == 1])
    assert (pairs, right, wrong) == pytest.approx(tuple(expected))


@pytest.mark.parametrize("seed", range(6))
def test_the_benchmark_s_table_says_what_the_betting_test_does(seed):
    rng, test, answers = np.random.default_rng(seed), BettingTest(0.05, -1.0, 1.0), betting_answers(60)
    first = second = 0
    answer = 0
    for sign in rng.choice([-1, 0, 1], 40, p=[0.05, 0.2, 0.75] if seed % 2 else [0.75, 0.2, 0.05]):
        test.update(float(sign))
        first, second = first + (sign > 0), second + (sign < 0)
        answer = answer or int(answers[first, second])
        low, high = test.interval
        assert answer == (1 if low > 0.0 else -1 if high < 0.0 else 0)
    assert answer


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="error_rate: got 1"):
        SequentialSignTest(1.0, 10)
    with pytest.raises(ValueError, match="most: got 0"):
        SequentialSignTest(0.05, 0)
    with pytest.raises(ValueError, match=r"success: got 0\.5, expected 0 or 1"):
        seen([(1.0, 0.5)])
