"""nDTW against all ways of warping, and what it must not depend on."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from robocontrast_ros.episodes.scoring import normalised_dtw
from robocontrast_ros.episodes.scoring.ndtw import SPACING, dynamic_time_warping, resampled

coordinates = st.floats(-3.0, 3.0)
points = st.tuples(coordinates, coordinates)
short = st.lists(points, min_size=1, max_size=4)
paths = st.lists(points, min_size=1, max_size=8)


def warpings(n: int, m: int) -> Iterator[list[tuple[int, int]]]:
    """Enumerate every walk through both series, one step at a time in either or in both."""
    if (n, m) == (1, 1):
        yield [(0, 0)]
        return
    for i, j in ((n - 1, m), (n, m - 1), (n - 1, m - 1)):
        if i > 0 and j > 0:
            for walk in warpings(i, j):
                yield [*walk, (n - 1, m - 1)]


@given(a=short, b=short)
@settings(deadline=None)
def test_dtw_is_the_least_of_all_warpings(a, b):
    least = min(math.fsum(math.dist(a[i], b[j]) for i, j in walk) for walk in warpings(len(a), len(b)))
    assert dynamic_time_warping(a, b) == pytest.approx(least, abs=1e-12)


@given(path=paths, reference=paths, threshold=st.floats(0.05, 3.0))
@settings(deadline=None)
def test_ndtw_lies_between_zero_and_one(path, reference, threshold):
    assert 0.0 <= normalised_dtw(path, reference, threshold) <= 1.0


@given(path=paths, threshold=st.floats(0.05, 3.0))
@settings(deadline=None)
def test_the_reference_path_itself_scores_one(path, threshold):
    assert normalised_dtw(path, path, threshold) == 1.0


@given(path=paths, times=st.integers(1, 9), waiting=st.integers(0, 5))
@settings(deadline=None)
def test_neither_the_control_rate_nor_waiting_changes_it(path, times, waiting):
    reference = [(0.0, 0.0), (2.0, 0.0), (2.0, 1.5)]
    dense = [path[0]]
    for a, b in itertools.pairwise(path):
        dense += [tuple(np.add(a, (np.subtract(b, a)) * k / times).tolist()) for k in range(1, times + 1)]
    dense += [path[-1]] * waiting
    length = math.fsum(math.dist(a, b) for a, b in itertools.pairwise(path))
    # Where a length is a whole number of spacings to within its rounding, either number of points is right.
    assume(abs(length / SPACING - round(length / SPACING)) > 1e-6 or length == 0.0)
    assert normalised_dtw(dense, reference, 0.5) == pytest.approx(normalised_dtw(path, reference, 0.5), abs=1e-9)


@given(offset=st.floats(0.0, 5.0), threshold=st.floats(0.1, 3.0))
def test_a_path_beside_a_straight_reference_scores_by_its_distance_to_it(offset, threshold):
    straight, beside = [(0.0, 0.0), (3.0, 0.0)], [(0.0, offset), (3.0, offset)]
    assert normalised_dtw(beside, straight, threshold) == pytest.approx(math.exp(-offset / threshold))


def test_a_robot_that_does_not_move_scores_by_the_mean_distance_to_the_reference():
    stayed = normalised_dtw([(0.0, 0.0)], [(0.0, 0.0), (1.0, 0.0)], 0.5)
    assert stayed == pytest.approx(math.exp(-(0.0 + 0.25 + 0.5 + 0.75 + 1.0) / (5 * 0.5)))


@given(path=paths)
def test_resampled_points_keep_the_ends_and_are_at_most_the_spacing_apart(path):
    found = resampled(path)
    assert found[0].tolist() == pytest.approx(list(path[0]), abs=1e-9)
    assert found[-1].tolist() == pytest.approx(list(path[-1]), abs=1e-9)
    assert np.all(np.linalg.norm(np.diff(found, axis=0), axis=1) <= SPACING + 1e-8)


@pytest.mark.parametrize("threshold", [0.0, -1.0, math.nan, math.inf])
def test_a_threshold_that_is_none_is_refused(threshold):
    with pytest.raises(ValueError, match="threshold of nDTW: got"):
        normalised_dtw([(0.0, 0.0)], [(0.0, 0.0)], threshold)
