"""Two runs on one test set: what is paired, what is compared, and what cannot be."""

from __future__ import annotations

import json
from dataclasses import replace

import polars as pl
import pytest
from line_world import Invert, LineBench, SwappingLineBench, line_evaluation
from rich.console import Console

from robocontrast_ros.analysis.estimates.comparison import (
    NO_CHANGE,
    TESTS,
    ComparisonError,
    check_distinct,
    compare_all,
)
from robocontrast_ros.analysis.estimates.results import compute_results
from robocontrast_ros.analysis.tables.comparison import (
    COLUMNS,
    comparison_json,
    comparison_report,
    comparison_table,
)
from robocontrast_ros.domain import Fault
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.sessions.control import SessionControl
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.statistics.clusters import cluster_mean, paired_difference
from robocontrast_ros.statistics.decisions import boschloo, mcnemar
from robocontrast_ros.statistics.multiplicity import holm
from robocontrast_ros.strategies.standard import Standard


@pytest.fixture
def results(tmp_path):
    """Run a session with a policy of some skill; return what came of it."""

    def ran(name, skill=0.6, bench=None, control=None, task=None, families=(), **changes):
        session = {
            "task": task or "line",
            "policy": "oracle",
            "strategy": {"perturbations": ["LB2", "SB2"]},
            "test_set": {"families": list(families)},
        }
        evaluation = line_evaluation(**{"test_set_size": 10, "parameters": {"session": session}, **changes})
        folder = tmp_path / name
        folder.mkdir()
        run_session(evaluation, bench or LineBench(skill=skill), folder / "journal.jsonl", control=control)
        return compute_results(read_journal(folder / "journal.jsonl"))

    return ran


def compare_runs(first, second):
    return compare_all(first, (second,))[0]


def test_trials_are_paired_by_instance_perturbation_and_repeat(results):
    a, b = results("a", 0.9), results("b", 0.2, max_trials=17)
    comparison = compare_runs(a, b)
    assert (comparison.first_run, comparison.second_run, comparison.seed) == ("a", "b", 1)
    assert [row.perturbation for row in comparison.rows] == ["base", "LB2", "SB2", "all"]
    every = comparison.row("all")
    keys = ["base_id", "perturbation", "repeat"]
    pairs = a.trials.join(b.trials, on=keys)
    assert every.pairs == len(pairs)
    assert every.instances == pairs["base_id"].n_unique()
    assert comparison.only_first == len(a.trials) - len(pairs)
    assert comparison.only_second == len(b.trials) - len(pairs)
    base = pairs.filter(pl.col("perturbation") == "base")
    row = comparison.row("base")
    assert (row.pairs, row.same_start) == (len(base), len(base)), "base trials start in their own scenes"
    assert row.first == cluster_mean(base["spl"], base["base_id"])
    assert row.difference == paired_difference(base["spl"], base["spl_right"], base["base_id"])
    assert row.mcnemar == mcnemar(base["success"], base["success_right"])
    shares = [(int(base[name].sum()), len(base)) for name in ("success", "success_right")]
    assert row.boschloo == boschloo(*shares[0], *shares[1])
    assert row.success_difference.mean == pytest.approx((shares[0][0] - shares[1][0]) / len(base))


def test_pairs_that_share_instances_get_no_test_that_takes_them_as_independent(results):
    comparison = compare_runs(results("a", 0.9), results("b", 0.2))
    every = comparison.row("all")
    assert every.mcnemar.p_value is every.boschloo.p_value is None
    assert 0.0 < every.success_bootstrap.p_value < 0.5
    repeated = compare_runs(results("c", repeats=2), results("d", repeats=2)).row("base")
    assert repeated.pairs == 2 * repeated.instances
    assert repeated.mcnemar.p_value is None


def test_a_run_against_itself_shows_no_difference_and_the_same_twice(results):
    a = results("a")
    comparison = compare_runs(a, a)
    for row in comparison.rows:
        assert row.difference.mean == 0.0
        assert row.bootstrap.p_value == row.success_bootstrap.p_value == 1.0
        assert row.same_start == row.pairs
    assert comparison == compare_runs(a, a)


