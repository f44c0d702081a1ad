"""`robocontrast swap` and `serve` as far as they come without a graph."""

from __future__ import annotations

import pytest
import yaml
from typer.testing import CliRunner

from robocontrast_ros.cli import running, swap
from robocontrast_ros.cli.main import app
from robocontrast_ros.cli.processes import node_environment
from robocontrast_ros.configuration import read_yaml
from robocontrast_ros.runs.events import (
    PolicyLoaded,
    PolicyRefused,
    SessionInterrupted,
    SessionStarted,
    to_line,
)
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.resolving import resolve


def run(*arguments: str):
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, list(arguments))


@pytest.fixture
def folder(tmp_path):
    return resolve("language_table_demo", Overrides(output=str(tmp_path))).new_run(0.0)


def test_a_run_folder_says_where_its_graph_is_while_it_runs(folder, monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", "7")
    monkeypatch.delenv("ROS_STATIC_PEERS", raising=False)
    folder.write_graph("/lab/episode_manager")
    graph = read_yaml(folder.graph)
    assert graph["episode_manager"] == "/lab/episode_manager"
    assert graph["environment"]["ROS_DOMAIN_ID"] == "7"
    assert "ROS_STATIC_PEERS" not in graph["environment"]
    folder.forget_graph()
    folder.forget_graph()
    assert not folder.graph.exists()


def test_a_session_that_does_not_run_cannot_swap(folder):
    result = run("swap", str(folder.path), "oracle")
    assert result.exit_code == 2
    for word in ("`RUN`", "a session that is running", f"--resume {folder.path}"):
        assert word in result.stderr


def test_a_request_names_the_variable_with_which_ros_does_not_run_in_this_terminal(folder, tmp_path, monkeypatch):
    pytest.importorskip("rclpy")
    folder.write_graph("/episode_manager")
    (tmp_path / "rclpy.py").write_text("raise ImportError('its C extension is not there')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    result = run("swap", str(folder.path), "oracle")
    assert result.exit_code == 2
    (line,) = result.stderr.strip().splitlines()
    assert line.startswith(f"error: environment: `PYTHONPATH`: got '{tmp_path}'") and "Unset PYTHONPATH" in line


@pytest.mark.parametrize("command", [["swap", "{run}"], ["serve"]])
def test_a_policy_that_nobody_knows_is_a_mistake_in_one_line(folder, command):
    folder.write_graph("/episode_manager")
    result = run(*(word.format(run=folder.path) for word in command), "orcale")
    assert result.exit_code == 2
    assert "Did you mean 'oracle'?" in result.stderr and len(result.stderr.strip().splitlines()) == 1


def test_a_domain_that_does_not_exist_is_refused():
    result = run("serve", "random", "--domain", "300")
    assert result.exit_code == 2
    assert "`--domain`: got 300, expected 0 to 232" in result.stderr


@pytest.mark.parametrize(
    ("events", "code", "words"),
    [
        (
            [
                PolicyRefused("new", "another", 0.0),
                PolicyLoaded("New", "/p/new.yaml", "", "", 1.0, None, 0.0),
            ],
            1,
            "another",
        ),
        (
            [
                PolicyLoaded("Old", "/p/old.yaml", "", "", 1.0, None, 0.0),
                PolicyLoaded("New", "/p/new.yaml", "", "", 1.0, None, 0.0),
            ],
            0,
            "New serves: /p/new.yaml",
        ),
        ([PolicyRefused("older", "[x] no", 0.0), SessionInterrupted(0, "lost", 0.0)], 3, "ended: lost"),
    ],
)
def test_the_command_waits_for_what_comes_of_its_own_wish(folder, monkeypatch, events, code, words):
    started = SessionStarted("s", 1, {}, {}, "", "m", 1.0, 0.0)
    folder.journal.write_bytes(to_line(started) + to_line(PolicyRefused("new", "long ago", 0.0)))
    folder.write_graph("/episode_manager")

    def asked(graph, request, manager, policy):
        assert (request, manager, policy) == ("swap_request", "/episode_manager", "new")
        with folder.journal.open("ab") as journal:
            journal.writelines(map(to_line, events))
        return 0, "tried"

    monkeypatch.setattr(running, "ask", asked)
    monkeypatch.setattr(swap, "find_file", lambda *_: None)
    result = run("swap", str(folder.path), "new")
    assert result.exit_code == code and words in result.stdout


def test_a_path_is_made_absolute_and_that_of_another_machine_is_left_alone(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text("policy: random\n")
    assert swap._wanted(folder, "mine.yaml") == str(tmp_path / "mine.yaml")
    assert swap._wanted(folder, "oracle") == "oracle"
    session = yaml.safe_load(folder.session_file.read_text())
    session |= {"policy": "", "policy_server": {"external": True}}
    folder.session_file.write_text(yaml.safe_dump(session))
    assert swap._wanted(folder, "mine.yaml") == "mine.yaml"


def test_a_graph_stays_on_this_machine_unless_a_part_of_it_is_elsewhere(monkeypatch):
    monkeypatch.delenv("ROS_AUTOMATIC_DISCOVERY_RANGE", raising=False)
    assert node_environment(3)["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "LOCALHOST"
    assert node_environment(3, elsewhere=True)["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "SUBNET"
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "OFF")
    assert node_environment(3, elsewhere=True)["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "OFF"
