"""Two runs on one test set: what is paired, what is compared, and what cannot be."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from line_world import Invert, LineBench, SwappingLineBench, line_evaluation

from robocontrast_ros.analysis.comparison import ComparisonError, compare_runs
from robocontrast_ros.analysis.results import compute_results
from robocontrast_ros.domain import Fault
from robocontrast_ros.sessions.control import SessionControl
from robocontrast_ros.sessions.journal import read_journal
from robocontrast_ros.sessions.session import run_session
from robocontrast_ros.statistics.clusters import cluster_mean, paired_difference
from robocontrast_ros.statistics.decisions import boschloo, mcnemar
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
