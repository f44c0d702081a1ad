"""The bench of a session in one process."""

from __future__ import annotations

import pytest

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.configuration.files import find_file
from robocontrast_ros.domain import Outcome
from robocontrast_ros.runs.events import SessionFinished, TrialFinished
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.sessions.fast_mode import open_bench
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.resolving import resolve


def policy_file(name, tmp_path):
    return find_file("policies", name, "test", "policy", tmp_path)


def test_a_session_runs_on_the_fast_bench_and_nothing_is_recorded_or_rendered(tmp_path):
    session = resolve("language_table_demo", Overrides(policy="oracle", max_trials=2))
    bench = open_bench(session)
    end = run_session(session.evaluation(), bench, tmp_path / "journal.jsonl")
    bench.close()
    assert isinstance(end, SessionFinished)
    events = read_journal(tmp_path / "journal.jsonl").events
    trials = [event for event in events if isinstance(event, TrialFinished)]
    assert len(trials) == 2
    assert {event.result.outcome for event in trials} <= {Outcome.SUCCESS, Outcome.FAILURE}
    assert {event.recording.bag for event in trials} == {""}


def test_another_policy_may_be_named_and_no_other_camera_is_there_than_those_it_asks_for(tmp_path):
    session = resolve("language_table_demo", Overrides(policy="oracle"))
    bench = open_bench(session, policy_file("noisy_oracle", tmp_path))
    assert bench.policy().name == "noisy_oracle"
    assert bench.cameras == ()
    bench.close()


def test_a_policy_on_a_server_elsewhere_is_refused_with_the_cure():
    session = resolve("language_table_demo", Overrides(policy_server="external"))
    with pytest.raises(ConfigurationError, match="Name the policy's parameter file"):
        open_bench(session)


def test_a_session_on_the_wall_clock_is_refused_with_the_cure():
    session = resolve("language_table_demo", Overrides(policy="oracle", settings={"world.pacing": "wall_clock"}))
    with pytest.raises(ConfigurationError, match=r"world\.pacing.*Leave `fast` out"):
        open_bench(session)


def test_a_policy_that_does_not_fit_the_robot_is_refused(tmp_path):
    session = resolve("language_table_demo", Overrides(policy="oracle"))
    with pytest.raises(ConfigurationError, match="a policy that fits robot 'franka'"):
        open_bench(session, policy_file("vln_oracle", tmp_path))
