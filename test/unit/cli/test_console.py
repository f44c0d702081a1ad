"""`robocontrast console`: the link of a session that runs, and one line where none does."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from robocontrast_ros.cli.main import app
from robocontrast_ros.console.access import Access, new_token
from robocontrast_ros.runs.events import ProcessDied, SessionFinished, SessionInterrupted, SessionStarted
from robocontrast_ros.runs.journal import JournalWriter
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.resolving import resolve

STARTED = SessionStarted("s", 1, {}, {}, "", "m", 1.0, 0.0)


@pytest.fixture
def folder(tmp_path):
    folder = resolve("language_table_demo", Overrides(practice=True, output=str(tmp_path))).new_run(0.0)
    Access("http://127.0.0.1:4711", new_token(folder.path)).write(folder.path)
    # As a session leaves it that is killed.
    folder.write_graph("/practice/episode_manager")
    return folder


def run(folder):
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, ["console", str(folder.path)])


def test_the_link_is_shown_while_the_session_runs(folder):
    with JournalWriter(folder.journal) as journal:
        journal.append(STARTED)
        shown = run(folder)
    assert shown.exit_code == 0
    assert "console: http://127.0.0.1:4711/#" in shown.stdout


FINISHED = ". This one has finished; its results: robocontrast results {folder}"
RESUME = "Resume an interrupted one with: robocontrast evaluate --resume {folder}"
STARTING = "try again in some seconds. "


@pytest.mark.parametrize(
    ("events", "cure"),
    [
        ([STARTED, SessionFinished("all_trials", "done", 0.0)], FINISHED),
        ([STARTED, SessionInterrupted(0, "lost", 0.0)], f"running. {RESUME}"),
        ([STARTED, ProcessDied("simulator", "killed", 0.0)], f"running. {RESUME}"),
        ([STARTED], STARTING + RESUME),
        ([], STARTING + RESUME),
    ],
    ids=["finished", "interrupted", "a process died", "killed", "not begun"],
)
def test_of_a_session_that_does_not_run_no_link_is_shown_but_one_line_with_the_cure(folder, events, cure):
    with JournalWriter(folder.journal) as journal:
        for event in events:
            journal.append(event)
    shown = run(folder)
    assert shown.exit_code == 2 and shown.stdout == ""
    (line,) = shown.stderr.strip().splitlines()
    assert "`RUN`" in line and "the folder of a session that is running" in line
    assert line.endswith(cure.format(folder=folder.path))
