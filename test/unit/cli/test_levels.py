"""`robocontrast levels`: what ships, and the level of each trial of a run."""

from __future__ import annotations

import pytest
from played_runs import record_run
from typer.testing import CliRunner

from robocontrast_ros.cli.main import app
from robocontrast_ros.domain import Fault
from robocontrast_ros.tasks.levels import known_levels


@pytest.fixture
def invoke():
    return lambda *arguments: CliRunner().invoke(app, ["levels", *map(str, arguments)], env={"COLUMNS": "200"})


def test_the_files_that_ship_are_listed_with_the_policies_that_were_trained_so(invoke):
    shown = invoke()
    assert shown.exit_code == 0, shown.output
    (row,) = (line for line in shown.output.splitlines() if "film_bc, film_bc_state" in line)
    assert row.split("│")[5:9] == [" yes ", " yes ", " nothing new ", " nothing new "]


def test_at_80_columns_no_name_is_cut():
    shown = CliRunner().invoke(app, ["levels"], env={"COLUMNS": "80"})
    rows = [[cell.strip() for cell in line.split("│")] for line in shown.output.splitlines() if "│" in line]
    # A folded name goes on in the lines below, whose other cells are empty.
    assert "…" not in shown.output
    for levels in known_levels():
        assert levels.name in "".join(row[1] for row in rows)
        assert all(policy in "".join(row[2].replace(" ", "") for row in rows) for policy in levels.policies)


def test_the_trials_of_a_run_are_sorted_by_what_its_policy_was_trained_on(tmp_path, invoke):
    run = record_run(tmp_path / "run", [Fault.NONE, Fault.POLICY_RAISED])
    shown = invoke(run, "--trained-on", "language_table")
    assert shown.exit_code == 0, shown.output
    (row,) = (line for line in shown.output.splitlines() if "base" in line)
    assert [cell.strip() for cell in row.split("│")[2:7]] == ["base", "1 of 2", "-", "-", "-"]
    # Three colours and three shapes were seen in the split; on the board stand all.
    shown = invoke(run, "--trained-on", "language_table_split")
    (row,) = (line for line in shown.output.splitlines() if "base" in line)
    assert [cell.strip() for cell in row.split("│")[3:5]] == ["-", "-"]


def test_a_policy_of_which_nothing_says_what_it_was_trained_on_is_one_clear_line(tmp_path, invoke):
    refused = invoke(record_run(tmp_path / "run", [Fault.NONE]))
    assert refused.exit_code == 2
    assert "--trained-on" in refused.output and "film_bc" in refused.output
    refused = invoke(record_run(tmp_path / "other", [Fault.NONE]), "--trained-on", "everything")
    assert refused.exit_code == 2 and "language_table_split" in refused.output
