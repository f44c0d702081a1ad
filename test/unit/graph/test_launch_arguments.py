"""Arguments of the launch file become a session, or one line for each that does not fit."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from domains import own_domain
from here import command_here

from robocontrast_ros.configuration import ConfigurationError, read_yaml, write_yaml
from robocontrast_ros.graph.description import processes_of
from robocontrast_ros.graph.launch_arguments import (
    ARGUMENTS,
    SESSION_ARGUMENTS,
    WrongArguments,
    launched_session,
)
from robocontrast_ros.sessions.fast_mode import open_bench
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.resolving import resolve


@pytest.fixture
def launch(monkeypatch):
    """Return a function that prepares a launch in a domain of its own, and lets the domain go afterwards."""
    held = []

    def prepared(words):
        held.append(launched_session(words, os.environ))
        return held[-1]

    with own_domain() as number:
        monkeypatch.setenv("ROS_DOMAIN_ID", str(number))
        yield prepared
        for launched in held:
            launched.domain.close()


def test_what_is_left_out_is_as_in_the_session_s_file(launch, tmp_path):
    launched = launch({**dict.fromkeys(ARGUMENTS, ""), "output": str(tmp_path)})
    session = resolve("language_table_demo", Overrides(output=str(tmp_path)))
    assert launched.session.parameters == session.parameters
    assert launched.run.path.parent == tmp_path and launched.run.session_file.is_file()
    assert (launched.resume, launched.domain.namespace, launched.log_level) == (False, "", "info")


def test_every_argument_reaches_the_session_or_its_graph(launch, tmp_path):
    plan = tmp_path / "plan.json"
    assert command_here("plan", "language_table_demo", "--size", 1, "--lock", plan)[0] == 0
    words = {
        "session": "language_table_demo",
        "robot": "ur5e",
        "policy": "oracle",
        "budget": "inf",
        "seed": "11",
        "max_trials": "4",
        "repeats": "2",
        "size": "5",
        "strategy": "standard",
        "policy_server": "composed",
        "plan": str(plan),
        "composed": "true",
        "output": str(tmp_path),
        "namespace": "/lab/robot1",
        "log_level": "warn",
    }
    assert set(words) == set(ARGUMENTS) - {"resume"}
    launched = launch(words)
    p = launched.session.parameters
    assert (p.robot, p.policy, p.budget, p.seed, p.max_trials, p.repeats) == (
        "ur5e",
        "oracle",
        None,
        11,
        4,
        2,
    )
    assert (p.test_set.size, p.strategy.name, p.output) == (5, "standard", str(tmp_path))
    assert (p.locked_plan, len(launched.session.locked_plan.trials)) == (str(plan), 5)
    assert (launched.domain.namespace, launched.log_level) == ("lab/robot1", "warn")
    (container,) = (each for each in processes_of(launched.session, launched.run) if each.composed)
    assert "policy_server" in container.arguments


def test_all_that_does_not_fit_is_told_at_once_a_line_each_and_nothing_is_made(launch, tmp_path):
    words = {
        "polcy": "oracle",
        "budget": "abc",
        "seed": "1.5",
        "composed": "perhaps",
        "namespace": "1robot",
        "log_level": "loud",
        "size": "0",
        "robot": "ur6",
        "strategy": "best",
        "output": str(tmp_path / "runs"),
    }
    with pytest.raises(WrongArguments) as error:
        launch(words)
    lines = str(error.value).splitlines()
    assert len(lines) == 9
    assert sorted(lines[6:]) == [
        line for line in sorted(lines) if any(f"`{n}`" in line for n in ("size", "robot", "strategy"))
    ]
    for name, line in zip(("polcy", "budget", "seed", "composed", "namespace", "log_level"), lines, strict=False):
        assert line.startswith(f"launch arguments: `{name}`: got ")
    assert "Did you mean 'policy'?" in lines[0] and "'abc', expected a number" in lines[1]
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"robot": "panda"}, "expected a known robot"),
        ({"budget": "-1"}, "`budget`"),
        ({"budget": "nan"}, "`budget`"),
        ({"policy_server": "elsewhere"}, "'external', 'composed', or nothing"),
        ({"policy_server": "composed", "composed": "false"}, "composed"),
        ({"resume": "/nowhere"}, "a run folder"),
    ],
    ids=str,
)
def test_what_is_named_but_does_not_fit_is_told_by_its_name(launch, tmp_path, words, told):
    with pytest.raises((ConfigurationError, WrongArguments), match=told):
        launch({"output": str(tmp_path), **words} if "resume" not in words else words)
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """Return the run folder of a session of which one trial was run; whoever resumes it here changes nothing in it."""
    folder = tmp_path_factory.mktemp("begun")
    session = resolve("language_table_demo", Overrides(output=str(folder), policy="oracle", settings={"cameras": []}))
    run = session.new_run(0.0)
    bench = open_bench(session)
    evaluation = session.evaluation()
    one = replace(evaluation, session=replace(evaluation.session, max_trials=1))
    run_session(one, bench, run.journal)
    bench.close()
    return run


def test_a_session_goes_on_with_its_own_parameters_in_any_namespace(launch, begun):
    defaults = {name: argument.default for name, argument in SESSION_ARGUMENTS.items()}
    launched = launch({**defaults, "resume": str(begun.path), "namespace": "robot2"})
    assert (launched.run, launched.resume, launched.domain.namespace) == (begun, True, "robot2")
    assert launched.session.parameters.policy == "oracle"


def test_a_launch_that_ends_before_its_session_began_leaves_no_run_folder(launch, tmp_path):
    launched = launch({"policy": "oracle", "output": str(tmp_path)})
    (launched.run.parameters / "nodes").mkdir()
    (launched.run.parameters / "nodes" / "rollout.yaml").write_text("a: 1\n")
    launched.run.journal.touch()
    launched.close()
    assert not launched.run.path.exists()


@pytest.mark.parametrize("file", ["journal.jsonl", "logs/rollout.log", "bags/0000/0000.mcap"])
def test_a_launch_keeps_a_run_folder_in_which_anything_was_written(launch, tmp_path, file):
    launched = launch({"policy": "oracle", "output": str(tmp_path)})
    written = launched.run.path / file
    written.parent.mkdir(parents=True, exist_ok=True)
    written.write_text("something\n")
    launched.close()
    assert written.read_text() == "something\n" and launched.run.session_file.is_file()


def test_a_launch_that_resumes_keeps_the_run_folder(launch, begun):
    journal = begun.journal.read_bytes()
    launch({"resume": str(begun.path)}).close()
    assert begun.journal.read_bytes() == journal


def test_a_session_that_is_practised_is_launched_away_from_a_real_driver(launch, tmp_path):
    demo = read_yaml(resolve("language_table_demo").source)
    file = tmp_path / "session.yaml"
    write_yaml(file, {**demo, "world": {"backend": "practice", "pacing": "wall_clock"}})
    launched = launch({"session": str(file), "namespace": "lab", "policy": "oracle", "output": str(tmp_path / "runs")})
    assert launched.domain.namespace == "lab/practice"


def test_what_a_resumed_session_has_already_is_refused_beside_it(launch, begun):
    with pytest.raises(WrongArguments, match="`robot`: got 'ur5e', expected nothing but `resume`"):
        launch({"resume": str(begun.path), "robot": "ur5e"})


def test_a_second_session_is_refused_where_one_is_and_has_its_place_in_another_namespace(launch, tmp_path):
    words = {"output": str(tmp_path / "others"), "policy": "oracle"}
    first = launch(words)
    with pytest.raises(ConfigurationError, match="ROS_DOMAIN_ID") as error:
        launch(words)
    assert str(first.run.path) in str(error.value)
    assert launch({**words, "namespace": "robot2"}).domain.number == first.domain.number
