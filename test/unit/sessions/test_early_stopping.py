"""A session ends when its base trials have answered its question, at the stated error rate."""

from __future__ import annotations

import json
import math
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from line_world import LineBench, LineTask, SwappingLineBench, line_evaluation, with_scores

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import BASE, Scene, Trial, TrialResult
from robocontrast_ros.runs.events import Event, SessionFinished, TrialFinished
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.sessions.control import SessionControl
from robocontrast_ros.sessions.early_stopping import begin_stopping
from robocontrast_ros.sessions.loop import Session, run_session
from robocontrast_ros.sessions.plan import plan_session
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.sessions.schema import StopEarlyParameters
from robocontrast_ros.strategies.limited_intervention import LimitedIntervention, LimitedInterventionSkip
from robocontrast_ros.strategies.standard import Standard


@dataclass
class Tossed(LineBench):
    """A bench on which a coin alone says whether a trial succeeds.

    Attributes:
        chance: probability of success.
    """

    chance: float = 0.5

    def _result(self, trial: Trial, start: Scene, luck: float, share: float) -> TrialResult:
        success = float(luck < self.chance)
        return with_scores(super()._result(trial, start, luck, share), success=success, spl=success * share)


@dataclass
class AlwaysAlike(Tossed):
    """A bench on which two of three instances succeed, and one fails, however often it is tried."""

    def _result(self, trial: Trial, start: Scene, luck: float, share: float) -> TrialResult:
        return super()._result(trial, start, float(int(trial.base_id[1:]) % 3 == 0), share)


@dataclass
class Kept:
    """Events in memory."""

    events: list[Event] = field(default_factory=list)

    def append(self, event: Event) -> None:
        """Keep it."""
        self.events.append(event)


def asking(**question) -> StopEarlyParameters:
    return StopEarlyParameters(**{"score": "success", **question})


def evaluation(size=40, **changes):
    attributes = {"strategy": Standard(), "perturbations": (), "test_set_size": size}
    return line_evaluation(**{**attributes, **changes})


def ended(bench, **changes) -> tuple[SessionFinished, list[Trial]]:
    """Run a session without a disk and return how it ended, and its trials."""
    kept = Kept()
    end = Session(evaluation(**changes), bench, kept, SessionControl(), lambda status: None, lambda: 0.0).run()
    return end, [e.trial for e in kept.events if isinstance(e, TrialFinished)]


@pytest.fixture
def path(tmp_path):
    folder = tmp_path / "present_run"
    folder.mkdir()
    return folder / "journal.jsonl"


def test_a_session_ends_when_the_mean_is_known_to_be_above_the_threshold(path):
    whole = evaluation(stop_early=asking(threshold=0.5))
    told = []
    end = run_session(whole, Tossed(chance=1.0), path, observer=told.append)
    assert told[-1].detail == "the question of stop_early is answered"
    assert not any(word in status.detail for status in told for word in ("confidence", "above", "below"))
    number = sum(isinstance(e, TrialFinished) for e in read_journal(path).events)
    assert end == read_journal(path).events[-1]
    assert (end.reason, end.sequential.decided, end.sequential.instances) == ("decided", True, number)
    assert number < 15
    assert end.sequential.low > 0.5
    assert end.detail == (
        f"stop_early: mean success of base trials is above 0.5: confidence sequence {end.sequential.low:.3f} to "
        f"1.000, error rate 0.05, {number} test instances"
    )


def test_a_session_that_decides_nothing_goes_on_and_says_what_is_known():
    end, trials = ended(Tossed(chance=0.5), size=12, stop_early=asking(threshold=0.5))
    assert (end.reason, end.sequential.decided, len(trials)) == ("all_trials", False, 12)
    assert end.detail.startswith(
        "all 12 trials are done; stop_early has not decided about the mean success of base trials: confidence "
    )
    end, _ = ended(Tossed(), max_trials=3, stop_early=asking(half_width=0.1))
    assert end.detail.startswith("max_trials: 3 trials are done; stop_early has not decided about the mean")
    told = []
    undecided = evaluation(max_trials=3, stop_early=asking(half_width=0.1))
    Session(undecided, Tossed(), Kept(), SessionControl(), told.append, lambda: 0.0).run()
    assert told[-1].detail == "max_trials: 3 trials are done; the question of stop_early is not answered"


