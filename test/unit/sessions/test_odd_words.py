"""Words that nobody expects go through a whole trial, and come back from journal and bag as they were."""

from __future__ import annotations

from dataclasses import replace

import pytest
from session_runs import Workplace
from typer.testing import CliRunner

from robocontrast_ros.bags.reader import read_trial
from robocontrast_ros.cli.main import app
from robocontrast_ros.configuration.errors import LONGEST
from robocontrast_ros.domain import Expectation, Fault, Outcome, Perturbed
from robocontrast_ros.runs.events import SessionFinished, TrialFinished
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.sessions.fast_mode import open_bench
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.sessions.recording import trial_recorder
from robocontrast_ros.sessions.resolving import resolve

ODD = {
    "long": "push " * 20_000,
    "emoji": "push the 🌙 to the 👩‍👩‍👧 \U0001f7e5",
    "right_to_left": "\u202bادفع القمر الأحمر إلى اليسار\u202c",  # noqa: RUF001
    "empty": "",
    "lines": 'push\tthe\r\n"red moon" \\ {left} [red]now[/] \x07',
}


class Odd:
    """The instance with other words, in its own scene."""

    axes, plausible, expectation = "L", False, Expectation.SHOULD_FAIL

    def __init__(self, name: str) -> None:
        self.name, self.symbol, self.description = name, f"Δ{name}", name

    def supports(self, task):
        return True

    def apply(self, task, base, scene, rng):
        told = replace(base.instruction, text=ODD[self.name], segments=(), meant=base.instruction.text)
        return Perturbed(replace(base, instance_id=f"{base.instance_id}-1", instruction=told), "other words")


@pytest.fixture(scope="module", params=["oracle", "film_bc_state"])
def run(request, tmp_path_factory):
    """Return the run folder of a base trial and one trial with each text, and the policy's name."""
    if request.param == "film_bc_state":
        pytest.importorskip("torch", reason="needs PyTorch")
    place = Workplace(tmp_path_factory.mktemp(request.param))
    content = {
        "policy": request.param,
        "task": place.short_task(6),
        "test_set": {"size": 1},
        "strategy": {"name": "contrast_set", "perturbations": ["mask_all"]},
        "recording": {"images": False},
    }
    session = resolve(str(place.session(**content)))
    evaluation = replace(session.evaluation(), perturbations=tuple(map(Odd, ODD)))
    run = session.new_run(1_790_000_000.0)
    bench = open_bench(session, recorder=trial_recorder(session, run))
    try:
        assert isinstance(run_session(evaluation, bench, run.journal), SessionFinished)
    finally:
        bench.close()
    return run, request.param


def trials(run):
    return [event for event in read_journal(run.journal).events if isinstance(event, TrialFinished)]


def test_journal_and_bag_have_the_words_as_they_were_and_the_policy_received_them(run):
    folder, policy = run
    told = {event.trial.perturbation: event for event in trials(folder)}
    # MiniLM reads 512 tokens, so the policy that goes by it is not told the long text.
    assert set(told) == {"base", *ODD} - ({"long"} if policy == "film_bc_state" else set())
    for name, event in told.items():
        if name == "base":
            continue
        assert event.trial.instance.instruction.text == ODD[name]
        # A policy that fails before its first answer has not said what it received.
        assert event.observed.instruction == ("" if policy == "oracle" else ODD[name])
        recorded = read_trial(folder.path / event.recording.bag)
        assert (recorded.trial, recorded.broken) == (event.trial, "")
        assert repr(recorded.result) == repr(event.result), "as text NaN equals NaN"


def test_the_oracle_fails_and_says_why_in_few_words_and_a_network_goes_on(run):
    folder, policy = run
    for event in trials(folder):
        result = event.result
        if policy == "oracle" and not event.trial.is_base:
            assert (result.outcome, result.fault) == (Outcome.POLICY_FAULT, Fault.POLICY_RAISED)
            assert result.detail.startswith("ValueError: ") and len(result.detail) <= LONGEST
        else:
            assert (result.fault, result.detail) == (Fault.NONE, "")


def test_the_scores_from_the_bags_are_those_of_the_journal(run):
    folder, _ = run
    told = CliRunner(env={"COLUMNS": "120"}).invoke(app, ["score", str(folder.path)])
    count = len(trials(folder))
    assert told.output == f"{count} of {count} trials: the scores from the bag are exactly the journal's.\n"
