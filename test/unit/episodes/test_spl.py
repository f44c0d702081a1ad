"""Progress-to-goal and SPL as numbers."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from robocontrast_ros.episodes.judging import progress_to_goal
from robocontrast_ros.episodes.scoring import success_weighted_path_length

lengths = st.floats(0.0, 1e3)
positive = st.floats(1e-6, 1e3)


@given(distance=lengths, start=lengths)
def test_progress_lies_between_zero_and_one(distance, start):
    assert 0.0 <= progress_to_goal(distance, start) <= 1.0


@given(start=positive, near=st.floats(0.0, 1.0), far=st.floats(0.0, 1.0))
def test_progress_never_falls_when_the_distance_does(start, near, far):
    assume(near <= far)
    assert progress_to_goal(near * start, start) >= progress_to_goal(far * start, start)


@given(start=positive)
def test_progress_is_zero_at_the_start_and_one_at_the_goal(start):
    assert progress_to_goal(start, start) == 0.0
    assert progress_to_goal(0.0, start) == 1.0


def test_moving_away_from_the_goal_is_no_negative_progress():
    assert progress_to_goal(0.9, 0.3) == 0.0


def test_a_start_at_the_goal_is_full_progress_until_the_goal_is_lost():
    assert progress_to_goal(0.0, 0.0) == 1.0
    assert progress_to_goal(0.01, 0.0) == 0.0


@pytest.mark.parametrize("bad", [math.nan, math.inf, -0.1])
def test_a_distance_that_is_no_distance_is_refused(bad):
    with pytest.raises(ValueError, match="expected a finite number of at least 0 m"):
        progress_to_goal(bad, 1.0)
    with pytest.raises(ValueError, match="at the start"):
        progress_to_goal(1.0, bad)


@given(success=st.booleans(), path=lengths, optimal=lengths)
def test_spl_lies_between_zero_and_success(success, path, optimal):
    assert 0.0 <= success_weighted_path_length(success, path, optimal) <= float(success)


@given(success=st.booleans(), optimal=lengths, share=st.floats(0.0, 1.0))
def test_spl_is_success_when_the_path_is_no_longer_than_the_optimal_one(success, optimal, share):
    assert success_weighted_path_length(success, share * optimal, optimal) == float(success)


@given(optimal=positive, times=st.floats(1.0, 1e3))
def test_spl_of_a_success_is_the_share_of_the_path_that_was_needed(optimal, times):
    assert success_weighted_path_length(True, times * optimal, optimal) == pytest.approx(1.0 / times)


@given(path=lengths, longer=lengths, optimal=positive)
def test_spl_never_rises_with_the_length_of_the_path(path, longer, optimal):
    assume(path <= longer)
    assert success_weighted_path_length(True, longer, optimal) <= success_weighted_path_length(True, path, optimal)


def test_where_no_motion_was_needed_only_a_robot_that_stood_still_scores():
    assert success_weighted_path_length(True, 0.0, 0.0) == 1.0
    assert success_weighted_path_length(True, 0.2, 0.0) == 0.0


@pytest.mark.parametrize("success", [True, False])
def test_spl_is_unknown_for_successes_and_failures_alike_when_the_optimal_path_is(success):
    assert math.isnan(success_weighted_path_length(success, 0.3, math.nan))


@pytest.mark.parametrize(
    ("path", "optimal"), [(-1.0, 1.0), (math.nan, 1.0), (math.inf, 1.0), (1.0, -1.0), (1.0, math.inf)]
)
def test_a_length_that_is_no_length_is_refused(path, optimal):
    with pytest.raises(ValueError, match="path length: got"):
        success_weighted_path_length(True, path, optimal)
