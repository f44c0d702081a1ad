"""How far camera and person agree, as results show it."""

from dataclasses import replace

import pytest
from line_world import LineBench, line_evaluation

from robocontrast_ros.analysis.estimates.judges import judges_of
from robocontrast_ros.analysis.tables.summary import judges_words
from robocontrast_ros.domain import Judgement
from robocontrast_ros.runs.events import TrialFinished
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.statistics.agreement import agreement


@pytest.fixture(scope="module")
def trials(tmp_path_factory):
    """Real trials, some solved and some not."""
    path = tmp_path_factory.mktemp("run") / "journal.jsonl"
    run_session(line_evaluation(test_set_size=6), LineBench(skill=0.5), path)
    finished = [event for event in read_journal(path).events if isinstance(event, TrialFinished)]
    assert len({event.result.success for event in finished}) == 2
    return finished


def told(trial, *, advises=True, agrees=True):
    success = bool(trial.result.success) is agrees
    return replace(trial, judgement=Judgement(success, 1.0, "Ada", advises=advises))


def test_only_trials_that_the_camera_decided_are_compared(trials):
    judged = [told(trial, advises=k % 3 > 0, agrees=k % 5 > 0) for k, trial in enumerate(trials)]
    judges = judges_of(judged, "camera")
    both = [trial for trial in judged if trial.judgement.advises]
    assert (judges.both, judges.asked) == (len(both), len(judged) - len(both))
    expected = agreement(
        [bool(trial.result.success) for trial in both],
        [trial.judgement.success for trial in both],
        [trial.trial.base_id for trial in both],
    )
    assert judges.agreement == expected
    words = judges_words(judges)
    assert f"kappa {expected.kappa.mean:.2f}" in words
    assert f"In {judges.asked} trial" in words


def test_where_both_always_say_the_same_kappa_is_said_to_be_undefined(trials):
    failed = [told(trial) for trial in trials if not trial.result.success]
    assert "undefined" in judges_words(judges_of(failed, "camera"))


def test_nothing_is_said_where_the_camera_did_not_judge_or_nobody_was_asked(trials):
    assert judges_of([told(trial) for trial in trials], "person") is None
    assert judges_of(trials, "camera") is None


def test_where_the_person_decided_all_there_is_no_kappa(trials):
    judges = judges_of([told(trial, advises=False) for trial in trials], "camera")
    assert judges.both == 0
    assert "kappa" not in judges_words(judges)
