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
    running_means,
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
                "progress": None if spl is None else min(1.0, spl + 0.1),
                "ndtw": spl if base_id == "x0" else None,
                "collisions": None if spl is None else 2,
                "success": None if spl is None else float(spl > 0.0),
                "outcome": "VOID" if spl is None else ("SUCCESS" if spl else "POLICY_FAULT"),
                "setup_cost": cost,
                "setup_metres": cost,
                "setup_seconds": 10.0 * cost,
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

SYMBOLS = {"LB1": "ΔLB1", "SB1": "ΔSB1"}


def test_a_row_counts_trials_instances_faults_voids_and_cost():
    base, lb1, sb1, every = summary_rows(TABLE, SYMBOLS, {"LB1": 1, "SB1": 3}, "spl", "p")
    assert (base.trials, base.instances, base.void, base.cost) == (3, 3, 1, 4.5)
    assert base.spl.mean == pytest.approx(0.7)
    assert (lb1.trials, lb1.instances, lb1.skipped, lb1.policy_faults) == (3, 2, 1, 1)
    assert (sb1.trials, sb1.skipped, sb1.spl, sb1.success) == (0, 3, Estimate(), Estimate())
    assert (every.perturbation, every.trials, every.void, every.skipped) == ("all", 6, 1, 4)
    assert every.cost == pytest.approx(4.7)


def test_the_difference_is_taken_within_each_test_instance():
    lb1 = summary_rows(TABLE, SYMBOLS, {}, "spl", "p")[1]
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


def test_a_row_has_every_score_and_its_metres_and_seconds():
    base, lb1, sb1, every = summary_rows(TABLE, SYMBOLS, {}, "spl", "p")
    assert [row.symbol for row in (base, lb1, sb1, every)] == ["base", "ΔLB1", "ΔSB1", "all"]
    assert base.progress.mean == pytest.approx(0.8)
    assert base.score("progress") == base.progress
    assert base.score("spl") == base.spl
    assert base.ndtw == Estimate(0.8), "only one base trial has a reference path"
    assert (base.collisions, sb1.collisions) == (2.0, None)
    assert (base.metres, base.seconds) == (4.5, 45.0)
    assert (base.metres_per_trial, base.seconds_per_trial) == (1.5, 15.0)
    assert (sb1.metres_per_trial, sb1.seconds_per_trial) == (None, None)


def test_the_difference_is_that_of_the_metric_asked_for():
    lb1 = summary_rows(TABLE, SYMBOLS, {}, "progress", "p")[1]
    assert lb1.difference.mean == pytest.approx(((0.6 + 0.8) / 2 - 0.9 + 0.1 - 0.5) / 2)


@given(st.lists(st.none() | st.floats(0.0, 1.0), max_size=12))
def test_a_running_mean_is_the_mean_of_what_is_known_so_far(values):
    for number, mean in enumerate(running_means(values), start=1):
        known = [v for v in values[:number] if v is not None]
        assert mean == pytest.approx(np.mean(known)) if known else np.isnan(mean)
