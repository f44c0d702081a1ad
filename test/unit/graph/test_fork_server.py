"""The policy of a session is loaded once, in the process that serves it, while the session is read."""

from __future__ import annotations

import os
import sys

import pytest

from robocontrast_ros.cli import fast
from robocontrast_ros.cli.processes import Processes
from robocontrast_ros.configuration import ConfigurationError, find_configured, resolve_uri
from robocontrast_ros.graph.environment import quiet_environment
from robocontrast_ros.graph.fork_server import policy_ahead, start_fork_server
from robocontrast_ros.policies.loading import load_and_describe
from robocontrast_ros.policies.serving.ahead import load_ahead, loaded
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.policy_check import check_policies, loading_of
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.system.starting import FORK_SERVER

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the socket of a fork server is Linux's")

RANDOM = "package://robocontrast_ros/config/policies/random.yaml"
POLICY = """
import os
from pathlib import Path
from robocontrast_ros.policies.baselines.language_table.random_policy import RandomPolicy

class Own(RandomPolicy):
    describe_file = None

    @classmethod
    def from_file(cls, path):
        print("loading the network")
        with open({log!r}, "a") as log:
            log.write("loaded\\n")
        {then}
        return super().from_file(Path({parameters!r}))
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Return the parameter file of a policy without ``describe_file``; it says in a file when it is loaded."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.delenv(FORK_SERVER)

    def written(name, then=""):
        (tmp_path / f"{name}.py").write_text(
            POLICY.format(log=str(tmp_path / "log"), then=then, parameters=str(resolve_uri(RANDOM)))
        )
        file = tmp_path / f"{name}.yaml"
        file.write_text(f"policy: {name}:Own\n")
        return file

    return written


@pytest.fixture
def server(own):
    found = start_fork_server(fast=True)
    yield found
    found.close()


def session(file, tmp_path):
    changes = {"policy": str(file), "max_trials": 1, "fast": True, "output": str(tmp_path / "runs")}
    return resolve("language_table_demo", Overrides(**changes))


def test_the_process_that_described_it_serves_it(server, own, tmp_path):
    resolved = session(own("own_loaded_once"), tmp_path)
    check_policies(resolved, policy_ahead(server, resolved))
    run = resolved.new_run(0.0)
    processes = Processes(
        {fast.NAME: fast.command(run, False)}, run.path / "logs", quiet_environment(), fast.NAME, server
    )
    try:
        assert processes.watch(lambda: None) == 0
    finally:
        processes.stop()
    assert (tmp_path / "log").read_text().splitlines() == ["loaded"]
    assert (run.path / "logs" / f"{fast.NAME}.log").read_text().startswith("loading the network\n")


def test_its_process_goes_on_while_it_is_loaded(own, tmp_path):
    os.mkfifo(gate := tmp_path / "gate")
    resolved = session(own("own_waits", f"open({str(gate)!r}).read()"), tmp_path)
    loading = loading_of(resolved, resolved.policy_file, own_thread=True)
    answer = load_ahead(loading)
    assert not answer.done()
    gate.write_text("go on")
    assert answer.result(60.0).name == "random"
    (runner := loaded(loading)).close()
    assert runner.description == answer.result() and (tmp_path / "log").read_text() == "loaded\n"


def test_what_is_wrong_with_it_is_said_as_where_it_is_loaded_here(server, own, tmp_path, capfd):
    file = own("own_raises", "raise OSError('no weights')")
    resolved = session(file, tmp_path)
    with pytest.raises(ConfigurationError) as ahead:
        check_policies(resolved, policy_ahead(server, resolved))
    assert "loading the network" in capfd.readouterr().err
    with pytest.raises(ConfigurationError) as here:
        load_and_describe(find_configured("policies", file), file)
    assert str(ahead.value) == str(here.value) and "no weights" in str(here.value)


def test_one_that_ends_its_process_is_named(server, own, tmp_path):
    resolved = session(own("own_dies", "os.abort()"), tmp_path)
    with pytest.raises(ConfigurationError, match=r"own_dies.yaml: `policy`: .* Its process ended while it loaded it"):
        check_policies(resolved, policy_ahead(server, resolved))


def test_without_a_fork_server_it_is_loaded_here(own, tmp_path, monkeypatch):
    monkeypatch.setenv(FORK_SERVER, "none")
    assert start_fork_server() is None
    resolved = session(own("own_here"), tmp_path)
    (description,) = check_policies(resolved, policy_ahead(None, resolved))
    assert description.name == "random" and (tmp_path / "log").read_text() == "loaded\n"
