"""`robocontrast levels`: what ships, and the level of each trial of a run."""

from __future__ import annotations

import re

import pytest
from played_runs import record_run
from shown_tables import shown_rows
from typer.testing import CliRunner

from robocontrast_ros.cli.main import app
from robocontrast_ros.domain import Fault
from robocontrast_ros.tasks.levels import Level, known_levels


@pytest.fixture
def invoke():
    return lambda *arguments: CliRunner().invoke(app, ["levels", *map(str, arguments)], env={"COLUMNS": "200"})


def test_the_files_that_ship_are_listed_with_the_policies_that_were_trained_so(invoke):
    shown = invoke()
    assert shown.exit_code == 0, shown.output
    headings = ("levels", "policies trained so", "families", "things", "L1", "L2", "L3", "L4")
    (row,) = (row for row in shown_rows(shown.output, headings) if row[1] == "film_bc, film_bc_state")
    assert row[4:] == ["yes", "yes", "nothing new", "nothing new"]


def test_at_80_columns_no_name_is_cut():
    shown = CliRunner().invoke(app, ["levels"], env={"COLUMNS": "80"})
    assert "…" not in shown.output and max(map(len, shown.output.splitlines())) <= 80
    words = re.split(r"[\s,]+", shown.output)
    for levels in known_levels():
        assert {levels.name, *levels.policies} <= set(words)


def test_the_trials_of_a_run_are_sorted_by_what_its_policy_was_trained_on(tmp_path, invoke):
    run = record_run(tmp_path / "run", [Fault.NONE, Fault.POLICY_RAISED])
    shown = invoke(run, "--trained-on", "language_table")
    assert shown.exit_code == 0, shown.output
    headings = ("policy", "perturbation", *(level.value for level in Level))
    (row,) = (row for row in shown_rows(shown.output, headings) if "base" in row)
    assert row[1:] == ["base", "1 of 2", "-", "-", "-"]
    # Three colours and three shapes were seen in the split; on the board stand all.
    shown = invoke(run, "--trained-on", "language_table_split")
    (row,) = (row for row in shown_rows(shown.output, headings) if "base" in row)
    assert row[2:4] == ["-", "-"]


def test_a_policy_of_which_nothing_says_what_it_was_trained_on_is_one_clear_line(tmp_path, invoke):
    refused = invoke(record_run(tmp_path / "run", [Fault.NONE]))
    assert refused.exit_code == 2
    assert "--trained-on" in refused.output and "film_bc" in refused.output
    refused = invoke(record_run(tmp_path / "other", [Fault.NONE]), "--trained-on", "everything")
    assert refused.exit_code == 2 and "language_table_split" in refused.output
