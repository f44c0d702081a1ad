"""`robocontrast results --within`: the sample size for a target half-width."""

from __future__ import annotations

import json

import pytest
from played_runs import record_run
from typer.testing import CliRunner

from robocontrast_ros.cli.main import app
from robocontrast_ros.domain import Fault


@pytest.fixture
def invoke():
    return lambda *arguments: CliRunner().invoke(app, ["results", *map(str, arguments)], env={"COLUMNS": "80"})


def test_results_give_the_sample_size_for_a_target_half_width(tmp_path, invoke):
    run = record_run(tmp_path / "run", [Fault.NONE, Fault.POLICY_RAISED, Fault.NONE], void=1)
    asked = invoke(run, "--within", "0.1")
    assert asked.exit_code == 0, asked.output
    assert "± target" in asked.output and "more instances" in asked.output
    assert "test-set mean of SPL" in asked.output
    estimates = json.loads((run / "summary.json").read_text())["estimates"]
    (found,) = estimates.values()
    assert found["adjusted"] is None
    assert found["without"].startswith("the test set cannot be drawn again")
    assert found["base"]["low"] < found["base"]["mean"] < found["base"]["high"]


@pytest.mark.parametrize("within", ["0", "-1", "0.6", "soon"])
def test_a_precision_that_makes_no_sense_is_refused(tmp_path, invoke, within):
    refused = invoke(tmp_path, "--within", within)
    assert refused.exit_code == 2
    assert "--within" in refused.output