def test_a_better_policy_is_found_better_whichever_run_comes_first(results):
    good, bad = results("good", 0.9, test_set_size=25), results("bad", 0.0, test_set_size=25)
    forth, back = compare_runs(good, bad).row("all"), compare_runs(bad, good).row("all")
    assert forth.difference.low > 0.0
    assert forth.bootstrap.p_value < 0.001
    assert back.difference.mean == pytest.approx(-forth.difference.mean)
    assert back.difference.high == pytest.approx(-forth.difference.low)
    assert back.bootstrap.p_value == pytest.approx(forth.bootstrap.p_value, abs=1e-3)


def test_starts_with_other_planned_paths_are_told_of(results):
    a = results("a")
    longer = pl.col("optimal_path_length_m") + 0.1 * (pl.col("index") % 2) * (pl.col("perturbation") == "SB2")
    comparison = compare_runs(a, replace(a, trials=a.trials.with_columns(longer)))
    base, moved = comparison.row("base"), comparison.row("SB2")
    assert base.same_start == base.pairs
    assert moved.same_start == (a.trials.filter(pl.col("perturbation") == "SB2")["index"] % 2 == 0).sum()
    assert 0 < moved.same_start < moved.pairs


def test_strategy_and_size_may_differ_where_the_test_set_is_the_same(results):
    contrast = results("contrast", test_set_size=6)
    standard = results("standard", strategy=Standard(), perturbations=(), test_set_size=10)
    comparison = compare_runs(contrast, standard)
    assert [row.perturbation for row in comparison.rows] == ["base", "all"]
    assert comparison.row("base").instances == 6


def test_void_trials_have_no_partner(results):
    a, b = results("a"), results("b", bench=LineBench(faults={(4, 0): Fault.SIMULATOR_LOST}))
    assert a.trials["counts"].all() and not b.trials["counts"].all()
    comparison = compare_runs(a, b)
    assert comparison.row("all").pairs + comparison.only_second == b.trials["counts"].sum()


def test_runs_that_do_not_match_are_refused_in_one_sentence_and_a_cure(results):
    a = results("a", test_set_size=3)
    for name, other, what in (
        ("seed", {"seed": 2}, r"have different seeds: 1 and 2\. Run both sessions with the same seed"),
        ("task", {"task": "square"}, "have different tasks: line and square"),
        ("families", {"families": ["left"]}, "have different families of instructions: all and left"),
        ("empty", {"budget": 0.0}, "have no trial in common"),
        ("void", {"bench": LineBench(faults={(0, 0): Fault.ABORTED})}, "have no trial in common"),
    ):
        with pytest.raises(ComparisonError, match=f"^The runs a and {name} {what}") as error:
            compare_runs(a, results(name, **{"test_set_size": 3, **other}))
        assert "\n" not in str(error.value)


def test_a_run_of_several_policies_is_refused(results):
    control = SessionControl()
    bench = SwappingLineBench(before_trial=lambda trial: control.swap("second") if trial.index == 2 else None)
    swapped = results("swapped", bench=bench, control=control)
    with pytest.raises(ComparisonError, match="swapped was run by first, second in turn"):
        compare_runs(results("a"), swapped)


def test_words_that_differ_mean_another_test_set(results):
    a, b = results("a", perturbations=(Invert(),)), results("b", perturbations=(Invert(),))
    b = replace(b, trials=b.trials.with_columns(pl.col("instruction") + " now"))
    with pytest.raises(ComparisonError, match=r"have different test sets: x00.. is '.*' in the first"):
        compare_runs(a, b)


def test_tests_of_one_kind_are_adjusted_for_all_rows_of_all_runs_and_the_rows_over_all_among_themselves(
    results,
):
    first = results("first", 0.9)
    two = compare_all(first, [results("second", 0.2), results("third", 0.5)])
    for test in TESTS:
        rows = [row for one in two for row in one.rows if row.perturbation != "all"]
        assert len(rows) == 6
        expected = holm([getattr(row, test).p_value for row in rows])
        assert tuple(getattr(row.adjusted, test) for row in rows) == expected
        every = [one.row("all") for one in two]
        assert tuple(getattr(row.adjusted, test) for row in every) == holm(
            [getattr(row, test).p_value for row in every]
        )
    assert two[0].row("all").adjusted.bootstrap is not None
    alone = compare_runs(first, results("again", 0.2))
    assert alone.row("all").adjusted.bootstrap is None, "it is the only test of its family"
    assert alone.row("base").adjusted.bootstrap >= alone.row("base").bootstrap.p_value