def test_a_session_ends_when_the_mean_is_known_as_exactly_as_wanted():
    end, trials = ended(Tossed(), size=400, stop_early=asking(half_width=0.2))
    assert end.reason == "decided"
    assert len(trials) < 100
    assert (end.sequential.high - end.sequential.low) / 2 <= 0.2
    assert "is known to ±0.2" in end.detail


def test_only_base_trials_count_and_their_repeats_as_one(path):
    asked = asking(threshold=0.5)
    end, trials = ended(Tossed(chance=1.0), stop_early=asked)
    repeated, more = ended(
        Tossed(chance=1.0),
        stop_early=asked,
        repeats=3,
        strategy=line_evaluation().strategy,
        perturbations=line_evaluation().perturbations,
    )
    assert repeated.sequential == end.sequential
    assert sum(t.is_base for t in more) == 3 * len(trials)
    assert more[-1].perturbation == BASE
    assert len(more) > 3 * len(trials)


@pytest.mark.parametrize(
    ("score", "metric", "expected"),
    [("metric", "spl", "SPL"), ("success", "spl", "success"), ("metric", "progress", "progress")],
)
def test_the_score_is_the_tasks_metric_or_success_as_the_file_says(score, metric, expected):
    task = LineTask()
    task.metric = metric
    end, _ = ended(Tossed(), task=task, size=3, stop_early=StopEarlyParameters(score=score, threshold=0.5))
    assert end.sequential.score == (metric if score == "metric" else "success")
    assert f"mean {expected} of base trials" in end.detail


def test_the_error_rate_of_whole_sessions_is_kept_and_a_clear_case_is_decided_early():
    sessions, wrong, numbers = 80, 0, []
    for seed in range(sessions):
        asked = asking(threshold=0.5, error_rate=0.2)
        end, _ = ended(Tossed(chance=0.5), seed=seed, size=20, stop_early=asked)
        wrong += end.sequential.decided
        if seed < 8:
            clear, trials = ended(Tossed(chance=0.9), seed=seed, size=40, stop_early=asked)
            assert clear.sequential.low > 0.5
            numbers.append(len(trials))
    # Three standard deviations above the stated rate, and not so few that the test could not decide at all.
    assert 0 < wrong / sessions <= 0.2 + 3 * math.sqrt(0.2 * 0.8 / sessions)
    assert np.mean(numbers) < 20


def compared(path: Path, **changes):
    return evaluation(stop_early=asking(compare_with=str(path)), **changes)


@pytest.fixture
def other(tmp_path):
    """The run folder of a session that a bad policy has been through."""
    folder = tmp_path / "other_run"
    folder.mkdir()
    run_session(evaluation(), Tossed(chance=0.1), folder / "journal.jsonl")
    return folder


def test_two_policies_are_compared_on_the_same_instances(path, other):
    end = run_session(compared(other), Tossed(chance=0.95), path)
    assert end.reason == "decided"
    assert end.sequential.question == "compare_with"
    known = end.sequential
    assert 0.0 < known.low < known.high <= 1.0
    assert known.pairs == 40
    assert end.detail == (
        f"stop_early: difference to other_run in mean success of base trials is above 0: of {known.instances} pairs, "
        f"this policy alone succeeded in {known.here_alone}, that of other_run alone in {known.there_alone} "
        "(sequential sign test for at most 40 pairs, error rate 0.05); confidence sequence "
        f"{known.low:.3f} to {known.high:.3f}, which has the same error rate and may contain 0"
    )
    assert sum(isinstance(e, TrialFinished) for e in read_journal(path).events) == known.instances < 15


