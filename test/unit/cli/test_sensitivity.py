"""`robocontrast sensitivity` as its user meets it: real journals, the console, and the files."""

from __future__ import annotations

import csv
import json
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from cluttered_runs import Ran, cluttered_run
from typer.testing import CliRunner

from robocontrast_ros.analysis.estimates.sensitivity import sensitivity_of
from robocontrast_ros.analysis.figures.sensitivity import drawings_of
from robocontrast_ros.analysis.tables.sensitivity import COLUMNS
from robocontrast_ros.cli.main import app

RNG = np.random.default_rng(2)
DVFC = RNG.uniform(2.0, 4.0, 60)
TRIALS = [Ran(n, 2, 0.0, float(dvfc), solved=bool(dvfc < 3.0)) for n, dvfc in enumerate(DVFC)]
"""Success below the middle alone."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return [cluttered_run(folder / policy, policy, TRIALS).path for policy in ("first", "second")]


def invoke(*arguments):
    return CliRunner(env={"COLUMNS": "80"}).invoke(app, ["sensitivity", *map(str, arguments)])


def refused(result) -> str:
    assert result.exit_code == 2, result.output
    (line,) = result.stderr.strip().splitlines()
    assert line.startswith("error: ")
    return line


def test_one_command_makes_table_file_and_figures(runs, tmp_path):
    result = invoke(*runs, "--to", tmp_path / "out", "--bins", "4")
    assert result.exit_code == 0, result.output
    for words in ("first: distractors_2, dvfc", "second: distractors_2, dvfc", "ratio", "splines", "success"):
        assert words in result.output, words
    # What does not vary is no condition.
    assert "occlusion" not in result.output
    assert {file.name for file in (tmp_path / "out").iterdir()} == {
        "sensitivity.csv",
        "distractors_2_dvfc.pdf",
        "distractors_2_dvfc.png",
    }
    with (tmp_path / "out" / "sensitivity.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8 and set(rows[0]) == set(COLUMNS)
    first, last = rows[0], rows[3]
    assert float(first["ratio_mean"]) == pytest.approx(60 / sum(DVFC < 3.0))
    assert float(first["ratio_low"]) > 1.0 > float(last["ratio_high"]) and float(last["ratio_mean"]) == 0.0
    assert float(first["spline_low"]) > 1.0 > float(last["spline_high"])
    for line in result.output.splitlines():
        assert len(line) <= 80 or line.startswith(("table: ", "figure: ")), line


def test_a_run_without_conditions_an_unknown_one_and_a_missing_package_are_one_line_each(runs, tmp_path):
    plain = cluttered_run(tmp_path / "plain", "plain", [Ran(n, solved=True) for n in range(8)])
    assert "Name `camera_pose`, `looks` or `object_poses`" in refused(invoke(plain.path))
    assert "got 'dvcf', expected" in refused(invoke(runs[0], "--condition", "dvcf"))
    if find_spec("sbi") is None:
        assert "Install the extra `neural`" in refused(invoke(runs[0], "--neural"))


def test_names_that_were_drawn_are_conditions_too():
    lights = ["dim_lamp", "window_lamp"] * 20
    proofs = [json.dumps({f"light={light}": 1.0, "table=oak_table": 1.0}) for light in lights]
    trials = pl.DataFrame(
        {
            "counts": True,
            "policy": "seeing",
            "perturbation": "looks",
            "proof": proofs,
            "outcome": ["FAILURE", "SUCCESS"] * 20,
            "cluster": [str(n // 2) for n in range(40)],
        }
    )
    summary = SimpleNamespace(seed=1, row=lambda *which: SimpleNamespace(symbol="ΔS looks"))
    (light,) = sensitivity_of([SimpleNamespace(trials=trials, summary=summary)])
    assert (light.name, light.trials, light.instances, light.curve) == ("light", 40, 20, None)
    assert [(g.name, g.trials, g.ratio.mean) for g in light.groups] == [("dim_lamp", 20, 0.0), ("window_lamp", 20, 2.0)]
    assert set(drawings_of([light])) == {"looks_light"}
