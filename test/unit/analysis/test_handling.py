"""The measured times of a person beside the model of seconds_to_move."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robocontrast_ros.analysis.estimates.handling import LEAST_SET_UPS, handling_of
from robocontrast_ros.analysis.tables.summary import handling_words
from robocontrast_ros.domain import Instruction, Pose, Scene, SetupMove, TestInstance, Trial
from robocontrast_ros.runs.events import SetUp
from robocontrast_ros.strategies.effort import HandlingTimes, SecondsToMove, handled

USUAL = HandlingTimes()
TRIAL = Trial(0, "x", "base", 0, TestInstance("x", "line", Instruction("go", "line"), Scene()), 1)

speeds, times = st.floats(0.2, 3.0), st.floats(0.0, 60.0)


def drawn_moves(rng: np.random.Generator) -> tuple[SetupMove, ...]:
    """Return one to four objects that are carried through a room."""
    places = rng.uniform(0.0, 4.0, (int(rng.integers(1, 5)), 2, 2))
    return tuple(
        SetupMove(f"o{k}", "box", Pose.planar(*start, 0.0), Pose.planar(*goal, 0.0))
        for k, (start, goal) in enumerate(places.tolist())
    )


def timed(moves: tuple[SetupMove, ...], measured: float | None) -> SetUp:
    return SetUp(TRIAL, Scene(), Scene(), moves, 0.0, Scene(), False, 0.0, measured)


def by_a_person(person: HandlingTimes, number: int = 30, noise: float = 0.0, seed: int = 0) -> list[SetUp]:
    """Return set-ups by a person with these times, and with noise [s]."""
    rng = np.random.default_rng(seed)
    model, found = SecondsToMove(person), []
    for _ in range(number):
        moves = drawn_moves(rng)
        found.append(timed(moves, model.cost(moves) + noise * float(rng.standard_normal())))
    return found


@given(speeds, speeds, times, times)
def test_the_times_of_a_person_who_does_as_the_model_says_are_found_again(walking, carrying, taking, placing):
    person = HandlingTimes(walking_speed=walking, carrying_speed=carrying, taking=taking, placing=placing)
    found = handling_of(by_a_person(person), USUAL, None)
    assert found.fitted.walking_speed == pytest.approx(walking, rel=1e-4)
    assert found.fitted.carrying_speed == pytest.approx(carrying, rel=1e-4)
    assert found.fitted.taking + found.fitted.placing == pytest.approx(taking + placing, abs=1e-3)
    assert found.residual == pytest.approx(0.0, abs=1e-3)


def test_a_person_who_is_slower_than_the_model_by_ten_seconds_an_object_is_slower_in_the_difference():
    slow = HandlingTimes(taking=USUAL.taking + 10.0)
    set_ups = by_a_person(slow, noise=2.0)
    found = handling_of(set_ups, USUAL, None)
    objects = sum(handled(event.moves, None).objects for event in set_ups) / len(set_ups)
    assert found.difference.low < 10.0 * objects < found.difference.high
    assert found.difference.low > 0.0
    assert found.residual == pytest.approx(2.0, rel=0.5)
    assert "30 timed set-ups" in handling_words(found) and "taking" in handling_words(found)


def test_a_person_who_carries_at_no_cost_is_given_the_greatest_speed_and_no_other():
    found = handling_of([timed(event.moves, 10.0) for event in by_a_person(USUAL)], USUAL, None)
    assert (found.fitted.walking_speed, found.fitted.carrying_speed) == pytest.approx((5.0, 5.0), rel=1e-3)
    assert found.residual > 1.0


def test_few_set_ups_and_set_ups_that_are_all_alike_are_compared_but_not_fitted():
    few = handling_of(by_a_person(USUAL, LEAST_SET_UPS - 1), USUAL, None)
    assert few.set_ups == LEAST_SET_UPS - 1 and few.fitted is None
    alike = handling_of([timed(drawn_moves(np.random.default_rng(1)), 20.0)] * 10, USUAL, None)
    assert alike.set_ups == 10 and alike.fitted is None
    assert "fits" not in handling_words(alike)


def test_without_a_person_and_without_anything_to_move_there_is_no_comparison():
    moves = drawn_moves(np.random.default_rng(2))
    assert handling_of([timed(moves, None), timed((), 3.0)], USUAL, None) is None
