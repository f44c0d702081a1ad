"""A run's folder gets its table, summary and picture, whatever the run came to."""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from line_world import LineBench, SwappingLineBench, line_evaluation
from PIL import Image
from rich.console import Console

from robocontrast_ros.analysis.estimates.results import compute_results
from robocontrast_ros.analysis.tables.block import words
from robocontrast_ros.analysis.tables.summary import conclusion, summary_report
from robocontrast_ros.analysis.write_results import write_results
from robocontrast_ros.domain import Fault
from robocontrast_ros.runs.journal import JournalError, read_journal
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.sessions.control import SessionControl
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.statistics.estimate import Estimate
from robocontrast_ros.strategies.standard import Standard

PARAMETERS = {
    "session": {
        "robot": "ur5e",
        "policy": "oracle",
        "strategy": {"name": "contrast_set", "perturbations": ["LB2", "SB2"]},
    }
}


@pytest.fixture
def run(tmp_path):
    """Run a session into a folder."""

    def ran(faults=(), **changes) -> RunFolder:
        folder = RunFolder(tmp_path)
        evaluation = line_evaluation(**{"parameters": PARAMETERS, **changes})
        run_session(evaluation, LineBench(faults=dict(faults)), folder.journal)
        return folder

    return ran


def printed(summary) -> str:
    console = Console(width=80)
    with console.capture() as capture:
        console.print(summary_report(summary))
    return capture.get()


def swapped(tmp_path) -> RunFolder:
    """Run a session in which another policy takes over after the third trial."""
    folder, control = RunFolder(tmp_path), SessionControl()
    bench = SwappingLineBench(before_trial=lambda trial: control.swap("second") if trial.index == 2 else None)
    evaluation = line_evaluation(parameters=PARAMETERS, test_set_size=6)
    run_session(evaluation, bench, folder.journal, control=control)
    return folder


def test_no_estimate_is_over_the_trials_of_two_policies(tmp_path):
    folder = swapped(tmp_path)
    results = write_results(folder)
    summary, trials = results.summary, results.trials.filter("counts")
    assert summary.policy == "first, second"
    assert summary.policies == ("first", "second")
    assert [row.perturbation for row in summary.rows] == ["base", "LB2", "SB2", "all"] * 2
    for policy in summary.policies:
        own = trials.filter(pl.col("policy") == policy)
        assert summary.row("all", policy).trials == len(own)
        assert summary.row("all", policy).scores["spl"].mean == pytest.approx(own["spl"].mean())
    assert summary.row("all", "first").trials == 3
    with pytest.raises(KeyError, match="name one of the policies first, second"):
        summary.row("all")
    assert sum(row.cost for row in summary.rows if row.perturbation == "all") == pytest.approx(
        results.trials["setup_cost"].sum()
    )
    text = printed(summary)
    assert "contrast_set · first, second on ur5e" in text
    lines = [line.strip() for line in text.splitlines()]
    assert lines.index("first") < lines.index("second")
    assert np.asarray(Image.open(results.figure).convert("RGB")).shape == (660, 1650, 3)
    rows = json.loads((folder.path / "summary.json").read_text())["rows"]
    assert {row["policy"] for row in rows} == {"first", "second"}


CASES = {
    "a whole session": {"test_set_size": 6, "budget": 30.0},
    "one trial": {"max_trials": 1},
    "no trial, for the budget": {"budget": 0.0},
    "void only": {"faults": {(0, 0): Fault.SIMULATOR_LOST}},
    "base trials only": {"strategy": Standard(), "perturbations": ()},
}


LONG = ("one trial", "no trial, for the budget", "base trials only")


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=name, marks=[pytest.mark.long] * (name in LONG)) for name, case in CASES.items()],
)
def test_every_kind_of_run_gets_its_files(run, case):
    folder = run(**case)
    results = write_results(folder)
    names = {path.name for path in folder.path.iterdir()}
    assert {
        "trials.parquet",
        "trials.csv",
        "summary.json",
        "summary.txt",
        "summary.tex",
        "estimates.tex",
        "figures",
    } <= names
    assert pl.read_parquet(folder.path / "trials.parquet").equals(results.trials)
    summary = json.loads((folder.path / "summary.json").read_text(), parse_constant=pytest.fail)
    assert [row["perturbation"] for row in summary["rows"]] == ["base", "LB2", "SB2", "all"]
    text = (folder.path / "summary.txt").read_text()
    said = conclusion(results.summary)
    assert "LB2" in text and " ".join(text.split()).endswith(said)
    assert bool(said) == results.trials["counts"].any()
    picture = np.asarray(Image.open(results.figure).convert("RGB"))
    assert picture.shape == (660, 1650, 3)
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 20


def test_the_summary_names_session_robot_policy_end_and_cost(run):
    results = compute_results(read_journal(run(budget=2.0).journal))
    summary = results.summary
    assert (summary.session, summary.robot, summary.policy, summary.strategy) == (
        "line",
        "ur5e",
        "oracle",
        "contrast_set",
    )
    assert summary.finished
    assert summary.ended.startswith("the budget of 2 m does not allow the next set-up")
    assert summary.row("all").cost == pytest.approx(results.trials["setup_cost"].sum())
    text = printed(summary)
    assert "line: contrast_set · oracle on ur5e" in text
    assert "cost [m]" in text


