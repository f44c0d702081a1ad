"""`robocontrast correct`: what it refuses, and what a journal with a correction says."""

from __future__ import annotations

import shutil

import pytest
from here import command_here, session_here
from session_runs import Workplace

from robocontrast_ros.domain import Judgement
from robocontrast_ros.runs.events import TrialCorrected, TrialFinished
from robocontrast_ros.runs.journal import JournalWriter, read_journal


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two finished runs: one with bags, one without."""
    found = []
    for recording in ({}, "none"):
        place = Workplace(tmp_path_factory.mktemp("run"))
        session = place.session(test_set={"size": 1}, cameras=[], recording=recording)
        found.append(session_here(session))
    return found


GOOD = ("0000", "--failure", "--by", "Ada", "--reason", "it slipped")


@pytest.mark.parametrize(
    ("of", "arguments", "words"),
    [
        (0, GOOD, "decides by the scene alone"),
        (0, ("0009", *GOOD[1:]), "expected a known trial that counts"),
        (0, ("0000", "--failure", "--by", " ", "--reason", "it slipped"), "the name of who corrects"),
        (0, ("0000", "--failure", "--by", "Ada", "--reason", ""), "why a judgement is corrected"),
        (0, (*GOOD, "--progress", "1.5"), "a number from 0 to 1"),
        (1, GOOD, "a recorded trial"),
    ],
)
def test_what_cannot_be_corrected_is_refused_in_one_line(runs, of, arguments, words):
    run = runs[of]
    before = (run / "journal.jsonl").read_bytes()
    code, said = command_here("correct", run, *arguments)
    assert code == 2 and words in " ".join(said.split()), said
    assert (run / "journal.jsonl").read_bytes() == before


def test_a_running_session_is_corrected_on_its_page_alone(runs):
    run = runs[0]
    with JournalWriter(run / "journal.jsonl"):
        code, said = command_here("correct", run, *GOOD)
    assert code == 2 and "is running this session" in " ".join(said.split()), said


def test_the_run_folder_of_one_policy_of_a_blind_session_is_not_corrected(runs, tmp_path):
    run = runs[0]
    whole = tmp_path / "blind"
    shutil.copytree(run, whole)
    shutil.copytree(run, whole / "policies" / "first")
    code, said = command_here("correct", whole / "policies" / "first", *GOOD)
    assert code == 2 and "the run folder of the blind session" in " ".join(said.split()), said


def test_the_last_correction_of_a_trial_holds_and_the_first_judgement_stays(runs):
    run = runs[1]
    path = run / "journal.jsonl"
    (finished,) = (event for event in read_journal(path).events if isinstance(event, TrialFinished))
    assert finished.judgement is None
    right = [Judgement(False, 0.5, "Ada"), Judgement(True, 1.0, "Grace")]
    with JournalWriter(path) as writer:
        for said in right:
            writer.append(TrialCorrected("0000", said, "seen again", finished.result, 1.0))
        writer.append(TrialCorrected("0007", right[0], "of another policy", finished.result, 1.0))
    journal = read_journal(path)
    assert journal.ended
    (now,) = (event for event in journal.corrected.events if isinstance(event, TrialFinished))
    (first,) = (event for event in journal.events if isinstance(event, TrialFinished))
    assert now.judgement == right[1]
    assert first.judgement is None
    assert journal.end == journal.events[-4], "how the session ended comes before what was corrected"
    assert set(journal.corrections) == {"0000", "0007"}
