"""`robocontrast clutter-tables` as its user meets it: real journals, the console, and the files."""

from __future__ import annotations

import csv
import shutil

import pytest
from cluttered_runs import HAND_MADE, Ran, cluttered_run
from typer.testing import CliRunner

from robocontrast_ros.cli.main import app


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return [cluttered_run(folder / policy, policy).path for policy in ("first", "second")]


def invoke(*arguments):
    return CliRunner(env={"COLUMNS": "80"}).invoke(app, ["clutter-tables", *map(str, arguments)])


def refused(result) -> str:
    assert result.exit_code == 2, result.output
    (line,) = result.stderr.strip().splitlines()
    assert line.startswith("error: ")
    return line


def test_one_command_makes_tables_files_and_figures(runs, tmp_path):
    result = invoke(*runs, "--to", tmp_path / "out", "--bins", "2")
    assert result.exit_code == 0, result.output
    for words in (
        *("SR_base", "SR_noocc", "h-SR", "GFR", "fail: reach", "DvFC bin", "2: 3.40 to 4.00", "0 (base)"),
        *("occlusion", "skill", "trend of SR with DvFC", "at least one", "before: first", "after - before"),
    ):
        assert words in result.output, words
    written = {file.name for file in (tmp_path / "out").iterdir()}
    assert {"clutter.csv", "clutter_trends.csv", "clutter_agreement.csv", "clutter_changes.csv"} < written
    names = ("sr_by_dvfc", "sr_by_set_size", "sr_by_occlusion", "sr_by_family", "failure_stages", "solved_by")
    assert {f"{name}.{ending}" for name in names for ending in ("pdf", "png")} < written
    with (tmp_path / "out" / "clutter.csv").open(newline="") as file:
        (row,) = (r for r in csv.DictReader(file) if (r["policy"], r["by"], r["measure"]) == ("first", "all", "sr"))
    assert (float(row["mean"]), row["trials"]) == (0.4, "5")
    assert "first & 5" in (tmp_path / "out" / "clutter.tex").read_text()
    for line in result.output.splitlines():
        assert len(line) <= 80 or line.startswith(("table: ", "figure: ")), line


def test_one_run_has_no_agreement_and_writes_nothing_unasked(runs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = invoke(runs[0])
    assert result.exit_code == 0, result.output
    assert "at least one" not in result.output and "after - before" not in result.output
    assert list(tmp_path.iterdir()) == []


def test_a_run_without_cluttered_trials_is_named_in_one_line(runs, tmp_path):
    plain = cluttered_run(tmp_path / "plain", "third", [Ran(0), Ran(1)]).path
    line = refused(invoke(runs[0], plain))
    assert str(plain) in line and "have distractors" in line and "`distractors`" in line
    assert str(runs[0]) not in line


def test_the_same_run_twice_is_refused(runs, tmp_path):
    copy = shutil.copytree(runs[0], tmp_path / "copy")
    assert "are the same run" in refused(invoke(runs[0], copy))


@pytest.mark.parametrize("bins", ["0", "many"])
def test_a_number_of_bins_that_makes_no_sense_is_refused(runs, bins):
    assert "--bins" in refused(invoke(runs[0], "--bins", bins))


@pytest.mark.long
def test_a_policy_alone_in_its_scenes_is_compared_with_nothing(tmp_path):
    other = [Ran(ran.base + 5, ran.distractors, ran.occlusion, ran.dvfc, ran.solved) for ran in HAND_MADE]
    paths = [cluttered_run(tmp_path / name, name, trials).path for name, trials in (("a", HAND_MADE), ("b", other))]
    result = invoke(*paths, "--to", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "at least one" not in result.output
    assert not (tmp_path / "out" / "clutter_agreement.csv").exists()