def test_the_sign_test_ends_sessions_sooner_than_the_betting_test_which_repeats_take(path, other):
    instances = {}
    for repeats in (1, 2):
        # A coin that always falls alike, so that repeats change nothing but the test.
        file = path.with_name(f"{repeats}.jsonl")
        end = run_session(compared(other, repeats=repeats), AlwaysAlike(), file)
        assert end.reason == "decided"
        assert (end.sequential.pairs is None) == (repeats == 2)
        assert (read_journal(file).started.pairs is None) == (repeats == 2)
        instances[repeats] = end.sequential.instances
    assert instances[1] < instances[2]


def test_the_confidence_sequence_never_says_more_than_the_sign_test(path, other):
    # Of at most 1000 pairs, the sign test asks for nine that all go one way, the betting test for eight.
    large = compared(other, size=40)
    stopping = begin_stopping(large, replace(read_journal(other / "journal.jsonl").started, pairs=1000))
    finished = [e for e in read_journal(other / "journal.jsonl").events if isinstance(e, TrialFinished)]
    failed = [e for e in finished if not e.result.success]
    for number, event in enumerate(failed, 1):
        stopping.add(replace(event, result=with_scores(event.result, success=1.0)), None)
        state = stopping.state
        assert stopping.decided == (state.low > 0.0), number
        if stopping.decided:
            break
    assert number > 8


def test_the_same_policy_is_never_different_from_itself(path, other):
    end = run_session(compared(other), Tossed(chance=0.1), path)
    assert (end.reason, end.sequential.instances) == ("all_trials", 40)
    assert end.sequential.low < 0.0 < end.sequential.high


def test_instances_that_the_other_run_lacks_are_not_compared(path, tmp_path):
    folder = tmp_path / "short"
    folder.mkdir()
    run_session(evaluation(max_trials=5), Tossed(chance=0.0), folder / "journal.jsonl")
    end = run_session(compared(folder), Tossed(chance=1.0), path)
    assert (end.reason, end.sequential.instances) == ("all_trials", 5)


@pytest.mark.parametrize(
    ("there", "message"),
    [
        (
            {"parameters": {"session": {"seed": 2}}, "seed": 2},
            r"journal\.jsonl: `session\.seed`: got 2, expected 1, as in the session .* the same seed, task",
        ),
        (
            {"parameters": {"session": {"seed": 1}, "task": {"step_limit": 3}}},
            r"`task`: got \{'step_limit': 3\}, exp",
        ),
        (
            {"parameters": {"session": {"seed": 1, "test_set": {"families": ["block_to_block"]}}}},
            r"`session\.test_set\.families`: got \['block_to_block'\], expected None",
        ),
        (
            {"strategy": LimitedIntervention()},
            "in the scene of the test set.*not one of limited_intervention or limited_intervention_skip",
        ),
        ({"strategy": LimitedInterventionSkip()}, "in the scene of the test set"),
        ({"families": ("block_to_block",)}, "as base trial of x00.* nor of another version of the task"),
    ],
)
def test_a_run_of_other_base_trials_is_refused_before_anything_moves(path, tmp_path, there, message):
    folder = tmp_path / "there"
    folder.mkdir()
    run_session(evaluation(**there), Tossed(chance=1.0), folder / "journal.jsonl")
    bench = Tossed()
    with pytest.raises(ConfigurationError, match=message):
        run_session(compared(folder), bench, path)
    assert not bench.moved
    assert read_journal(path).events == ()


