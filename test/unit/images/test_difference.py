"""The size of the change between two pictures."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from robocontrast_ros.images.difference import LEAST, visual_change

PICTURES = arrays(np.uint8, (4, 5, 3))
BODIES = arrays(np.dtype("<U1"), (4, 5), elements=st.sampled_from(["", "a", "b"]))


@given(PICTURES, BODIES)
def test_a_picture_does_not_differ_from_itself(picture, bodies):
    found = visual_change(picture, picture, bodies, bodies)
    assert (found.pixels, found.mean, found.bodies) == (0.0, 0.0, 0.0)


@given(PICTURES, PICTURES, BODIES, BODIES)
def test_it_is_the_same_both_ways_and_a_share(first, second, shown, shows):
    found = visual_change(first, second, shown, shows)
    assert found == visual_change(second, first, shows, shown)
    assert all(0.0 <= value <= 1.0 for value in vars(found).values())
    assert (found.mean == 0.0) == bool((first == second).all())


def test_one_pixel_that_changes_by_more_than_noise_counts():
    before, bodies = np.zeros((2, 2, 3), np.uint8), np.full((2, 2), "a")
    after, shows = before.copy(), bodies.copy()
    after[0, 0], after[1, 1, 2], shows[0, 0] = LEAST + 1, LEAST, "b"
    found = visual_change(before, after, bodies, shows)
    assert found.pixels == 0.25 and found.bodies == 0.25
    assert found.mean == pytest.approx((3 * (LEAST + 1) + LEAST) / 12 / 255)


def test_pictures_of_two_sizes_are_refused():
    bodies = np.full((2, 2), "a")
    with pytest.raises(ValueError, match="two of one size"):
        visual_change(np.zeros((2, 2, 3), np.uint8), np.zeros((3, 2, 3), np.uint8), bodies, bodies)
