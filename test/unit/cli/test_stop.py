"""`robocontrast stop` as far as it comes without a graph."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from robocontrast_ros.cli import running
from robocontrast_ros.cli.main import app
from robocontrast_ros.graph import ros_domain
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.resolving import resolve


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Let three sessions run, of which another version wrote the first; return which watchdogs were asked for what."""
    runs, asked = [], []
    for number, pacing in enumerate(("wall_clock", "wall_clock", "lockstep")):
        overrides = Overrides(output=str(tmp_path / str(number)), settings={"world.pacing": pacing})
        runs.append(resolve("language_table_demo", overrides).new_run(0.0))
        runs[-1].write_graph(f"/robot{number}/episode_manager")
    runs[0].session_file.write_text(f"{runs[0].session_file.read_text()}\nof_tomorrow: 1\n")

    def ask(graph, request, place, *words):
        asked.append((place, *words))
        return 0, "the robot is stopped"

    monkeypatch.setattr(ros_domain, "running_runs", lambda: tuple(run.path for run in runs))
    monkeypatch.setattr(running, "ask", ask)
    return asked


def run(*arguments: str):
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, ["stop", *arguments])


def test_a_session_that_cannot_be_read_keeps_no_other_from_being_stopped_and_is_told_of(asked):
    result = run()
    assert result.exit_code == 2
    assert asked == [("/robot1/watchdog", "stop")], "in lockstep there is nothing to stop"
    assert "of_tomorrow" in result.stdout and "the robot is stopped" in result.stdout


def test_a_release_without_a_session_names_all_that_may_be_meant_and_releases_none(asked, tmp_path):
    result = run("--release", "--by", "Ada Lovelace")
    assert result.exit_code == 2 and asked == []
    assert "the folder of one session" in result.stderr
    assert [str(tmp_path / str(number)) in result.stderr for number in range(3)] == [True, True, False]


def test_where_no_session_runs_it_says_what_to_do_from_elsewhere(monkeypatch):
    monkeypatch.setattr(ros_domain, "running_runs", tuple)
    for arguments in ((), ("--release", "--by", "Ada Lovelace")):
        result = run(*arguments)
        assert result.exit_code == 2 and "ros2 topic pub --once /stop" in result.stderr
