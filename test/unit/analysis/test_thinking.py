"""Success against emulated latency: in the results, on the page, and as a slope."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from line_world import LineBench, MoveSource, line_evaluation
from rich.console import Console

from robocontrast_ros.analysis.estimates.results import compute_results
from robocontrast_ros.analysis.figures.paper import write_figures
from robocontrast_ros.analysis.report.run_page import run_page
from robocontrast_ros.analysis.tables.summary import summary_report
from robocontrast_ros.analysis.write_results import write_results
from robocontrast_ros.perturbations.composition import Composition
from robocontrast_ros.perturbations.observation import FilterParameters, ObservationPerturbation
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.statistics.clusters import paired_difference
from robocontrast_ros.statistics.proportions import wilson

SEVERITIES = {1: 0.1, 3: 0.4, 5: 1.6}
"""Of `thinking` -> time of an answer [s]."""


class SlowBench(LineBench):
    """The worse, the longer the policy thinks."""

    policy_faults = 0.0

    def execute(self, trial, attempt):
        seconds = [SEVERITIES.get(each.severity, 0.0) for each in trial.instance.observation]
        self.skill = 0.9 - 0.5 * sum(seconds)
        return super().execute(trial, attempt)


def ran(folder, *names_and_severities, size=20, composed=()) -> RunFolder:
    perturbations = tuple(
        ObservationPerturbation(name, FilterParameters(severity=severity)) for name, severity in names_and_severities
    )
    perturbations += composed
    run = RunFolder(folder)
    run_session(line_evaluation(perturbations=perturbations, test_set_size=size), SlowBench(), run.journal)
    return run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    # The order of the session is not that of the latencies.
    order = (("thinking", 5), ("blur", 3), ("thinking", 1), ("thinking_drawn", 2), ("thinking", 3))
    return ran(tmp_path_factory.mktemp("slow"), *order)


def test_a_curve_has_a_point_for_each_latency_and_the_base_trials_as_control_at_0_s(run):
    results = compute_results(read_journal(run.journal))
    (curve,) = results.summary.curves  # one latency of `thinking_drawn` is no curve, and blur no latency
    assert (curve.filter, curve.trials, curve.instances) == ("thinking", 80, 20)
    assert [point.seconds for point in curve.points] == [0.0, *SEVERITIES.values()]
    names = ["base", *(f"thinking_{severity}" for severity in SEVERITIES)]
    success = {}
    for name, point in zip(names, curve.points, strict=True):
        own = results.trials.filter(pl.col("perturbation") == name).sort("base_id")
        success[name] = own["success"].cast(pl.Float64).to_numpy()
        assert point.trials == 20
        found, expected = (
            (each.mean, each.low, each.high) for each in (point.success, wilson(int(success[name].sum()), 20))
        )
        assert found == pytest.approx(expected)
        if name != "base":
            assert point.difference == paired_difference(success[name], success["base"])
    x = np.repeat([point.seconds for point in curve.points], 20)
    assert curve.slope.mean == pytest.approx(np.polyfit(x, np.concatenate(list(success.values())), 1)[0])
    assert curve.slope.low < curve.slope.mean < curve.slope.high < 0.0, "the policy does worse the longer it thinks"


def test_the_curve_is_printed_drawn_and_on_the_page(run):
    results = write_results(run)
    console = Console(width=80)
    with console.capture() as capture:
        console.print(summary_report(results.summary))
    shown = capture.get()
    point = results.summary.curves[0].points[-1]
    assert "success against latency (thinking)" in shown and f"1.6 s {point.trials}" in " ".join(shown.split())
    assert json.loads((run.path / "summary.json").read_text())["curves"][0]["points"][1]["seconds"] == 0.1
    page = run_page(run, read_journal(run.journal), results, now=1.8e9)
    assert "Success against emulated latency" in page and page.count("slope a second") == 1
    assert (run.figures / "latency.pdf") in write_figures(run, results)


@pytest.mark.long
def test_one_latency_and_a_run_without_any_have_no_curve(tmp_path):
    for number, perturbations in enumerate(((("thinking", 3),), (("blur", 1), ("blur", 3)))):
        folder = tmp_path / str(number)
        folder.mkdir()
        results = compute_results(read_journal(ran(folder, *perturbations, size=2).journal))
        assert results.summary.curves == ()
        assert "latency.pdf" not in {file.name for file in write_figures(RunFolder(folder), results)}


def test_a_latency_that_is_composed_with_something_else_is_on_no_curve(tmp_path):
    other = Composition([MoveSource(), ObservationPerturbation("thinking", FilterParameters(severity=3))])
    run = ran(tmp_path, ("thinking", 1), ("thinking", 5), size=4, composed=(other,))
    (curve,) = compute_results(read_journal(run.journal)).summary.curves
    assert [point.seconds for point in curve.points] == [0.0, SEVERITIES[1], SEVERITIES[5]]
