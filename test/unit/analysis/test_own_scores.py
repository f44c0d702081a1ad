"""A score of one's own is a column, a mean and a metric everywhere, by its class alone."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace

import polars as pl
import pytest
from own_scores import Grade, Turning

from robocontrast_ros.analysis.estimates.comparison import compare_all
from robocontrast_ros.analysis.estimates.sample_size import sample_sizes
from robocontrast_ros.analysis.report.run_page import write_report
from robocontrast_ros.analysis.rescoring.recorded_trials import find_recorded
from robocontrast_ros.analysis.rescoring.scores_from_bags import score_recorded
from robocontrast_ros.analysis.tables.rescoring import scores_table
from robocontrast_ros.analysis.write_results import write_results
from robocontrast_ros.runs.events import TrialFinished
from robocontrast_ros.runs.journal import JournalWriter, read_journal
from robocontrast_ros.sessions.fast_mode import open_bench
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.recording import trial_recorder
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.statistics.clusters import cluster_mean

OWN = ["own_scores:Turning", "own_scores:Grade"]


def run_with(folder, metric: str):
    settings = {"scores": OWN, "metric": metric, "recording.images": False, "strategy.perturbations": ["LB2"]}
    session = resolve(
        "language_table_demo", Overrides(policy="noisy_oracle", size=3, output=str(folder), settings=settings)
    )
    run = session.new_run(0.0)
    bench = open_bench(session, recorder=trial_recorder(session, run))
    with JournalWriter(run.journal) as journal:
        run_session(session.evaluation(), bench, journal)
    bench.close()
    return run


@pytest.fixture(scope="module")
def turning(tmp_path_factory):
    return run_with(tmp_path_factory.mktemp("turning"), "turning")


@pytest.fixture(scope="module")
def results(turning):
    return write_results(turning)


def test_journal_and_table_have_the_score_with_its_unit(turning, results):
    journal = read_journal(turning.journal)
    assert journal.started.metric == "turning"
    assert journal.started.scores[-2:] == (Turning.spec, Grade.spec)
    values = [e.result.scores["turning"] for e in journal.events if isinstance(e, TrialFinished)]
    assert len(values) > 3 and all(value > 0.0 for value in values)
    table = pl.read_csv(turning.path / "trials.csv")
    assert table["turning_rad"].to_list() == values
    assert pl.read_parquet_metadata(turning.path / "trials.parquet")["turning_rad"] == Turning.spec.meaning


def from_zero(found):
    """Return an estimate of a mean of what is never below 0."""
    return found if found.low is None else replace(found, low=max(found.low, 0.0))


def test_the_summary_has_its_mean_with_an_interval_that_needs_no_bounds(turning, results):
    base = results.trials.filter(pl.col("perturbation") == "base")
    expected = from_zero(cluster_mean(base["turning_rad"], base["base_id"], bounds=None))
    assert results.summary.row("base").scores["turning"] == expected
    written = json.loads((turning.path / "summary.json").read_text())
    assert written["rows"][0]["scores"]["turning"]["mean"] == expected.mean
    assert written["scores"][-2]["high"] is None, "an open end"
    (estimates,) = results.summary.estimates.values()
    assert (estimates.base, estimates.adjusted) == (expected, None)
    assert estimates.without == "the range of turning is open, and predictions need its two ends"
    assert sample_sizes(results) == ()
    text = (turning.path / "summary.txt").read_text()
    assert "turning [rad]" in text and "grade" in text


def test_all_scores_have_a_mean_over_solved_trials_and_over_the_others_apart(turning, results):
    assert {row.symbol for row in results.summary.outcomes} == {"solved", "not solved"}
    for row in results.summary.outcomes:
        trials = results.trials.filter((pl.col("success") == 1) == (row.symbol == "solved"), pl.col("counts"))
        assert row.trials == len(trials) > 0
        assert row.scores["turning"] == from_zero(cluster_mean(trials["turning_rad"], trials["base_id"], bounds=None))
        assert row.scores["success"].mean is None, "its trials were chosen by it"
    for file in ("summary.txt", "scores.tex"):
        text = (turning.path / file).read_text()
        assert re.search(r"^\s*all\b.*\n\s*solved\b.*\n\s*not solved\b", text, re.MULTILINE), file
    written = json.loads((turning.path / "summary.json").read_text())
    assert [row["symbol"] for row in written["outcomes"]] == ["solved", "not solved"]


def test_the_tables_for_papers_and_the_report_show_it(turning, results):
    assert "turning [rad]" in (turning.path / "summary.tex").read_text()
    header = (turning.path / "scores.tex").read_text()
    assert "turning [rad]" in header and "grade" in header
    page = turning.path / "report.html"
    write_report(turning, page)
    text = page.read_text()
    columns = [table.count("turning [rad]</th>") for table in re.findall("<table.*?</table>", text, re.DOTALL)]
    assert set(columns) == {0, 1} and sum(columns) > 1, "in the tables of scores, and once in each"
    assert "<dt>Turning</dt>" in text and "<dt>Grade</dt>" in text


def test_runs_are_compared_by_it(results):
    (comparison,) = compare_all(results, [results])
    assert comparison.metric == "turning"
    base = comparison.rows[0]
    assert (base.difference.mean, base.bootstrap.difference.mean, base.bootstrap.p_value) == (0.0, 0.0, 1.0)


def test_it_is_scored_again_from_the_bags(turning):
    scored = score_recorded(find_recorded([turning.path]), processes=1)
    assert [score.differences for score in scored] == [()] * len(scored)
    assert all(score.equal for score in scored)
    assert scores_table(scored)["turning_rad"].to_list() == [s.journal.scores["turning"] for s in scored]


def test_a_metric_with_a_range_of_its_own_is_estimated_within_it(tmp_path):
    found = write_results(run_with(tmp_path, "grade"))
    progress, grade = (found.summary.row("base").scores[name] for name in ("progress", "grade"))
    for ours, theirs in ((grade.mean, progress.mean), (grade.low, progress.high), (grade.high, progress.low)):
        assert ours == pytest.approx(5.0 - 4.0 * theirs)
    (estimates,) = found.summary.estimates.values()
    assert 1.0 <= estimates.adjusted.low <= estimates.adjusted.mean <= estimates.adjusted.high <= 5.0
    assert all(math.isfinite(size.estimate.half_width) for size in sample_sizes(found))
