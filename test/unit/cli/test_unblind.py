"""A blind session as a user sees it, in the fast mode: codes while it runs, results for each policy at the end."""

from __future__ import annotations

import json

import pytest
import yaml
from session_runs import Workplace
from typer.testing import CliRunner

from robocontrast_ros.analysis.rescoring.recorded_trials import run_of
from robocontrast_ros.bags.reader import read_trial
from robocontrast_ros.cli.main import app
from robocontrast_ros.domain import Fault
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.runs.events import BlindingOpened, BlindSwap, SessionFinished, TrialFinished
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.sessions.fast_mode import open_bench
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.sessions.recording import trial_recorder
from robocontrast_ros.sessions.resolving import resolve

pytestmark = pytest.mark.usefixtures("figures_undrawn")

POLICIES = ("oracle", "random")


def invoke(*arguments):
    return CliRunner(env={"COLUMNS": "400"}).invoke(app, list(map(str, arguments)))


def begin(folder, **changes):
    """Return a blind session on two instances, and its new run folder."""
    content = {
        "name": "blind",
        "seed": 3,
        # The oracle needs 36 steps at most.
        "task": Workplace(folder).short_task(60),
        "robot": "franka",
        "blind": {"policies": list(POLICIES), "swap_time": 0.0},
        "strategy": {"name": "contrast_set", "perturbations": ["LB1", "SB1"]},
        "test_set": {"size": 2},
        "recording": {"images": False},
        "output": str(folder),
        **changes,
    }
    file = folder / "blind.yaml"
    file.write_text(yaml.safe_dump(content))
    session = resolve(file)
    return session, session.new_run(0.0)


def execute(session, run, lost=None, skip=None, **arguments):
    """Run a session in this process; in the trial of an index the bench is lost, or somebody skips."""
    bench = open_bench(session, recorder=trial_recorder(session, run))
    execute = bench.execute

    def losing(trial, attempt):
        if trial.index == lost:
            raise BenchFault(Fault.SIMULATOR_LOST, "gone")
        if trial.index == skip:
            raise BenchFault(Fault.SKIPPED, "the block is broken")
        return execute(trial, attempt)

    bench.execute = losing
    try:
        return run_session(session.evaluation(), bench, run.journal, **arguments)
    finally:
        bench.close()


def finished(run):
    return [event for event in read_journal(run.journal).events if isinstance(event, TrialFinished)]


