"""The journal keeps every number, survives being cut off, and belongs to one session and one process."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from line_world import LineBench, line, line_evaluation

from robocontrast_ros.domain import Fault, Observed, Outcome, Pose, SetupMove, Trial, TrialResult
from robocontrast_ros.episodes.bench import Recording
from robocontrast_ros.episodes.scoring import STANDARD_SPECS
from robocontrast_ros.runs.events import (
    Paused,
    SessionStarted,
    SetUp,
    TrialFinished,
    TrialVoid,
    from_line,
    to_line,
)
from robocontrast_ros.runs.journal import JournalError, JournalWriter, read_begun, read_journal
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.system.disk import GoneError

STARTED = SessionStarted("line", 1, {"numpy": "2"}, {"session": {"seed": 1}}, "ab12", "m", math.inf, 0.5)
INSTANCE = line_evaluation().test_set()[0]
TRIAL = Trial(0, "x0000", "base", 0, INSTANCE, 7)
RESULT = TrialResult(
    Outcome.VOID,
    Fault.SENSOR_LOST,
    "no image",
    dict.fromkeys((spec.name for spec in STANDARD_SPECS), math.nan),
    math.nan,
    3,
    0.3,
    0,
    INSTANCE.scene,
)


def refuse_constant(name):
    raise AssertionError(f"{name} is no standard JSON")


@given(st.floats(allow_nan=False), st.floats(allow_nan=False, allow_infinity=False), st.text())
def test_every_number_and_every_word_comes_back_as_it_was(number, coordinate, words):
    scene = line(a=coordinate)
    moves = (SetupMove("a", "a", None, Pose((coordinate, 0.0, 0.0))), SetupMove("b", words, Pose(), None))
    set_up = SetUp(replace(TRIAL, note=words), scene, scene, moves, abs(coordinate), scene, False, coordinate)
    for event in (set_up, Paused(number)):
        written = to_line(event)
        assert from_line(written) == event
        assert written.count(b"\n") == 1
        json.loads(written, parse_constant=refuse_constant)


def test_not_a_number_comes_back_as_not_a_number_and_is_standard_json():
    event = TrialFinished(
        trial=TRIAL,
        attempt=0,
        result=RESULT,
        observed=Observed("push", "00"),
        recording=Recording("b", (("t", 1),)),
        cost=0.0,
        wall_time=1.0,
        time=2.0,
    )
    written = to_line(event)
    json.loads(written, parse_constant=refuse_constant)
    back = from_line(written)
    assert math.isnan(back.result.scores["spl"])
    assert to_line(back) == written
    assert back.result.fault is Fault.SENSOR_LOST
    assert back.trial == TRIAL


OLD_RESULT = (
    b'"result":{"outcome":1,"fault":0,"detail":"","success":1.0,"spl":0.5,"progress":1.0,"distance_to_goal":0.0,'
    b'"path_length":0.8,"optimal_path_length":0.4,"steps":9,"duration":0.9,"clamped_steps":0,"final_scene":SCENE,'
    b'"stopped":true,"subgoals":2,"subgoals_reached":2,"ndtw":"NaN","collisions":3}'
)
"""A trial's result as journals of version 0.1 have it."""


def test_a_journal_that_does_not_tell_its_scores_has_the_standard_ones():
    line = json.loads(to_line(STARTED))
    del line["scores"]
    assert from_line(json.dumps(line).encode()).scores == STANDARD_SPECS


def test_what_is_appended_is_read_in_order_with_nothing_torn(tmp_path):
    path = tmp_path / "journal.jsonl"
    with JournalWriter(path) as writer:
        for event in (STARTED, Paused(1.0)):
            writer.append(event)
            assert read_journal(path).events[-1] == event
    with JournalWriter(path) as writer:
        assert writer.past.events == (STARTED, Paused(1.0))
    journal = read_journal(path)
    assert (journal.torn, journal.warning, journal.started) == (0, "", STARTED)


@given(cut=st.integers(1, len(to_line(Paused(1.0))) - 1))
def test_an_unfinished_last_line_is_told_of_and_taken_away_before_the_next_is_written(tmp_path_factory, cut):
    path = tmp_path_factory.mktemp("torn") / "journal.jsonl"
    path.write_bytes(to_line(STARTED) + to_line(Paused(1.0))[:cut])
    journal = read_journal(path)
    assert journal.events == (STARTED,)
    assert journal.warning == (
        f"{path}: the last line was cut off after {cut} bytes (a crash); 1 event before it is whole."
    )
    with JournalWriter(path) as writer:
        assert writer.past.torn == cut
        writer.append(Paused(2.0))
    assert read_journal(path).events == (STARTED, Paused(2.0))


