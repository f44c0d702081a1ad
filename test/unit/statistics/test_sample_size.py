"""Sample size for a target half-width: the least that reaches it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from robocontrast_ros.statistics.clusters import cluster_mean
from robocontrast_ros.statistics.sample_size import further_instances


def test_it_is_near_the_number_of_the_textbooks():
    # Cochran (1977), Sampling Techniques, section 4.4: 385 trials for ±0.05 at a share of a half, 1068 for ±0.03.
    values = np.tile([0.0, 1.0], 10)
    for half_width, published in ((0.05, 385), (0.03, 1068)):
        assert 20 + further_instances(values, np.arange(20), half_width) == pytest.approx(published, rel=0.02)


@given(st.lists(st.floats(0.0, 1.0), min_size=6, max_size=30), st.floats(0.02, 0.4))
@examples(40)
def test_one_instance_less_would_not_do(values, half_width):
    clusters = np.arange(len(values)) // 3
    number = clusters[-1] + 1
    more = further_instances(values, clusters, half_width)
    reached = cluster_mean(values, clusters, times=(number + more) / number)
    assert reached.half_width <= half_width
    if more:
        assert cluster_mean(values, clusters, times=(number + more - 1) / number).half_width > half_width


def test_what_is_narrow_enough_takes_nothing_and_one_instance_tells_nothing():
    values = np.random.default_rng(0).random(60)
    assert further_instances(values, np.arange(60) // 5, 0.2) == 0
    assert further_instances([0.5, 0.7], [1, 1], 0.1) is None
    assert further_instances([], [], 0.1) is None
    for half_width in (0.0, -1.0, math.nan):
        with pytest.raises(ValueError, match="expected a positive number"):
            further_instances(values, np.arange(60), half_width)