def scores(run):
    return [repr((e.trial, e.result, e.observed, e.cost)) for e in finished(run)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    session, run = begin(tmp_path_factory.mktemp("whole"))
    assert isinstance(execute(session, run), SessionFinished)
    return run


def test_each_policy_has_the_results_of_a_session_of_its_own(whole):
    shown = invoke("results", whole.path)
    assert shown.exit_code == 0, shown.output
    assert "blinding kept: opened after the last of" in shown.output
    assert not (whole.path / "summary.json").exists(), "no mean over two policies"
    success = {}
    for name in POLICIES:
        folder = RunFolder.open(whole.policies / name)
        summary = json.loads((folder.path / "summary.json").read_text())
        assert summary["policy"] == name
        success[name] = next(row for row in summary["rows"] if row["perturbation"] == "base")
        assert all((folder.path / event.recording.bag).is_dir() for event in finished(folder))
    assert sum(len(finished(RunFolder(whole.policies / name))) for name in POLICIES) == len(finished(whole))
    assert success["oracle"] != success["random"]


def test_policies_of_a_blind_session_are_compared_pair_by_pair(whole, tmp_path):
    compared = invoke("compare", whole.path, "--to", tmp_path / "page.html", "--no-pictures", "--fail-on", "none")
    assert compared.exit_code == 0, compared.output
    table = json.loads((tmp_path / "page.json").read_text())
    assert str(len(finished(whole)) // 2) in json.dumps(table)


@pytest.mark.long
def test_the_page_of_a_policy_says_that_the_blinding_was_kept(whole):
    assert invoke("report", whole.path).exit_code == 0
    assert "blinding kept" in (whole.policies / "oracle" / "report.html").read_text()


def test_bags_name_the_place_in_the_order_and_no_policy(whole):
    for event in finished(whole):
        recording = read_trial(whole.path / event.recording.bag)
        assert run_of(recording.bag).path == whole.path
        assert recording.policy == f"{event.trial.index % 2 + 1} of 2"
    assert not any(name in path.name for path in whole.bags.rglob("*") for name in POLICIES)


def test_scores_from_the_bags_of_a_policy_are_those_of_its_journal(whole):
    invoke("results", whole.path)
    scored = invoke("score", whole.policies / "random", "--processes", 1)
    assert scored.exit_code == 0, scored.output


def test_an_interrupted_session_shows_nothing_and_goes_on_with_the_same_trials(whole, tmp_path):
    session, run = begin(tmp_path, recording="none")
    execute(session, run, lost=3)
    assert run.secret.is_file()
    shown = invoke("results", run.path)
    assert shown.exit_code == 0, shown.output
    assert "blinding: not opened; 3 trials so far; no results" in shown.output
    assert not any(name in shown.output for name in POLICIES)
    for command in (["report"], ["compare", run.path, "--to", tmp_path / "page.html"]):
        refused = invoke(*command, run.path)
        assert refused.exit_code == 2
        assert "cannot be taken apart by policy: it is not opened" in refused.output
    assert isinstance(execute(session, run, resume=True), SessionFinished)
    assert scores(run) == scores(whole)
    assert invoke("unblind", run.path).exit_code == 0


def test_a_trial_that_was_left_out_in_its_second_run_is_in_no_result_and_its_bag_is_kept(whole, tmp_path):
    session, run = begin(tmp_path)
    # Of the second instance; its base trial is the first one with an index in the second half.
    first = next(e.trial.index for e in finished(whole) if e.trial.block == 1)
    assert isinstance(execute(session, run, skip=first + 1), SessionFinished)
    assert scores(run)[:first] == scores(whole)[:first]
    shown = invoke("results", run.path)
    assert shown.exit_code == 0, shown.output
    assert f"blinding kept: opened after the last of {first} trials" in shown.output
    voids = []
    for name in POLICIES:
        summary = json.loads((run.policies / name / "summary.json").read_text())
        base = next(row for row in summary["rows"] if row["perturbation"] == "base")
        assert (base["trials"], base["skipped"]) == (1, 1)
        voids.append(base["void"])
    assert sorted(voids) == [1, 1], "the run that counts no longer, and the one that was skipped"
    compared = invoke("compare", run.path, "--to", tmp_path / "page.html", "--no-pictures", "--fail-on", "none")
    assert compared.exit_code == 0, compared.output
    assert "Trials without a partner" not in compared.output
    gone = next(e for e in finished(run) if e.trial.index == first)
    assert (run.path / gone.recording.bag).is_dir()
    scored = invoke("score", run.path, "--processes", 1)
    assert f"{first} of {first} trials: the scores from the bag are exactly" in scored.output
    corrected = invoke("correct", run.path, gone.trial.trial_id, "--failure", "--by", "Ada", "--reason", "seen again")
    assert corrected.exit_code == 2
    assert "trial that counts" in corrected.output


def test_who_opens_a_session_early_is_in_the_journal_and_it_goes_on_unblinded(whole, tmp_path):
    session, run = begin(tmp_path, recording="none")
    execute(session, run, lost=2)
    nobody = invoke("unblind", run.path)
    assert nobody.exit_code == 2
    assert "--by" in nobody.output
    opened = invoke("unblind", run.path, "--by", "Ada", "--reason", "the arm shakes")
    assert opened.exit_code == 1
    assert "blinding broken: opened by Ada after 2 trials, 0 came after it: the arm shakes" in opened.output
    execute(session, run, resume=True)
    assert scores(run) == scores(whole)
    events = [event for event in read_journal(run.journal).events if isinstance(event, BlindingOpened)]
    assert [(e.by, e.early, e.trials) for e in events] == [("Ada", True, 2)]
    after = len(finished(run)) - 2
    assert f"opened by Ada after 2 trials, {after} came after it" in invoke("results", run.path).output


def test_answers_and_changes_that_took_longer_are_counted(tmp_path):
    blind = {"policies": list(POLICIES), "swap_time": 0.2, "answer_time": 0.002}
    session, run = begin(tmp_path, blind=blind, strategy={"name": "standard"}, max_trials=2, recording="none")
    execute(session, run)
    swaps = [e.took for e in read_journal(run.journal).events if isinstance(e, BlindSwap)]
    assert len(swaps) == 2
    assert min(swaps) >= 0.2
    for event in finished(run):
        assert event.wall_time >= 0.002 * len(event.policy_latency)
    shown = invoke("unblind", run.path).output
    assert "Answers longer than 0.002 s: oracle" in shown
    assert "Policy changes longer than 0.2 s: oracle" in shown


def test_a_session_that_is_not_blind_cannot_be_opened(tmp_path):
    session, run = begin(tmp_path, blind=None, policy="random", strategy={"name": "standard"}, max_trials=1)
    execute(session, run)
    refused = invoke("unblind", run.path)
    assert refused.exit_code == 2
    assert "a session with `blind`" in refused.output
    refused = invoke("compare", run.path)
    assert refused.exit_code == 2
    assert "two run folders at least, or that of a blind session" in refused.output