def test_a_damaged_line_before_the_last_is_refused_with_its_number(tmp_path):
    path = tmp_path / "journal.jsonl"
    path.write_bytes(to_line(STARTED) + b'{"event": "paus\n' + to_line(Paused(1.0)))
    with pytest.raises(JournalError, match=r"journal\.jsonl, line 2: not an event .* Restore the file from a copy"):
        read_journal(path)


@pytest.mark.parametrize("cost", ['"NaN"', "NaN", '"Infinity"', "1e309", "-1.0"])
def test_a_cost_that_is_no_amount_is_refused_with_its_line_and_key(tmp_path, cost):
    path = tmp_path / "journal.jsonl"
    scene = line(a=0.0)
    written = to_line(SetUp(TRIAL, scene, scene, (), 0.125, scene, False, 1.0)).decode()
    assert '"cost":0.125' in written
    path.write_text(to_line(STARTED).decode() + written.replace('"cost":0.125', f'"cost":{cost}'))
    with pytest.raises(JournalError, match=r"line 2: not an event .*: set_up\.cost: Input should be") as caught:
        read_journal(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", to_line(STARTED)[:40]])
def test_a_journal_without_an_event_is_refused_where_a_session_is_expected(tmp_path, content):
    path = tmp_path / "journal.jsonl"
    path.write_bytes(content)
    assert read_journal(path).events == ()
    with pytest.raises(JournalError, match=r"no event in it.* Begin it with: robocontrast evaluate .*session\.yaml"):
        read_begun(path)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (to_line(STARTED) + to_line(STARTED), r"it starts in lines \[1, 2\]"),
        (to_line(Paused(1.0)), "none starts it"),
    ],
)
def test_a_file_that_is_not_one_session_is_refused(tmp_path, content, found):
    path = tmp_path / "journal.jsonl"
    path.write_bytes(content)
    with pytest.raises(JournalError, match=found):
        read_journal(path)
    with pytest.raises(JournalError, match="own run folder"):
        JournalWriter(path)


def test_a_journal_that_is_not_there_is_refused_by_name(tmp_path):
    with pytest.raises(JournalError, match="No such file or directory; expected the journal of a run folder"):
        read_journal(tmp_path / "journal.jsonl")
    with pytest.raises(JournalError, match="expected a folder that can be written"):
        JournalWriter(tmp_path / "nowhere" / "journal.jsonl")


def test_a_second_process_is_kept_from_writing_and_let_in_when_the_first_has_closed(tmp_path):
    path = tmp_path / "journal.jsonl"
    with JournalWriter(path), pytest.raises(JournalError, match=r"process \d+ is running this session"):
        JournalWriter(path)
    JournalWriter(path).close()


@pytest.mark.parametrize("how", ["moved", "moved and replaced", "deleted", "journal deleted", "journal moved"])
def test_what_is_appended_after_the_run_folder_is_gone_is_kept_and_the_error_says_where(tmp_path, monkeypatch, how):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    run, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    (run / "parameters").mkdir(parents=True)
    with JournalWriter(run / "journal.jsonl") as writer:
        writer.append(STARTED)
        if how == "journal moved":
            elsewhere.mkdir()
            (run / "journal.jsonl").rename(elsewhere / "journal.jsonl")
        elif how == "journal deleted":
            (run / "journal.jsonl").unlink()
        elif how == "deleted":
            shutil.rmtree(run)
        else:
            run.rename(elsewhere)
        if how == "moved and replaced":
            run.mkdir()
            (run / "journal.jsonl").write_bytes(to_line(STARTED))
        there = sorted(run.rglob("*"))
        for time in (1.0, 2.0):
            with pytest.raises(GoneError) as gone:
                writer.append(Paused(time))
    assert sorted(run.rglob("*")) == there, "nothing new at the old place"
    (kept,) = [file for file in tmp_path.rglob("journal.jsonl") if file.parent != run]
    assert read_journal(kept).events == (STARTED, Paused(1.0), Paused(2.0))
    named = kept.parent if how.startswith("moved") else kept
    assert str(gone.value).startswith(f"{run}: ") and f"{named}." in str(gone.value)


def test_a_session_does_not_write_into_the_journal_of_another_unasked(tmp_path):
    path = tmp_path / "journal.jsonl"
    run_session(line_evaluation(test_set_size=1), LineBench(), path)
    before = path.read_bytes()
    with pytest.raises(JournalError, match="it holds a session already"):
        run_session(line_evaluation(test_set_size=1), LineBench(), path)
    assert path.read_bytes() == before


def test_the_scene_of_a_void_attempt_may_be_unknown():
    event = TrialVoid(TRIAL, 1, Fault.SIMULATOR_LOST, "gone", None, 3.0)
    assert from_line(to_line(event)) == event
