"""What stamps say about the clock that made them, whenever their messages come."""

from __future__ import annotations

import random

import pytest

from robocontrast_ros.domain import nanoseconds, seconds
from robocontrast_ros.episodes.clocks import StampClock

APART = -1.7e9
"""Of a steady clock that began at 0, and stamps of the time of day [s]."""


def play(clock: StampClock, begin: float, end: float, ahead: float, late=lambda now: 0.0, rate: float = 50.0) -> None:
    """Have messages come, stamped by a clock that is ahead [s] and each late [s]."""
    for k in range(round(begin * rate), round(end * rate)):
        now = k / rate
        clock.take(nanoseconds(now - APART + ahead), nanoseconds(now + late(now)))


@pytest.mark.parametrize("rate", [500.0, 30.0, 5.0])
def test_a_clock_that_jumps_ahead_by_less_than_a_second_is_told_once_and_by_how_much(rate):
    clock, late = StampClock(), random.Random(1)
    play(clock, 0.0, 10.0, 0.0, lambda now: 0.02 * late.random(), rate)
    assert clock.set_by() == 0
    play(clock, 10.0, 11.0, 0.3, rate=rate)
    assert seconds(clock.set_by()) == pytest.approx(0.3, abs=0.02)
    play(clock, 11.0, 30.0, 0.3, rate=rate)
    assert clock.set_by() == 0
    assert seconds(clock.least) == pytest.approx(APART - 0.3)


def test_a_clock_that_goes_back_is_told_and_its_distance_is_known_anew():
    clock = StampClock()
    play(clock, 0.0, 5.0, 0.0)
    play(clock, 5.0, 6.0, -0.4)
    assert seconds(clock.set_by()) == pytest.approx(-0.38)
    assert seconds(clock.least) == pytest.approx(APART + 0.4)


def test_messages_that_are_late_for_seconds_are_no_clock_that_was_set():
    clock = StampClock()
    # This machine stands still from 3 to 5 s, and then takes all that has come meanwhile.
    play(clock, 0.0, 10.0, 0.0, lambda now: max(5.0 - now, 0.0) if now >= 3.0 else 0.0)
    # The network is slow from the 12th to the 16th second.
    play(clock, 10.0, 20.0, 0.0, lambda now: 0.5 if 12.0 <= now < 16.0 else 0.0)
    assert clock.set_by() == 0
    assert seconds(clock.least) == pytest.approx(APART)


def test_a_clock_that_drifts_is_not_set_and_its_distance_follows():
    clock = StampClock()
    for k in range(6000):
        now = k / 10.0
        clock.take(nanoseconds(now * (1.0 + 1e-3) - APART), nanoseconds(now))  # 0.6 s ahead in ten minutes
    assert clock.set_by() == 0
    assert seconds(clock.least) == pytest.approx(APART - 0.6, abs=1e-3)
    for k in range(6000, 12_000):
        now = k / 10.0
        clock.take(nanoseconds(now - APART + 0.6 - 1e-3 * (now - 600.0)), nanoseconds(now))
    assert clock.set_by() == 0
    assert seconds(clock.least) == pytest.approx(APART, abs=0.05), "of the last half minute"
