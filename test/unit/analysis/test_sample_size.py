"""Sample size for a target half-width, from a session on the line world."""

from __future__ import annotations

import pytest
from line_world import LineBench, line_evaluation
from rich.console import Console

from robocontrast_ros.analysis.estimates.results import compute_results
from robocontrast_ros.analysis.estimates.sample_size import sample_sizes
from robocontrast_ros.analysis.tables.sample_size import sample_size_block
from robocontrast_ros.analysis.tables.terminal import Table
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.statistics.sample_size import further_instances


@pytest.fixture
def results(tmp_path):
    """Run a session and return its results."""

    def ran(**changes):
        run_session(line_evaluation(**changes), LineBench(), tmp_path / "journal.jsonl")
        return compute_results(read_journal(tmp_path / "journal.jsonl"))

    return ran


def printed(sizes) -> str:
    console = Console(width=80)
    with console.capture() as capture:
        console.print(Table(sample_size_block(sizes)))
    return capture.get()


def test_further_instances_cost_what_those_that_were_run_did(results):
    found = results(test_set_size=12)
    base, plain = sample_sizes(found, (0.1, 0.9))
    trials = found.trials.filter("counts")
    for size, chosen in ((base, trials.filter(trials["perturbation"] == "base")), (plain, trials)):
        needed, reached = size.needed
        assert needed.instances == further_instances(chosen["spl"], chosen["base_id"], 0.1) > 0
        assert needed.trials == pytest.approx(needed.instances * len(trials) / 12, abs=1.0)
        assert needed.metres == pytest.approx(needed.instances * found.trials["setup_metres"].sum() / 12)
        assert needed.seconds == pytest.approx(needed.instances * found.trials["setup_seconds"].sum() / 12)
        assert (reached.instances, reached.trials, reached.metres) == (0, 0, 0.0)
    text = printed((base, plain))
    assert max(map(len, text.splitlines())) <= 80
    assert str(base.needed[0].instances) in text


@pytest.mark.parametrize("case", [{"budget": 0.0}, {"max_trials": 1}], ids=["empty", "one trial"])
def test_a_run_that_says_too_little_says_that_it_does(results, case):
    sizes = sample_sizes(results(**case))
    for size in sizes:
        assert all(needed.instances is None and needed.metres is None for needed in size.needed)
    assert "nan" not in printed(sizes).lower()
