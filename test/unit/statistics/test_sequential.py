"""The betting test: its error rate while one looks after every value, and its closed form."""

from __future__ import annotations

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import brentq
from scipy.special import betainc, betaln

from robocontrast_ros.statistics.sequential import BettingTest


def seen(values, error_rate=0.05, low=0.0, high=1.0):
    test = BettingTest(error_rate, low, high)
    for value in values:
        test.update(value)
    return test


def log_capital(successes, failures, m):
    """Return the mixture of binomial likelihood ratios over chances above m, uniform: a beta integral."""
    a, b = successes + 1, failures + 1
    above = np.log1p(-betainc(a, b, m)) + betaln(a, b) - np.log1p(-m)
    return above - successes * np.log(m) - failures * np.log1p(-m)


@pytest.mark.parametrize(("successes", "failures"), [(9, 3), (12, 0), (30, 10), (70, 30)])
@pytest.mark.parametrize("error_rate", [0.05, 0.01])
def test_for_successes_the_lower_end_is_where_the_beta_binomial_mixture_says(successes, failures, error_rate):
    # All at once: the running intersection has seen no other order of them.
    values = [0.0] * failures + [1.0] * successes
    wanted = np.log(2.0 / error_rate)
    share = successes / (successes + failures)
    low = brentq(lambda m: log_capital(successes, failures, m) - wanted, 1e-9, share - 1e-9)
    assert seen(values, error_rate).interval[0] == pytest.approx(low, abs=1e-6)


def test_it_is_nearly_as_narrow_as_robbins_confidence_sequence():
    # Robbins (1970): (n + 1) times the binomial probability of what was seen exceeds the error rate.
    rng = np.random.default_rng(0)
    values = (rng.random(120) < 0.7).astype(float)
    grid = np.linspace(0.0, 1.0, 2001)
    robbins = grid[121 * stats.binom.pmf(values.sum(), 120, grid) > 0.05]
    low, high = seen(values).interval
    assert high - low < 1.1 * np.ptp(robbins)


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=25))
@examples(25)
def test_the_confidence_sequence_never_grows_and_is_the_same_on_every_scale(values):
    test, scaled = BettingTest(0.05), BettingTest(0.05, -2.0, 8.0)
    before = (0.0, 1.0)
    for value in values:
        test.update(value)
        scaled.update(-2.0 + 10.0 * value)
        low, high = test.interval
        assert before[0] <= low and high <= before[1]
        before = low, high
    assert scaled.interval == pytest.approx((-2.0 + 10.0 * low, -2.0 + 10.0 * high), abs=1e-5)
    mirrored = seen([1.0 - value for value in values])
    assert mirrored.interval == pytest.approx((1.0 - high, 1.0 - low), abs=1e-6)
    assert test.number == len(values)
    assert not test.rejects(0.5 * (low + high))
    if low > 0.0:
        assert test.rejects(0.5 * low)


@pytest.mark.parametrize("kind", ["success", "rare", "spl"])
def test_whoever_stops_when_it_suits_them_is_wrong_no_oftener_than_the_error_rate(kind):
    rng, draws, wrong = np.random.default_rng(4), 60, 0
    share = 0.95 if kind == "rare" else 0.6
    mean = share * (0.8 if kind == "spl" else 1.0)
    for _ in range(draws):
        values = (rng.random(40) < share) * (rng.beta(8, 2, 40) if kind == "spl" else 1.0)
        # As the sequence never grows, what is excluded once is excluded at the end.
        wrong += seen(values, 0.1).rejects(mean)
    assert wrong <= stats.binom.ppf(1.0 - 1e-3, draws, 0.1)


def test_a_clear_case_is_decided_soon_and_a_certain_one_too():
    test = BettingTest(0.05)
    while not test.rejects(0.5):
        test.update(1.0)
    # Eight heads in a row; one who is told the number beforehand needs six (two-sided).
    assert 6 <= test.number <= 10


def test_equal_values_leave_them_possible():
    low, high = seen([0.7] * 40).interval
    assert low < 0.7 < high
    assert high - low < 0.25


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match=r"error_rate: got 1.5"):
        BettingTest(1.5)
    with pytest.raises(ValueError, match=r"bounds: got \[1.0, 0.0\]"):
        BettingTest(0.05, 1.0, 0.0)
    with pytest.raises(ValueError, match=r"value: got 1.5, expected one in"):
        BettingTest(0.05).update(1.5)
    with pytest.raises(ValueError, match="value: got nan"):
        BettingTest(0.05).update(float("nan"))
