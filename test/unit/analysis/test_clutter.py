"""Measures of cluttered trials: computed by hand, and what holds of them whatever the trials are."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from cluttered_runs import HAND_MADE, STEP_LIMIT, Ran, cluttered_run
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from robocontrast_ros.analysis.data.run_record import RunRecord
from robocontrast_ros.analysis.estimates.clutter import (
    BY,
    DVFC,
    MEASURES,
    SET_SIZE,
    STAGES,
    TABLE_I,
    Clutter,
    clutter_of,
    equal_bins,
    failures,
)
from robocontrast_ros.analysis.estimates.results import compute_results
from robocontrast_ros.analysis.tables.clutter import COLUMNS, clutter_tables
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.runs.recorded_session import RecordedSession

BY_HAND = {
    "sr_base": 1 / 2,
    "sr": 2 / 5,
    # The first instance: two of three solved, minus one of one; the second: none of two, minus none.
    "difference_to_base": ((2 / 3 - 1) + 0) / 2,
    "sr_noocc": 1 / 5,
    "sr_occ": 1 / 5,
    "sr_if_noocc": 1 / 3,
    "sr_if_occ": 1 / 2,
    "h_sr": 1 / 5,
    "cr": 2 / 5,
    "cr_robot": 1 / 5,
    "cr_carried": 1 / 5,
    "gfr": 2 / 5,
    "er": (50 + 60 + 3 * STEP_LIMIT) / (5 * STEP_LIMIT),
    "er_solved": (50 + 60) / (2 * STEP_LIMIT),
    "fail_reach": 1 / 5,
    "fail_grasp": 1 / 5,
    "fail_after": 1 / 5,
    "reach_of_failures": 1 / 3,
    "grasp_of_failures": 1 / 3,
    "after_of_failures": 1 / 3,
    "nearest_m": 0.4,
    "wrong_grasped": 1 / 5,
    "wrong_moved": 1 / 5,
}
OTHER = tuple(replace(ran, solved=ran.dvfc in (2.0, 2.2), touched=(0, 0), grasped=True) for ran in HAND_MADE)
"""The same trials by another policy, which solves one that the first solves and one that it does not."""


def results_of(folder, policy="first", trials=HAND_MADE, **given):
    run = cluttered_run(folder / policy, policy, trials, **given)
    return compute_results(read_journal(run.journal))


@pytest.fixture(scope="module")
def both(tmp_path_factory) -> Clutter:
    folder = tmp_path_factory.mktemp("runs")
    found = clutter_of([results_of(folder), results_of(folder, "second", OTHER)], bins=2)
    assert found is not None
    return found


def test_every_measure_is_what_it_is_by_hand(both):
    row, _ = both.by("all")
    assert {name: found.mean for name, found in row.measures.items()} == pytest.approx(BY_HAND)
    assert (row.trials, row.instances, row.numbers["sr_if_occ"], row.numbers["nearest_m"]) == (5, 2, 2, 1)
    assert set(MEASURES) == set(BY_HAND) and set(TABLE_I) < set(BY_HAND)


def test_trials_are_grouped_by_dvfc_set_size_occlusion_and_skill(both):
    sizes = {row.group: (row.trials, row.of("sr").mean, row.place) for row in both.by(SET_SIZE, "first")}
    assert sizes == {"0 (base)": (2, 0.5, 0.0), "2": (2, 0.5, 2.0), "4": (2, 0.5, 4.0), "8": (1, 0.0, 8.0)}
    bins = [(row.group, row.trials, row.of("sr").mean) for row in both.by(DVFC, "first")]
    assert bins == [("1: 2.00 to 3.00", 3, pytest.approx(2 / 3)), ("2: 3.40 to 4.00", 2, 0.0)]
    hidden = {row.group: row.trials for row in both.by("occlusion", "first")}
    assert hidden == {"up to 0.01": 3, "0.2 to 0.35": 1, "above 0.35": 1}
    for by in BY:
        found = [row for row in both.by(by, "first") if row.group != "0 (base)"]
        assert sum(row.trials for row in found) == 5, by
    # The twins of a group are those of its own instances.
    assert both.by(SET_SIZE, "first")[-1].of("sr_base").mean == 1.0


def test_agreement_is_of_the_same_trials_and_is_not_symmetric(both):
    agreement = both.agreement
    shares = {(one.policy, one.other): (one.solved, one.share.mean) for one in agreement.pairs}
    assert shares == {("first", "second"): (2, 0.5), ("second", "first"): (2, 0.5)}
    assert agreement.union.mean == pytest.approx(3 / 5)
    assert agreement.solved_by == {(): 2, ("first",): 1, ("first", "second"): 1, ("second",): 1}


def test_before_and_after_are_paired_trial_by_trial(both):
    (change,) = both.changes
    means = {name: tuple(one.mean for one in found) for name, found in change.measures.items()}
    assert (change.first, change.second, change.trials) == ("first", "second", 5)
    assert means["sr"] == pytest.approx((0.4, 0.4, 0.0))
    assert means["cr"] == pytest.approx((0.4, 0.0, -0.4))
    assert means["gfr"] == pytest.approx((0.4, 0.0, -0.4))
    assert all(found[2].low < found[2].mean < found[2].high for found in change.measures.values() if found[2].mean)


def test_the_trend_within_set_size_has_no_part_of_what_set_size_does(tmp_path):
    # Success falls with the number of distractors, and among as many it rises with DvFC.
    trials = [Ran(k, n, 0.0, n + 0.1 * k, solved=k >= 2 * n - 2) for k in range(6) for n in (1, 2, 3)]
    clutter = clutter_of([results_of(tmp_path, trials=trials)])
    (trend,) = clutter.trends
    assert trend.slope.mean < 0.0 < trend.slope_in_set_size.mean
    assert trend.slope_in_set_size.low > 0.0


def test_a_run_without_the_scores_has_the_measures_that_need_none(tmp_path):
    clutter = clutter_of([results_of(tmp_path, scores=False)])
    (row,) = clutter.by("all")
    assert set(row.measures) == set(BY_HAND) - {
        *("h_sr", "cr", "cr_robot", "cr_carried", "gfr", "nearest_m", "wrong_grasped", "wrong_moved"),
        *(name for name in BY_HAND if name.startswith("fail_") or name.endswith("_of_failures")),
    }


def test_a_run_without_the_scores_is_shown_beside_one_that_has_them(tmp_path):
    runs = [results_of(tmp_path), results_of(tmp_path, "second", OTHER, scores=False)]
    for clutter in (clutter_of(runs), clutter_of(runs[::-1])):
        shares = {row.policy: (row.of("sr").mean, row.of("h_sr").mean) for row in clutter.by("all")}
        assert shares == {"first": (2 / 5, 1 / 5), "second": (2 / 5, None)}


def test_a_run_without_cluttered_trials_has_no_estimates(tmp_path):
    assert clutter_of([results_of(tmp_path, trials=[Ran(0), Ran(1, solved=True)])]) is None
    assert clutter_of([]) is None


def test_policies_of_one_name_are_told_apart_by_their_runs(tmp_path):
    first, second = (results_of(tmp_path / name, "same") for name in ("a", "b"))
    assert len(clutter_of([first, second]).policies) == 2
    moved = replace(second, run=tmp_path / "c" / "other")
    assert clutter_of([first, moved]).policies == ("same (same)", "same (other)")


def test_tables_have_a_row_an_estimate_and_only_known_columns(both):
    tables = clutter_tables(both)
    assert {name: tuple(table.columns) for name, table in tables.items()} == {n: tuple(c) for n, c in COLUMNS.items()}
    found = tables["clutter"].filter(policy="first", by="all").select("measure", "mean").rows()
    assert dict(found) == pytest.approx(BY_HAND)
    assert len(tables["clutter_agreement"]) == 3 and len(tables["clutter_changes"]) == 12


@st.composite
def some_trials(draw):
    """Draw trials of a few instances with some distractors, and what came of them."""
    flags, share = st.booleans(), st.sampled_from((0.0, 0.005, 0.05, 0.4, 0.5))
    found = []
    for base in range(draw(st.integers(1, 4))):
        found.append(Ran(base, solved=draw(flags)))
        for number in draw(st.sets(st.integers(1, 4), min_size=1)):
            found.append(
                Ran(
                    base,
                    number,
                    draw(share),
                    draw(st.integers(0, 9)) / 4.0,
                    draw(flags),
                    reached=draw(flags),
                    grasped=draw(flags),
                )
            )
    return found


@given(trials=some_trials(), solved=st.lists(st.booleans(), min_size=20, max_size=20), bins=st.integers(1, 9))
@examples(15, quick=5)
def test_what_holds_of_all_trials(trials, solved, bins, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    others = [replace(ran, solved=one) for ran, one in zip(trials, solved, strict=False)]
    clutter = clutter_of([results_of(folder, "a", trials), results_of(folder, "b", others)], bins)
    for row in clutter.rows:
        mean = {name: found.mean for name, found in row.measures.items()}
        assert mean["sr"] == pytest.approx(mean["sr_noocc"] + mean["sr_occ"])
        assert mean["sr"] + sum(mean[f"fail_{stage}"] for stage in STAGES) == pytest.approx(1.0)
        assert mean["h_sr"] <= mean["sr"]
        for found in row.measures.values():
            assert found.low is None or found.low <= found.mean <= found.high
    union = clutter.agreement.union.mean
    assert all(union >= row.of("sr").mean - 1e-9 for row in clutter.by("all"))
    assert sum(clutter.agreement.solved_by.values()) == clutter.agreement.trials
    stages = [set(failures(clutter.trials, stage).select("run", "index").rows()) for stage in STAGES]
    failed = clutter.trials.filter("cluttered", success=0.0).select("run", "index").rows()
    assert set().union(*stages) == set(failed) and sum(map(len, stages)) == len(failed)


@given(values=st.lists(st.integers(0, 30), min_size=1), bins=st.integers(1, 10))
def test_bins_have_equal_populations_and_do_not_overlap(values, bins):
    found = equal_bins(np.array(values, dtype=float), bins)
    sizes = [len(part) for part in found]
    assert sum(sizes) == len(set(values)) and max(sizes) - min(sizes) <= 1 and len(found) <= bins
    assert all(before[-1] < after[0] for before, after in pairwise(found))


def test_a_run_needs_no_more_than_its_table_and_its_step_limit(tmp_path):
    whole = results_of(tmp_path)
    lean = SimpleNamespace(trials=whole.trials, run=whole.run, record=RunRecord())
    (row,) = clutter_of([lean]).by("all")
    assert "er" not in row.measures and row.of("sr").mean == 2 / 5


def test_distractors_that_are_a_part_of_a_composition_are_not_counted_with_those_alone(tmp_path):
    whole = results_of(tmp_path)
    for name in set(whole.trials["perturbation"]) - {"base"}:
        record = SimpleNamespace(recorded=RecordedSession(), composed=frozenset({name}))
        left = clutter_of([SimpleNamespace(trials=whole.trials, run=whole.run, record=record)])
        assert left is None or name not in set(left.trials["perturbation"])
