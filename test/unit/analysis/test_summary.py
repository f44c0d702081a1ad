"""Rows of a summary: what is counted, and which interval each mean has."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from robocontrast_ros.analysis.estimates.scores import score_mean
from robocontrast_ros.analysis.estimates.summary import summary_rows as rows_of
from robocontrast_ros.domain import find_spec
from robocontrast_ros.episodes.scoring import STANDARD_SPECS
from robocontrast_ros.statistics.clusters import cluster_mean, paired_difference
from robocontrast_ros.statistics.estimate import NO_ESTIMATE, Estimate
from robocontrast_ros.statistics.proportions import clopper_pearson, wilson
from robocontrast_ros.statistics.unpaired import unpaired_difference


def summary_rows(trials, symbols, skipped, *rest):
    """Return the rows of a table that has some of the standard scores."""
    return rows_of(trials, symbols, skipped, STANDARD_SPECS, *rest)


def table(*rows):
    """Make a table of (base_id, perturbation, spl or None when void, cost)."""
    costs = np.cumsum([cost for *_, cost in rows]).tolist()
    return pl.DataFrame(
        [
            {
                "base_id": base_id,
                "cluster": base_id,
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
    assert base.scores["spl"].mean == pytest.approx(0.7)
    assert (lb1.trials, lb1.instances, lb1.skipped, lb1.policy_faults) == (3, 2, 1, 1)
    assert (sb1.trials, sb1.skipped, sb1.scores["spl"], sb1.success) == (0, 3, NO_ESTIMATE, NO_ESTIMATE)
    assert (every.perturbation, every.trials, every.void, every.skipped) == ("all", 6, 1, 4)
    assert every.cost == pytest.approx(4.7)


def test_the_difference_is_taken_within_each_test_instance():
    lb1 = summary_rows(TABLE, SYMBOLS, {}, "spl", "p")[1]
    # x0: (0.5 + 0.7) / 2 - 0.8; x1: 0.0 - 0.4; x2 has no LB1.
    assert lb1.pairs == 2
    assert lb1.difference.mean == pytest.approx((-0.2 - 0.4) / 2)
    assert lb1.difference == paired_difference([0.6, 0.0], [0.8, 0.4])


def test_trials_that_share_an_instance_are_never_taken_as_independent():
    base, lb1, _, every = summary_rows(TABLE, SYMBOLS, {}, "spl", "p")
    assert base.independent
    assert (base.success, base.success_exact) == (wilson(3, 3), clopper_pearson(3, 3))
    # Two repeats of one instance; and in the row of all, base and perturbed trials.
    for row, successes, clusters in (
        (lb1, [1, 1, 0], ["x0", "x0", "x1"]),
        (every, [1, 1, 1, 1, 0, 1], ["x0", "x0", "x0", "x1", "x1", "x2"]),
    ):
        assert not row.independent
        assert row.success == cluster_mean(successes, clusters)
        assert row.success_exact == NO_ESTIMATE


def test_means_of_scores_have_the_interval_over_instances():
    every = summary_rows(TABLE, SYMBOLS, {}, "spl", "p")[-1]
    values, clusters = [0.8, 0.5, 0.7, 0.4, 0.0, 0.9], ["x0", "x0", "x0", "x1", "x1", "x2"]
    assert every.scores["spl"] == cluster_mean(values, clusters)
    assert every.scores["progress"] == cluster_mean([min(1.0, value + 0.1) for value in values], clusters)


def test_the_interval_of_a_mean_of_counts_stays_in_their_range():
    spec = find_spec(STANDARD_SPECS, "collisions")
    values = [0.0, 0.0, 0.0, 3.0]
    assert cluster_mean(values, range(4), bounds=None).low < 0.0, "the case tests something"
    found = score_mean(values, range(4), spec)
    assert (found.mean, found.low) == (0.75, 0.0)
    assert found.high == cluster_mean(values, range(4), bounds=None).high


def test_of_one_instance_there_is_no_interval_but_wilsons():
    base = summary_rows(table(("x0", "base", 0.4, 1.0)), {}, {}, "spl", "p")[0]
    assert base.scores["spl"] == Estimate(0.4)
    assert base.success == wilson(1, 1)


def test_a_row_has_every_score_and_its_metres_and_seconds():
    base, lb1, sb1, every = summary_rows(TABLE, SYMBOLS, {}, "spl", "p")
    assert [row.symbol for row in (base, lb1, sb1, every)] == ["base", "ΔLB1", "ΔSB1", "all"]
    assert base.scores["progress"].mean == pytest.approx(0.8)
    assert list(base.scores) == ["success", "spl", "progress", "ndtw", "collisions"]
    assert base.scores["ndtw"] == Estimate(0.8), "only one base trial has a reference path"
    assert base.scores["collisions"] == Estimate(2.0, 2.0, 2.0), "Student's interval, for its range is open"
    assert sb1.scores["collisions"] == NO_ESTIMATE
    assert (base.metres, base.seconds) == (4.5, 45.0)
    assert (base.metres_per_trial, base.seconds_per_trial) == (1.5, 15.0)
    assert (sb1.metres_per_trial, sb1.seconds_per_trial) == (None, None)


def test_the_difference_is_that_of_the_metric_asked_for():
    lb1 = summary_rows(TABLE, SYMBOLS, {}, "progress", "p")[1]
    assert lb1.difference.mean == pytest.approx(((0.6 + 0.8) / 2 - 0.9 + 0.1 - 0.5) / 2)


def test_the_difference_in_success_stands_beside_that_of_the_metric():
    base, lb1, sb1, every = summary_rows(TABLE, SYMBOLS, {}, "spl", "p")
    # x0 succeeded throughout; x1 succeeded as base trial and failed under LB1.
    assert lb1.success_difference == paired_difference([1.0, 0.0], [1.0, 1.0])
    assert lb1.success_difference.mean == pytest.approx(-0.5)
    assert base.success_difference == sb1.success_difference == every.success_difference == NO_ESTIMATE


def test_instances_that_a_perturbation_was_refused_for_are_told_by_their_base_trials():
    refused = {"LB1": ["x2"], "SB1": ["x0", "x1", "x2", "x9"]}
    base, lb1, sb1, every = summary_rows(TABLE, SYMBOLS, {"LB1": 1, "SB1": 4}, "spl", "p", refused)
    assert (lb1.selection.applied_instances, lb1.selection.refused_instances) == (2, 1)
    assert lb1.selection.applied == cluster_mean([0.8, 0.4], ["x0", "x1"])
    assert lb1.selection.refused == Estimate(0.9)
    assert lb1.selection.difference == Estimate(pytest.approx(0.6 - 0.9)), "one instance has no interval"
    assert (sb1.selection.applied, sb1.selection.refused_instances) == (NO_ESTIMATE, 3), "x9 has no base trial"
    assert sb1.selection.difference == NO_ESTIMATE
    assert base.selection is every.selection is None
    assert {row.selection for row in summary_rows(TABLE, SYMBOLS, {}, "spl", "p", {})} == {None}


def test_the_difference_of_two_groups_of_instances_has_an_interval_from_theirs():
    rows = [(f"a{i}", "base", 0.1 * i, 1.0) for i in range(8)] + [
        (f"b{i}", "base", 0.1 * i + 0.2, 1.0) for i in range(6)
    ]
    trials = table(*rows, *((f"a{i}", "LB1", 0.5, 0.0) for i in range(8)))
    lb1 = summary_rows(trials, SYMBOLS, {"LB1": 6}, "spl", "p", {"LB1": [f"b{i}" for i in range(6)]})[1]
    found = lb1.selection
    assert found.difference == unpaired_difference(found.applied, found.refused)
    assert found.difference.low < 0.35 - 0.45 < found.difference.high