def test_a_run_ends_with_what_it_shows_in_words(run):
    summary = compute_results(read_journal(run(budget=2.0).journal)).summary
    base = summary.row("base")
    said = conclusion(summary)
    assert said.startswith(f"oracle solves {base.success.mean:.2f} ") and f"] of {base.trials} base trial" in said
    assert "no difference to base shown: ΔSB2." in said
    rows = [
        replace(row, pairs=5, success_difference=Estimate(mean, mean - 0.1, mean + 0.1))
        for row, mean in zip(summary.rows, (0.0, -0.4, 0.3, 0.0), strict=True)
    ]
    rows = [replace(row, pairs=row.pairs if row.perturbation in ("LB2", "SB2") else 0) for row in rows]
    told = conclusion(replace(summary, rows=tuple(rows)))
    assert "worse than base: ΔLB2; better than base: ΔSB2." in told and "no difference" not in told


def test_a_run_in_which_the_policy_only_failed_to_answer_says_that_it_shows_nothing(run):
    summary = compute_results(read_journal(run(budget=2.0).journal)).summary
    rows = tuple(replace(row, policy_faults=row.trials) for row in summary.rows)
    said = conclusion(replace(summary, rows=rows))
    assert "failed by a fault of the policy" in said and "They say nothing of how well it does." in said
    assert "above" not in said, "no table of trials is above"
    none = tuple(replace(row, trials=0) for row in summary.rows)
    assert conclusion(replace(summary, rows=none)) == ""


def test_a_session_that_is_interrupted_says_so_and_its_void_attempts_stand_beside(run):
    summary = compute_results(read_journal(run(faults={(1, 0): Fault.SIMULATOR_LOST}).journal)).summary
    assert not summary.finished
    assert summary.row("all").void == 1
    assert "not finished: injected" in printed(summary)


def test_a_torn_journal_is_told_of(run):
    folder = run(max_trials=2)
    with folder.journal.open("ab") as file:
        file.write(b'{"ev')
    assert "cut off after 4 bytes" in compute_results(read_journal(folder.journal)).warning


def test_a_journal_in_which_nothing_was_started_has_no_results(tmp_path):
    (tmp_path / "journal.jsonl").write_bytes(b"")
    with pytest.raises(JournalError, match="no session was started in it"):
        compute_results(read_journal(tmp_path / "journal.jsonl"))


@pytest.mark.parametrize(
    ("estimate", "said"),
    [
        (Estimate(), "-"),
        (Estimate(0.714), "0.71"),
        (Estimate(0.714, 0.5, 0.881), "0.71 [0.50, 0.88]"),
    ],
)
def test_an_estimate_is_said_with_its_interval_where_it_has_one(estimate, said):
    assert words(estimate) == said


def test_a_resumed_session_that_is_still_running_has_no_end(run):
    folder = run(faults={(1, 0): Fault.ABORTED})
    lines = folder.journal.read_bytes().splitlines(keepends=True)
    assert compute_results(read_journal(folder.journal)).summary.ended == "injected"
    folder.journal.write_bytes(b"".join(lines) + b'{"restarted":true,"time":1.0,"event":"resumed"}\n')
    summary = compute_results(read_journal(folder.journal)).summary
    assert (summary.ended, summary.finished) == ("", False)
    assert summary.budget is None
    assert not math.isnan(summary.row("all").cost)


def test_differences_to_base_and_whom_a_perturbation_was_refused_for_are_shown_and_written(run):
    folder = run(test_set_size=12)
    results = write_results(folder)
    text = (folder.path / "summary.txt").read_text()
    assert max(map(len, printed(results.summary).splitlines())) <= 80
    assert "difference to base" in text and "robocontrast compare RUN ORACLE_RUN" in " ".join(text.split())
    rows = {row["perturbation"]: row for row in json.loads((folder.path / "summary.json").read_text())["rows"]}
    refused = [row for row in results.summary.rows if row.selection is not None]
    assert refused, "a perturbation of the line needs a place that has an opposite"
    for row in results.summary.rows:
        written = rows[row.perturbation]
        if row.pairs:
            assert written["success_difference"]["mean"] == row.success_difference.mean
            assert f"{row.success_difference.mean:+.2f}" in text
        if row.selection is None:
            assert written["selection"] is None
            continue
        assert row.selection.refused_instances == row.skipped
        assert written["selection"]["refused"]["mean"] == row.selection.refused.mean
        assert f"{row.selection.difference.mean:+.2f}" in text
    assert "applied - refused" in text


def test_where_nothing_was_refused_nothing_is_said_of_it(run):
    results = write_results(run(strategy=Standard(), perturbations=()))
    text = printed(results.summary)
    assert "applied - refused" not in text and "difference to base" not in text


def test_the_picture_is_drawn_again_only_where_the_journal_is_newer(run):
    folder = run(max_trials=2)
    figure = write_results(folder).figure
    figure.write_bytes(b"kept")
    write_results(folder)
    assert figure.read_bytes() == b"kept"
    newer = figure.stat().st_mtime_ns + 1_000_000_000
    os.utime(folder.journal, ns=(newer, newer))
    write_results(folder)
    assert np.asarray(Image.open(figure).convert("RGB")).shape == (660, 1650, 3)
