"""Means, intervals, paired differences and running estimates."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robocontrast_ros.analysis.summary import (
    Estimate,
    mean_estimate,
    running_estimates,
    success_estimate,
    summary_rows,
)

scores = st.lists(st.floats(0.0, 1.0), min_size=2, max_size=12)


def table(*rows):
    """Make a table of (base_id, perturbation, spl or None when void, cost)."""
    costs = np.cumsum([cost for *_, cost in rows]).tolist()
    return pl.DataFrame(
        [
            {
                "base_id": base_id,
                "perturbation": perturbation,
                "counts": spl is not None,
                "spl": spl,
                "success": None if spl is None else float(spl > 0.0),
                "outcome": "VOID" if spl is None else ("SUCCESS" if spl else "POLICY_FAULT"),
                "setup_cost": cost,
                "cumulative_cost": total,
            }
            for (base_id, perturbation, spl, cost), total in zip(rows, costs, strict=True)
        ]
    )


TABLE = table(
    ("x0", "base", 0.8, 1.0),
    ("x0", "LB1", 0.5, 0.0),
    ("x0", "LB1", 0.7, 0.2),
    ("x1", "base", None, 1.0),
    ("x1", "base", 0.4, 0.5),
    ("x1", "LB1", 0.0, 0.0),
    ("x2", "base", 0.9, 2.0),
)


def test_a_row_counts_trials_instances_faults_voids_and_cost():
    base, lb1, sb1, every = summary_rows(TABLE, ("LB1", "SB1"), {"LB1": 1, "SB1": 3})
    assert (base.trials, base.instances, base.void, base.cost) == (3, 3, 1, 4.5)
    assert base.spl.mean == pytest.approx(0.7)
    assert (lb1.trials, lb1.instances, lb1.skipped, lb1.policy_faults) == (3, 2, 1, 1)
    assert (sb1.trials, sb1.skipped, sb1.spl, sb1.success) == (0, 3, Estimate(), Estimate())
    assert (every.perturbation, every.trials, every.void, every.skipped) == ("all", 6, 1, 4)
    assert every.cost == pytest.approx(4.7)


def test_the_difference_is_taken_within_each_test_instance():
    lb1 = summary_rows(TABLE, ("LB1",), {})[1]
    # x0: (0.5 + 0.7) / 2 - 0.8; x1: 0.0 - 0.4; x2 has no LB1.
    assert lb1.pairs == 2
    assert lb1.difference.mean == pytest.approx((-0.2 - 0.4) / 2)
    assert lb1.difference.low == pytest.approx(-0.4)
    assert lb1.difference.high == pytest.approx(-0.2)


def test_the_interval_of_success_is_wilsons():
    # Newcombe (1998), table I: 81 of 263, 95 % Wilson without continuity correction.
    estimate = success_estimate(81, 263)
    assert estimate.low == pytest.approx(0.2553, abs=5e-5)
    assert estimate.high == pytest.approx(0.3662, abs=5e-5)
    assert success_estimate(0, 0) == Estimate()


@given(scores)
@settings(max_examples=25, deadline=None)
def test_the_bootstrap_interval_holds_the_mean_and_comes_out_the_same_twice(values):
    data = np.array(values), np.array([f"x{i}" for i in range(len(values))])
    estimate = mean_estimate(*data)
    assert estimate.low - 1e-12 <= estimate.mean <= estimate.high + 1e-12
    assert estimate == mean_estimate(*data)


def test_repeats_of_the_same_instances_do_not_make_the_interval_narrower():
    values, groups = np.array([0.1, 0.9, 0.4, 0.6]), np.array(["a", "b", "c", "d"])
    once, thrice = mean_estimate(values, groups), mean_estimate(np.repeat(values, 3), np.repeat(groups, 3))
    assert (thrice.low, thrice.high) == pytest.approx((once.low, once.high))


def test_one_test_instance_alone_has_a_mean_and_no_interval():
    assert mean_estimate(np.array([0.3, 0.5]), np.array(["x0", "x0"])) == Estimate(0.4)
    assert mean_estimate(np.array([]), np.array([])) == Estimate()


def test_the_running_estimate_counts_what_was_run_so_far_and_leaves_void_attempts_out():
    running = running_estimates(TABLE)
    assert running["cumulative_cost"].to_list() == pytest.approx([1.0, 1.0, 1.2, 2.7, 2.7, 4.7])
    assert running["mean_spl"].to_list() == pytest.approx([0.8, 0.65, 2.0 / 3, 0.6, 0.48, 0.55])
    assert running["mean_spl_base"].to_list() == pytest.approx([0.8, 0.8, 0.8, 0.6, 0.6, 0.7])
