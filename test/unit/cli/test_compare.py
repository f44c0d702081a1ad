"""`robocontrast compare` as its user meets it: real runs with bags, the console, and the files beside the page."""

from __future__ import annotations

import csv
import json
import shutil

import pytest
from recorded_runs import recorded_run
from typer.testing import CliRunner

from robocontrast_ros.analysis.foreign.reading import read_arm
from robocontrast_ros.analysis.tables.comparison import COLUMNS
from robocontrast_ros.cli.main import app
from robocontrast_ros.runs.run_folder import RunFolder

pytestmark = pytest.mark.usefixtures("figures_undrawn")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two runs of one session by different policies; the second one solves less."""
    folder = tmp_path_factory.mktemp("runs")
    return [recorded_run(folder / policy, policy, trials=11).path for policy in ("oracle", "random")]


def invoke(*arguments, fail_on="none"):
    return CliRunner(env={"COLUMNS": "80"}).invoke(app, ["compare", "--fail-on", fail_on, *map(str, arguments)])


def test_the_numbers_are_printed_and_written_beside_the_page(runs, tmp_path):
    page = tmp_path / "ours.html"
    result = invoke(*runs, "--to", page, "--no-pictures")
    assert result.exit_code == 0, result.output
    for words in ("first: oracle", "second: random", "McNemar", "Holm", "difference in differences", "ΔLB1"):
        assert words in result.output, words
    for what, name in (("comparison", "ours.html"), ("table", "ours.csv"), ("numbers", "ours.json")):
        assert f"{what}: {tmp_path / name}" in result.output.splitlines()
    with (tmp_path / "ours.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == list(COLUMNS)
    content = json.loads((tmp_path / "ours.json").read_text(), parse_constant=pytest.fail)
    (comparison,) = content["comparisons"]
    assert [row["perturbation"] for row in rows] == [row["perturbation"] for row in comparison["rows"]]
    for row, record in zip(rows, comparison["rows"], strict=True):
        assert float(row["difference_mean"]) == record["difference"]["mean"]
        assert row["p_bootstrap_holm"] == str(record["adjusted"]["bootstrap"] or "")
    text = page.read_text()
    assert "difference in differences" in text and "Holm" in text


@pytest.mark.long
def test_only_the_maps_that_the_page_shows_are_drawn(runs, tmp_path):
    shutil.rmtree(runs[0] / "maps", ignore_errors=True)
    assert invoke(*runs, "--to", tmp_path / "page.html").exit_code == 0
    drawn = len(list((runs[0] / "maps").iterdir()))
    assert 0 < drawn < 11
    shown = (tmp_path / "page.html").read_text().count(" from above. ")
    assert shown == 2 * drawn, "each pair has a map of either trial"


def test_without_pictures_the_page_says_so_and_no_map_is_drawn(runs, tmp_path):
    shutil.rmtree(runs[0] / "maps", ignore_errors=True)
    assert invoke(*runs, "--to", tmp_path / "page.html", "--no-pictures").exit_code == 0
    assert list((runs[0] / "maps").iterdir()) == []
    text = (tmp_path / "page.html").read_text()
    assert "<img" not in text and "(--no-pictures)" in text


def test_the_same_run_is_refused_in_one_line_however_it_is_named(runs, tmp_path):
    link, copy = tmp_path / "link", tmp_path / "copy"
    link.symlink_to(runs[0])
    shutil.copytree(runs[0], copy)
    for other in (runs[0], runs[0] / ".." / runs[0].name, link, copy):
        for named in ((runs[0], other), (runs[1], runs[0], other)):
            result = invoke(*named, "--to", tmp_path / "page.html")
            assert result.exit_code == 2
            (line,) = result.stderr.strip().splitlines()
            assert line.startswith("error: The runs ") and "are the same run" in line
    assert not (tmp_path / "page.html").exists() and not (tmp_path / "page.csv").exists()


def test_a_page_must_not_have_the_name_of_its_table(runs, tmp_path):
    result = invoke(*runs, "--to", tmp_path / "numbers.csv")
    assert result.exit_code == 2
    (line,) = result.stderr.strip().splitlines()
    assert "--to" in line and "the name of an HTML file" in line
    assert list(tmp_path.iterdir()) == []


def test_run_folders_end_with_the_verdict_whose_exit_code_is_that_of_counts(runs, tmp_path):
    # Four test instances: even all of them cannot decide, whichever policy comes first.
    for named in (runs, runs[::-1]):
        result = invoke(*named, "--to", tmp_path / "page.html", "--no-pictures", fail_on="worse,undecided")
        assert result.exit_code == 3, result.output
        head, numbers, *more = result.output.splitlines()[-4:]
        assert head == f"{named[0]} against {named[1]}: undecided"
        assert "11 pairs" in numbers and "paired bootstrap" in numbers
        drop = "The second solved none" if named == runs else "find no drop, however large, with 80 % power"
        assert "of 11)" in numbers and drop in more[0]


def test_run_folders_beside_a_file_pair_by_task_seed_and_instance(runs):
    result = invoke(*runs, "3/5")
    assert result.exit_code == 0, result.output
    assert "11 pairs" in result.output.splitlines()[1]
    seed = RunFolder(runs[0]).session_file.read_text()
    (named,) = {(outcome.task, outcome.seed) for run in runs for outcome in read_arm(str(run)).outcomes}
    assert named[0].startswith("language_table") and f"seed: {named[1]}\n" in seed


def test_a_run_folder_is_also_compared_with_counts_and_then_no_page_is_written(runs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = invoke(runs[0], "0/20", fail_on="worse")
    assert result.exit_code == 0, result.output
    assert "better" in result.output.splitlines()[0] and "permutation" in result.output
    assert list(tmp_path.iterdir()) == []


def test_it_says_which_changes_carry_over_where_that_is_asked(runs, tmp_path):
    page = tmp_path / "page.html"
    result = invoke(*runs, "--to", page, "--no-pictures", "--carry-over", "--margin", "0.2")
    assert result.exit_code == 0, result.output
    assert "Margin: 0.2. Gap of the score" in result.output
    assert max(map(len, result.output.splitlines()[:-12])) <= 80
    text = page.read_text()
    assert "What carries over" in text and "carry-over" in text
    refused = invoke(runs[0], "17/20", "--to", page, "--carry-over")
    assert refused.exit_code == 2
    (line,) = refused.stderr.strip().splitlines()
    assert "--carry-over" in line and "expected run folders of this package" in line