def test_a_run_that_is_none_or_has_no_base_trial_or_several_policies_is_refused(path, tmp_path):
    with pytest.raises(
        ConfigurationError, match=r"`stop_early\.compare_with`: got .* expected a run folder with a jou"
    ):
        run_session(compared(tmp_path / "nothing"), Tossed(), path)
    folder = tmp_path / "empty"
    folder.mkdir()
    (folder / "journal.jsonl").touch()
    with pytest.raises(ConfigurationError, match="a run folder in which a session was begun"):
        run_session(compared(folder), Tossed(), path)
    (folder / "journal.jsonl").unlink()
    control = SessionControl()
    control.abort("not today")
    run_session(evaluation(), Tossed(), folder / "journal.jsonl", control=control)
    with pytest.raises(ConfigurationError, match="got 'no base trial of this test set'"):
        run_session(compared(folder), Tossed(), path)
    swapped = tmp_path / "swapped"
    swapped.mkdir()
    control = SessionControl()
    bench = SwappingLineBench(before_trial=lambda trial: control.swap("second") if trial.index == 3 else None)
    run_session(evaluation(), bench, swapped / "journal.jsonl", control=control)
    with pytest.raises(ConfigurationError, match="got 'several policies'"):
        run_session(compared(swapped), Tossed(), path)


def test_another_policy_begins_the_test_anew(path):
    control = SessionControl()

    def ask(trial):
        if trial.index == 4:
            control.swap("second")

    bench = SwappingLineBench(policies={"first": 1.0, "second": 0.0}, policy_faults=0.0, before_trial=ask)
    asked = asking(threshold=0.5)
    end = run_session(evaluation(stop_early=asked), bench, path, control=control)
    finished = [e for e in read_journal(path).events if isinstance(e, TrialFinished)]
    assert end.reason == "decided"
    assert end.sequential.high < 0.5
    assert end.sequential.instances == len(finished) - 5


def interrupted(asked, chance: float, path: Path, after: int) -> None:
    """Run a session, or go on with it, until somebody stops it during the trial after so many more."""
    control, calls = SessionControl(), iter(range(100))

    def stop(call):
        if call == "execute" and next(calls) == after:
            control.abort("stopped")

    run_session(asked, Tossed(chance=chance, on_call=stop), path, resume=path.exists(), control=control)


@given(
    deaths=st.lists(st.integers(0, 20), max_size=3),
    seed=st.integers(0, 1000),
    question=st.sampled_from([{"threshold": 0.5}, {"half_width": 0.25}]),
)
@settings(max_examples=6, deadline=None)
def test_a_session_that_was_interrupted_ends_where_one_that_was_not_does(deaths, seed, question):
    asked = evaluation(size=20, seed=seed, stop_early=asking(**question))
    with tempfile.TemporaryDirectory() as folder:
        whole, broken = Path(folder, "whole.jsonl"), Path(folder, "broken.jsonl")
        expected = run_session(asked, Tossed(chance=0.8), whole, clock=lambda: 0.0)
        for after in deaths:
            interrupted(asked, 0.8, broken, after)
        end = run_session(asked, Tossed(chance=0.8), broken, resume=True, clock=lambda: 0.0)
        assert replace(end, time=0.0) == expected


def test_a_journal_that_ends_just_before_the_decision_was_written_is_decided_again(path):
    asked = evaluation(stop_early=asking(threshold=0.5))
    end = run_session(asked, Tossed(chance=1.0), path, clock=lambda: 0.0)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))
    bench = Tossed(chance=1.0)
    assert run_session(asked, bench, path, resume=True, clock=lambda: 0.0) == end
    assert bench.executed == []


@pytest.mark.parametrize("deaths", [(0,), (3, 4), (5, 1, 1)])
def test_a_comparison_that_was_interrupted_ends_where_one_that_was_not_does(path, other, deaths):
    asked = compared(other, max_trials=30)
    whole = path.with_name("whole.jsonl")
    expected = run_session(asked, Tossed(chance=0.6), whole, clock=lambda: 0.0)
    assert (expected.reason, expected.sequential.pairs) == ("decided", 30)
    for after in deaths:
        interrupted(asked, 0.6, path, after)
    assert run_session(asked, Tossed(chance=0.6), path, resume=True, clock=lambda: 0.0) == expected


