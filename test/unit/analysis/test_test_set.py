"""The test set's performance in three ways, from real sessions on the line world."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from line_world import LineBench, line_evaluation
from rich.console import Console

from robocontrast_ros.analysis.estimates.results import compute_results
from robocontrast_ros.analysis.estimates.test_set import draw_test_set
from robocontrast_ros.analysis.estimates.test_set import test_set_estimates as estimates_of
from robocontrast_ros.analysis.report.headline import THE_TEST_SET, estimators_of
from robocontrast_ros.analysis.tables.summary import estimates_tex, summary_report
from robocontrast_ros.domain import Fault
from robocontrast_ros.episodes.scoring.spl import Spl
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.statistics.clusters import cluster_mean
from robocontrast_ros.statistics.estimate import NO_ESTIMATE
from robocontrast_ros.strategies.limited_intervention import LimitedIntervention, LimitedInterventionSkip


@pytest.fixture
def results(tmp_path):
    """Run a session of 30 instances; return its results and its test set."""

    def ran(faults=(), **changes):
        evaluation = line_evaluation(**{"test_set_size": 30, **changes})
        run_session(evaluation, LineBench(faults=dict(faults)), tmp_path / "journal.jsonl")
        test_set = evaluation.test_set()
        return compute_results(read_journal(tmp_path / "journal.jsonl"), test_set), test_set

    return ran


def test_part_of_the_test_set_gives_all_three_estimates(results):
    found, test_set = results(max_trials=36)
    estimates = found.summary.estimates[found.summary.policy]
    trials = found.trials.filter("counts")
    base = trials.filter(pl.col("perturbation") == "base")
    assert (estimates.instances, estimates.run) == (len(test_set), base["base_id"].n_unique())
    assert estimates.plain == cluster_mean(trials["spl"], trials["base_id"])
    assert estimates.base == cluster_mean(base["spl"], base["base_id"])
    assert estimates.adjusted.mean == estimates.adjusted_of_domain.mean
    for narrow, wide in (
        (estimates.adjusted, estimates.adjusted_of_domain),
        (estimates.base_of_test_set, estimates.base),
    ):
        assert narrow.half_width < wide.half_width, "X is finite"
    assert estimates.target == "the mean over the 30 instances of the test set"
    assert estimates.without == ""


def test_once_all_of_it_was_run_the_test_sets_mean_is_known(results):
    found, _ = results(perturbations=())
    estimates = found.summary.estimates[found.summary.policy]
    mean = found.trials["spl"].mean()
    assert (estimates.adjusted.mean, estimates.adjusted.half_width) == (pytest.approx(mean), 0.0)
    assert estimates.base_of_test_set.half_width == 0.0
    assert estimates.base.half_width > 0.1
    words = "all 30 run: no sampling error"
    assert estimates.no_sampling_error == words
    text, shown = printed(found.summary), f"{mean:.2f}"
    assert text.count(f"{shown}, {words}") == 2, "by the base trials and adjusted"
    assert f"{shown} [{shown}, {shown}]" not in text
    assert estimates_tex(found.summary).count(f"${shown}$, {words}") == 2
    of_test_set = [one for one in estimators_of(found.summary) if one.target == THE_TEST_SET]
    assert [one.exact for one in of_test_set] == [words, words]
    assert {one.exact for one in estimators_of(found.summary) if one.target != THE_TEST_SET} == {""}


def printed(summary) -> str:
    """Return what the terminal shows of a summary, in 80 columns."""
    console = Console(width=80)
    with console.capture() as capture:
        console.print(summary_report(summary))
    text = capture.get()
    assert max(map(len, text.splitlines())) <= 80
    return text


def test_a_part_of_the_test_set_has_a_sampling_error(results):
    found, _ = results(max_trials=36)
    estimates = found.summary.estimates[found.summary.policy]
    assert estimates.no_sampling_error == ""
    assert "no sampling error" not in printed(found.summary) + estimates_tex(found.summary)


@pytest.mark.parametrize("strategy", [LimitedIntervention(), LimitedInterventionSkip()], ids=lambda s: s.name)
def test_trials_that_did_not_start_in_their_own_scenes_are_no_sample_of_the_test_set(results, strategy):
    found, _ = results(strategy=strategy, perturbations=())
    estimates = found.summary.estimates[found.summary.policy]
    assert estimates.adjusted is None
    assert "did not start in the scene of its test instance" in estimates.without
    assert estimates.base.mean is not None


def test_instances_that_were_picked_from_the_order_are_no_random_sample(results):
    found, test_set = results(max_trials=36)
    ids = [x.instance_id for x in test_set]
    picked = found.trials.filter(pl.col("base_id") != ids[3])
    assert "no random sample" in estimates_of(picked, test_set, Spl.spec).without
    later = found.trials.filter(pl.col("base_id").is_in(ids[4:]))
    assert estimates_of(later, test_set, Spl.spec).without == "", "those that a second policy went on with"


@pytest.mark.parametrize(
    "case",
    [{"budget": 0.0}, {"faults": {(0, 0): Fault.SIMULATOR_LOST}}, {"max_trials": 1}],
    ids=["empty", "void only", "one trial"],
)
def test_little_or_nothing_is_said_to_be_so(results, case):
    found, _ = results(**case)
    estimates = next(iter(found.summary.estimates.values()))
    if case != {"max_trials": 1}:
        assert estimates.plain == estimates.base == NO_ESTIMATE
        assert estimates.without == "no base trial was run"
    else:
        assert estimates.plain.mean == estimates.adjusted.mean
        assert estimates.plain.half_width is None
    text = printed(found.summary)
    assert "test-set mean of SPL" in text
    assert "nan" not in text.lower()


def test_a_run_whose_parameters_are_gone_still_has_plain_and_base(tmp_path, results):
    why = draw_test_set(RunFolder(tmp_path))
    assert why.startswith("the test set cannot be drawn again")
    found, _ = results(max_trials=10)
    estimates = estimates_of(found.trials, why, Spl.spec)
    assert (estimates.adjusted, estimates.without) == (None, why)
    assert estimates.base.mean is not None


def test_a_test_set_that_is_another_now_is_noticed(results):
    found, _ = results(max_trials=10)
    other = line_evaluation(test_set_size=30, seed=2).test_set()
    assert "with the run's instruction" in estimates_of(found.trials, other, Spl.spec).without


def test_a_run_of_language_table_has_its_test_set_drawn_again(language_table_run):
    folder, test_set = language_table_run
    drawn = draw_test_set(folder)
    assert [x.instance_id for x in drawn] == [x.instance_id for x in test_set]
    assert np.array_equal([x.optimal_path_length for x in drawn], [x.optimal_path_length for x in test_set])


@pytest.fixture
def language_table_run(tmp_path):
    """Make a run folder as a session does, and return it with the test set of the session."""
    session = resolve("language_table_demo", Overrides(output=str(tmp_path)))
    return session.new_run(0.0), session.evaluation().test_set()
