"""Many tests at once, against the procedure's definition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from robocontrast_ros.statistics.multiplicity import holm


def test_holms_procedure_multiplies_the_least_p_value_most_and_keeps_the_order():
    # By the definition: 0.005 x 4, 0.01 x 3, 0.03 x 2, and no less than the one before: 0.04 x 1 becomes 0.06.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert holm([0.6, 0.7]) == pytest.approx((1.0, 1.0))


@given(st.lists(st.floats(0.0, 1.0), min_size=2, max_size=20))
def test_it_is_that_of_statsmodels_to_the_last_bit(p_values):
    assert holm(p_values) == tuple(multipletests(p_values, method="holm")[1].tolist())


def test_where_nothing_was_tested_nothing_is_adjusted():
    assert holm([None, 0.02, None, 0.03]) == (None, pytest.approx(0.04), None, pytest.approx(0.04))
    assert holm([None, 0.02]) == (None, None), "one test needs no adjustment"
    assert holm([]) == ()