def test_a_session_that_the_betting_test_began_goes_on_with_it(path, other):
    asked = compared(other)
    began = run_session(asked, AlwaysAlike(), path, clock=lambda: 0.0)
    assert began.sequential.pairs == 40
    first, *lines = path.read_bytes().splitlines(keepends=True)
    before = json.loads(first)
    del before["pairs"]
    path.write_bytes(json.dumps(before).encode() + b"\n" + b"".join(lines[:-1]))
    end = run_session(asked, AlwaysAlike(), path, resume=True)
    assert (end.reason, end.sequential.pairs) == ("decided", None)
    assert end.sequential.instances > began.sequential.instances
    assert end.sequential.low > 0.0
    assert "confidence sequence" in end.detail and "sign test" not in end.detail


def test_the_most_number_of_pairs_stays_what_it_was_when_the_session_began(path, tmp_path):
    folder = tmp_path / "grows"
    folder.mkdir()
    there, asked = folder / "journal.jsonl", compared(folder)
    interrupted(evaluation(), 0.0, there, 10)
    interrupted(asked, 0.5, path, 2)
    began = read_journal(path).started.pairs
    assert 10 <= began <= 11
    run_session(evaluation(), Tossed(chance=0.0), there, resume=True)
    assert run_session(asked, Tossed(chance=1.0), path, resume=True).sequential.pairs == began


def test_a_run_that_has_repeats_by_now_is_refused(path, tmp_path):
    folder = tmp_path / "repeated"
    folder.mkdir()
    there, asked = folder / "journal.jsonl", compared(folder)
    run_session(evaluation(repeats=2, max_trials=1), Tossed(), there)
    interrupted(asked, 0.5, path, 0)
    there.unlink()
    run_session(evaluation(repeats=2), Tossed(), there)
    with pytest.raises(ConfigurationError, match="several base trials of an instance', expected one, as"):
        run_session(asked, Tossed(), path, resume=True)


def test_the_plan_takes_no_notice():
    plain, asked = (plan_session(evaluation(size=20, stop_early=s)) for s in (None, asking(threshold=0.5)))
    assert asked.trials == plain.trials


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stop_early": {"error_rate": 0.05}}, "one of `threshold`, `compare_with` and `half_width`"),
        (
            {"stop_early": {"threshold": 0.5, "half_width": 0.1}},
            "one of `threshold`, `compare_with` and `half_width`",
        ),
        ({"stop_early": {"threshold": 1.5}}, r"`stop_early\.threshold`: got 1.5"),
        (
            {"stop_early": {"threshold": 0.5}, "strategy": {"name": "cost_ordered"}},
            r"`strategy\.name`: got 'cost_ordered', expected beside `stop_early`, a strategy whose base trials are",
        ),
        (
            {"stop_early": {"threshold": 0.5}, "strategy": {"name": "limited_intervention"}},
            "Take `standard`, `contrast_set` or `adaptive`",
        ),
        (
            {"stop_early": {"threshold": 0.5}, "strategy": {"name": "limited_intervention_skip"}},
            "Take `standard`, `contrast_set` or `adaptive`",
        ),
    ],
)
def test_a_question_that_cannot_be_asked_is_refused(tmp_path, changes, message):
    with pytest.raises(ConfigurationError, match=message):
        resolve(session_file(tmp_path, **changes))


def test_the_run_to_compare_with_is_a_path_relative_to_the_sessions_file(tmp_path):
    question = {"compare_with": "runs/there", "error_rate": 0.1}
    resolved = resolve(session_file(tmp_path, stop_early=question))
    assert resolved.evaluation().session.stop_early.compare_with == str(tmp_path / "runs" / "there")


def session_file(folder: Path, **changes) -> Path:
    content = {
        "name": "mine",
        "seed": 1,
        "task": "language_table",
        "robot": "franka",
        "policy": "oracle",
        "strategy": {"name": "standard"},
        "test_set": {"size": 3},
        **changes,
    }
    path = folder / "session.yaml"
    path.write_text(yaml.safe_dump(content))
    return path