def test_the_difference_in_differences_is_what_a_perturbation_costs_beyond_what_it_costs_the_other(results):
    a, b = results("a", 0.5, test_set_size=30), results("b", 1.0, test_set_size=30)
    comparison = compare_runs(a, b)
    row = comparison.row("SB2")

    def scores(run, name):
        trials = run.trials.filter((pl.col("perturbation") == name) & pl.col("counts"))
        return dict(zip(trials["base_id"], trials["spl"], strict=True))

    (a_base, a_moved), (b_base, b_moved) = ([scores(run, name) for name in ("base", "SB2")] for run in (a, b))
    common = sorted(a_base.keys() & a_moved.keys() & b_base.keys() & b_moved.keys())
    changes = [[moved[x] - base[x] for x in common] for moved, base in ((a_moved, a_base), (b_moved, b_base))]
    change = row.change
    assert change.instances == len(common) > 5
    assert change.first.mean == pytest.approx(sum(changes[0]) / len(common))
    assert change.second.mean == pytest.approx(sum(changes[1]) / len(common))
    assert change.difference.mean == pytest.approx(change.first.mean - change.second.mean)
    assert -2.0 <= change.difference.low < change.difference.mean < change.difference.high <= 2.0
    back = compare_runs(b, a).row("SB2").change.difference
    assert (back.low, back.high) == pytest.approx((-change.difference.high, -change.difference.low))
    assert comparison.row("base").change == comparison.row("all").change == NO_CHANGE


def test_a_perturbation_that_costs_both_the_same_has_no_difference_in_differences(results):
    a = results("a", 0.5, test_set_size=30)
    shorter = pl.when(pl.col("perturbation") == "SB2").then(0.5 * pl.col("spl")).otherwise(pl.col("spl"))
    geometry = replace(a, trials=a.trials.with_columns(spl=shorter))
    change = compare_runs(geometry, geometry).row("SB2").change
    assert change.first == change.second
    assert change.first.mean < compare_runs(a, a).row("SB2").change.first.mean
    assert change.difference.mean == 0.0


def test_without_base_pairs_there_is_no_change_from_them(results):
    a = results("a")
    none = replace(a, trials=a.trials.filter(pl.col("perturbation") != "base"))
    assert {row.change for row in compare_runs(a, none).rows} == {NO_CHANGE}


def test_a_run_that_is_named_twice_is_refused(results, tmp_path):
    results("a"), results("b")
    a, b = (read_journal(tmp_path / name / "journal.jsonl").started for name in "ab")
    check_distinct([("a", a), ("b", b)])
    with pytest.raises(ComparisonError, match=r"^The runs b and copy are the same run: .*Name two sessions"):
        check_distinct([("a", a), ("b", b), ("copy", b)])


def test_the_table_has_its_columns_and_the_json_every_number_of_the_comparison(results):
    comparisons = compare_all(results("a", 0.9), [results("b", 0.2)])
    table = comparison_table(comparisons)
    assert table.columns == list(COLUMNS)
    rows = comparisons[0].rows
    assert table["perturbation"].to_list() == [row.perturbation for row in rows]
    for column, expected in {
        "difference_mean": [row.difference.mean for row in rows],
        "p_bootstrap_holm": [row.adjusted.bootstrap for row in rows],
        "p_mcnemar": [row.mcnemar.p_value for row in rows],
        "change_difference_low": [row.change.difference.low for row in rows],
    }.items():
        assert table[column].to_list() == expected
    content = json.loads(comparison_json(comparisons), parse_constant=pytest.fail)
    (found,) = content["comparisons"]
    assert found["rows"][1]["change"]["difference"]["mean"] == rows[1].change.difference.mean
    assert found["rows"][-1]["mcnemar"]["p_value"] is None


@pytest.mark.parametrize("size", [1, 10])
def test_the_numbers_are_readable_in_80_columns_however_few_they_are(results, size):
    comparisons = compare_all(results("a", 0.9, test_set_size=size), [results("b", 0.2, test_set_size=size)])
    console = Console(width=80)
    with console.capture() as capture:
        console.print(comparison_report(comparisons, ["good", "bad"]))
    text = capture.get()
    assert "…" not in text and "nan" not in text.lower() and "None" not in text
    assert max(map(len, text.splitlines())) <= 80
    for words in ("first: good, a", "second: bad, b", "Holm", "McNemar", "difference in differences"):
        assert words in text, words
