"""`robocontrast understanding` as its user meets it: real journals, the console, and the files."""

from __future__ import annotations

import csv
import shutil

import pytest
from told_runs import always, often, told_run, trials_of
from typer.testing import CliRunner

from robocontrast_ros.cli.main import app

TRIALS = trials_of(
    40, often, paraphrase=often, gobbledygook_words=often, mask_all=always(False), wrong_instruction=often
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return [told_run(folder / policy, policy, TRIALS).path for policy in ("first", "second")]


def invoke(*arguments):
    return CliRunner(env={"COLUMNS": "80"}).invoke(app, ["understanding", *map(str, arguments)])


def refused(result) -> str:
    assert result.exit_code == 2, result.output
    (line,) = result.stderr.strip().splitlines()
    assert line.startswith("error: ")
    return line


def test_one_command_makes_tables_files_and_figures(runs, tmp_path):
    result = invoke(*runs, "--to", tmp_path / "out")
    assert result.exit_code == 0, result.output
    for words in (
        *("first acts without understanding: with ΔL GW", "implausible: it should fail ΔL GW", "robust", "sound"),
        *("Chance: 0.90", "by wrong_instruction, of which 0.15 counts", "success [%]", "90 [77, 96]"),
    ):
        assert words in " ".join(result.output.split()), words
    written = {file.name for file in (tmp_path / "out").iterdir()}
    assert {f"understanding{end}" for end in (".csv", "_policies.csv", "_levels.csv", "_levels.png", ".tex")} < written
    assert {f"understanding_{n}.{ending}" for n in (0, 1) for ending in ("pdf", "png")} < written
    with (tmp_path / "out" / "understanding.csv").open(newline="") as file:
        found = {row["perturbation"]: row["verdict"] for row in csv.DictReader(file) if row["policy"] == "first"}
    assert found["mask_all"] == "sound" and found["wrong_instruction"] == "acts without understanding"
    for line in result.output.splitlines():
        assert len(line) <= 80 or line.startswith(("table: ", "figure: ")), line


def test_nothing_is_written_unasked_and_a_smaller_margin_decides_less(runs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = invoke(runs[0], "--margin", "0.05")
    assert result.exit_code == 0, result.output
    assert "undecided" in result.output and "acts without" not in result.output
    assert list(tmp_path.iterdir()) == []


def test_a_random_policy_beside_it_measures_chance(runs, tmp_path):
    control = told_run(tmp_path / "random", "random", trials_of(40, often)).path
    result = invoke(runs[0], "--chance", control)
    assert result.exit_code == 0, result.output
    assert "no skill" in result.output and "by control run" in " ".join(result.output.split())


def test_what_cannot_be_checked_is_named_in_one_line(runs, tmp_path):
    plain = told_run(tmp_path / "plain", "third", trials_of(3, often, S=often)).path
    line = refused(invoke(runs[0], plain))
    assert str(plain) in line and "axis L or O" in line and str(runs[0]) not in line
    empty = told_run(tmp_path / "empty", "random", []).path
    assert "--chance" in refused(invoke(runs[0], "--chance", empty))
    assert "--margin" in refused(invoke(runs[0], "--margin", "15"))
    assert "`--no-mistakes`: got" in refused(invoke(runs[0], "--no-mistakes"))
    assert "are the same run" in refused(invoke(runs[0], shutil.copytree(runs[0], tmp_path / "copy")))
