"""Bags of the fast mode."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

import pytest
import yaml

from robocontrast_ros.analysis.figures.trial_picture import read_images
from robocontrast_ros.bags.reader import read_trial
from robocontrast_ros.bags.writer import BagWriter
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.configuration.loading import resolve_uri
from robocontrast_ros.domain import Fault, Outcome
from robocontrast_ros.episodes.bench import bag_name
from robocontrast_ros.runs.events import SessionFinished, TrialFinished, TrialVoid
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.sessions.fast_mode import open_bench
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.sessions.recording import recorded_topics, trial_recorder
from robocontrast_ros.sessions.resolving import resolve

SHIPPED = "package://robocontrast_ros/config/sessions/language_table_demo.yaml"


@pytest.fixture
def session_file(tmp_path):
    """Write the shipped demonstration with the oracle, one trial and small images, and with what is changed."""

    def write(**changes):
        content = yaml.safe_load(resolve_uri(SHIPPED).read_text())
        small = {"cameras": [{"name": "board", "width": 64, "height": 48}], "output": str(tmp_path / "runs")}
        path = tmp_path / "session.yaml"
        path.write_text(yaml.safe_dump({**content, "policy": "oracle", "max_trials": 1, **small, **changes}))
        return path

    return write


def run_fast(session, aborted=lambda: False):
    """Run a session with its recorder; return its run folder and the events."""
    run = session.new_run(1_790_000_000.0)
    bench = open_bench(session, recorder=trial_recorder(session, run), aborted=aborted)
    try:
        run_session(session.evaluation(), bench, run.journal)
    finally:
        bench.close()
    return run, read_journal(run.journal).events


def test_a_bag_has_each_message_of_its_trial(session_file):
    session = resolve(session_file())
    run, events = run_fast(session)
    (trial,) = (event for event in events if isinstance(event, TrialFinished))
    assert trial.recording.bag == bag_name(trial.trial.trial_id, 0)
    counts = dict(trial.recording.messages)
    once = {"trial", "trial_result", "robot_description", "tf_static"}
    assert set(counts) == {topic.name for topic in recorded_topics(session)}
    assert {counts[topic] for topic in once} == {1}
    assert counts.pop("safety") == 0, "the safety filter does nothing in a shipped session"
    assert {counts[topic] for topic in counts.keys() - once} == {trial.result.steps + 1}, "the robot is held at the end"
    recorded = read_trial(run.path / trial.recording.bag)
    assert (recorded.trial, recorded.broken) == (trial.trial, "")
    assert repr(recorded.result) == repr(trial.result), "as text NaN equals NaN"
    assert len(recorded.samples) == trial.result.steps + 1
    assert (recorded.policy, recorded.robot) == ("oracle", "franka")
    images = read_images(run.path / trial.recording.bag)
    assert len(images) == trial.result.steps + 1


@pytest.mark.parametrize(
    ("changes", "images"), [({"recording": {"images": False}}, 0), ({"camera_images": "when_asked"}, None)]
)
def test_images_are_recorded_as_the_session_says(session_file, changes, images):
    session = resolve(session_file(**changes))
    run, events = run_fast(session)
    (trial,) = (event for event in events if isinstance(event, TrialFinished))
    assert len(read_images(run.path / trial.recording.bag)) == (len(trial.policy_latency) if images is None else images)


def test_nothing_is_recorded_where_the_session_says_so_and_the_run_folder_says_it_again(session_file):
    session = resolve(session_file(recording="none"))
    run, events = run_fast(session)
    assert isinstance(events[-1], SessionFinished)
    assert {event.recording.bag for event in events if isinstance(event, TrialFinished)} == {""}
    assert list(run.bags.iterdir()) == []
    assert recorded_topics(session) == ()
    assert yaml.safe_load(run.session_file.read_text())["recording"] == "none"
    assert resolve(run.session_file).parameters.recording is None


@pytest.mark.parametrize(
    ("recording", "words"),
    [
        ("nothing", ["`recording`", "nothing", "`none`", "images, compression, format, topics"]),
        ({"imges": True}, ["`recording.imges`", "images"]),
        ({"topics": ["chatter nowhere_msgs/msg/Text"]}, ["`recording.topics`", "chatter", "nowhere_msgs"]),
    ],
)
def test_a_recording_that_cannot_be_is_refused_in_one_line(session_file, recording, words):
    with pytest.raises(ConfigurationError) as refused:
        run_fast(resolve(session_file(recording=recording)))
    assert all(word in str(refused.value) for word in words), str(refused.value)


def test_a_full_disk_makes_the_trial_void_and_the_next_attempt_has_a_bag_of_its_own(session_file, monkeypatch):
    write, written = BagWriter.write, []

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def fill(self, topic, timestamp, cdr):
        written.append(topic)
        if len(written) == 40:
            monkeypatch.setattr(self._writer.storage, "write", full)
        write(self, topic, timestamp, cdr)

    monkeypatch.setattr(BagWriter, "write", fill)
    _, events = run_fast(resolve(session_file()))
    (void,) = (event for event in events if isinstance(event, TrialVoid))
    assert void.fault is Fault.RECORDER_LOST and "The disk is full" in void.detail
    (trial,) = (event for event in events if isinstance(event, TrialFinished))
    assert trial.recording.bag == bag_name(trial.trial.trial_id, 1)


def test_a_trial_that_is_stopped_has_a_whole_bag_that_says_so(session_file):
    asked = []

    def aborted():
        asked.append(None)
        return len(asked) > 5

    run, events = run_fast(resolve(session_file()), aborted)
    (void,) = (event for event in events if isinstance(event, TrialVoid))
    recorded = read_trial(run.bag(void.trial.trial_id, void.attempt))
    assert (recorded.result.outcome, recorded.result.fault) == (Outcome.VOID, Fault.ABORTED)
    assert (recorded.trial, recorded.broken) == (void.trial, "")
    assert len(recorded.samples) == 6


def test_the_example_in_code_of_the_page_of_sessions_runs_as_it_stands_there(tmp_path, monkeypatch, capsys):
    page = (Path(__file__).resolve().parents[3] / "docs" / "sessions.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^## In code\n\n```python\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "docs/sessions.md", "exec"), {})
    (run,) = (tmp_path / "my_runs").iterdir()
    assert str(run.relative_to(tmp_path)) in capsys.readouterr().out
    assert len((run / "trials.csv").read_text().splitlines()) == 3
    assert len(list(run.glob("bags/*/*.mcap"))) == 2
