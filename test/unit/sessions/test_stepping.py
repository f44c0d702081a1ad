"""Episodes whose actions a client chooses, over a socket as docs/lerobot.md has it: those of our own sessions."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import sys
import threading

import numpy as np
import pytest
import yaml

from robocontrast_ros.configuration import ConfigurationError, read_yaml, resolve_uri
from robocontrast_ros.domain import BASE, Outcome, Trial
from robocontrast_ros.policies.serving.runner import PolicyRunner
from robocontrast_ros.runs.events import TrialFinished
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.sessions.fast_mode import open_bench
from robocontrast_ros.sessions.loop import run_session
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.resolving import resolve
from robocontrast_ros.sessions.seeding import trial_seed
from robocontrast_ros.sessions.stepping import LONGEST_LINE, ConnectionLost, SteppedWorld, Wire, draw_cases

SETTINGS = {
    "test_set.size": 2,
    "strategy.perturbations": ["LB1", "SB1"],
    "cameras": [{"name": "board", "width": 64, "height": 48}],
}


LIMIT = 60
"""Control steps; our policy needs fewer."""


class Client:
    """A client that knows the documented messages alone."""

    def __init__(self, connection):
        self._socket, self._file = connection, connection.makefile("rb")

    def send(self, line):
        self._socket.sendall(line)
        answer = json.loads(self._file.readline())
        return answer, self._file.read(answer["bytes"])

    def ask(self, request, **content):
        return self.send(json.dumps({"request": request, **content}).encode() + b"\n")

    def error(self, request, **content):
        answer, _ = self.ask(request, **content)
        assert set(answer) == {"error", "images", "bytes"}
        assert "\n" not in answer["error"]
        return answer["error"]

    def episode(self, case, seed, actions):
        shown = [self.ask("reset", case=case, seed=seed)]
        for action in actions:
            if shown[-1][0]["terminated"] or shown[-1][0]["truncated"]:
                break
            shown.append(self.ask("step", action=[float(value) for value in action]))
        return shown


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    task = read_yaml(resolve_uri("package://robocontrast_ros/config/tasks/language_table.yaml"))
    file = tmp_path_factory.mktemp("task") / "short.yaml"
    file.write_text(yaml.safe_dump({**task, "step_limit": LIMIT}))
    return {**SETTINGS, "task": str(file)}


@pytest.fixture(scope="module")
def session(settings):
    return resolve("language_table_demo", Overrides(policy="oracle", settings=settings))


@pytest.fixture(scope="module")
def cases(session):
    return draw_cases(session)


@pytest.fixture(scope="module")
def client(session, cases):
    ours, theirs = socket.socketpair()
    world = threading.Thread(target=lambda: SteppedWorld(session, cases, Wire(theirs)).serve())
    world.start()
    client = Client(ours)
    yield client
    assert client.ask("close") == ({"images": {}, "bytes": 0}, b"")
    world.join(20.0)
    assert not world.is_alive()


@pytest.fixture(scope="module")
def own(session, settings, cases, tmp_path_factory):
    """What our own session does: of its first base trial, and of the twin ΔSB1, the result and what the policy saw."""
    seen, act, journal = [], PolicyRunner.act, tmp_path_factory.mktemp("own") / "journal.jsonl"

    def spied(runner, observation):
        answer = act(runner, observation)
        seen.append((list(observation.joint_positions), answer.actions[0]))
        return answer

    first = resolve("language_table_demo", Overrides(policy="oracle", max_trials=1, settings=settings))
    base, twin, note = cases.chosen(2, 0)
    with pytest.MonkeyPatch.context() as patch, contextlib.closing(open_bench(first)) as bench:
        patch.setattr(PolicyRunner, "act", spied)
        run_session(first.evaluation(), bench, journal)
        (finished,) = (event for event in read_journal(journal).events if isinstance(event, TrialFinished))
        assert finished.trial.instance == base
        of_base, seen[:] = list(seen), []
        bench.bring(twin.scene)
        own_seed = trial_seed(session.parameters.seed, base.instance_id, 0)
        perturbed = bench.execute(Trial(0, base.instance_id, "SB1", 0, twin, own_seed, note), 0)
        return {0: (finished.result, of_base), 2: (perturbed.result, list(seen))}


@pytest.mark.parametrize("case", [0, 2])
def test_with_our_policys_actions_an_episode_is_our_own_trial_to_the_last_bit(client, own, cases, case):
    result, seen = own[case]
    shown = client.episode(case, 0, [action for _, action in seen])
    answers = [answer for answer, _ in shown]
    states = [answer["state"] for answer in answers]
    assert states[: len(seen)] == [state for state, _ in seen]
    last = answers[-1]
    assert result.outcome is Outcome.SUCCESS
    assert (last["outcome"], last["is_success"], last["reward"], last["terminated"]) == ("success", True, 1.0, True)
    assert last["steps"] == result.steps == len(shown) - 1
    assert {name: value for name, value in last["scores"].items() if value is not None} == {
        name: value for name, value in result.scores.items() if np.isfinite(value)
    }
    assert not any(answer["is_success"] or answer["terminated"] or answer["truncated"] for answer in answers[:-1])
    assert {answer["instruction"] for answer in answers} == {cases.chosen(case, 0)[1].instruction.text}
    assert client.error("step", action=[0.0, 0.0]) == "no episode runs: `reset` begins one"


def test_a_seed_is_the_same_whatever_was_before_and_cases_of_a_seed_have_one_test_instance(client, cases):
    actions = [(0.02, 0.01), (0.0, 0.02), (-0.01, 0.0)]
    first = client.episode(0, 0, actions)
    others = [client.episode(case, seed, actions) for case, seed in ((1, 0), (2, 0), (0, 1))]
    assert client.episode(0, 2, actions) == first
    by_words, by_scene, other = ([answer for answer, _ in episode] for episode in others)
    instance = first[0][0]["instance"]
    assert by_words[0]["instance"] == by_scene[0]["instance"] == instance != other[0]["instance"]
    assert by_words[0]["instruction"] != first[0][0]["instruction"]
    assert others[0][0][1] == first[0][1]  # ΔLB1 changes words alone: its images are the base episode's
    assert others[1][0][1] != first[0][1]
    assert len(first[0][1]) == 48 * 64 * 3 and first[0][0]["images"] == {"board": [48, 64, 3]}
    assert first[-1][1] != first[0][1]


def test_without_success_an_episode_is_cut_at_its_limit_and_shows_its_end(client):
    shown = client.episode(0, 0, [(0.0, 0.0)] * 2 * LIMIT)
    last, image = shown[-1]
    assert (last["truncated"], last["terminated"], last["is_success"], last["reward"]) == (True, False, False, 0.0)
    assert last["outcome"] == "failure" and len(shown) - 1 == last["steps"] == last["limit"] == LIMIT
    assert len(image) == 48 * 64 * 3


def test_an_action_that_is_no_number_is_the_policys_fault_as_in_a_session(client):
    client.ask("reset", case=0, seed=0)
    answer, _ = client.ask("step", action=[float("nan"), 0.0])
    assert (answer["outcome"], answer["terminated"]) == ("policy_fault", True)
    assert answer["fault"].startswith("POLICY_NOT_FINITE")


def test_mistakes_are_one_line_and_the_episode_goes_on(client):
    begun = client.ask("reset", case=0, seed=0)
    assert client.error("step", action=[0.0]) == "step: `action` is a list of 2 numbers, not 1 values"
    assert client.error("step") == "step: `action` is a list of 2 numbers, not NoneType"
    assert client.error("step", action=[True, "a"]) == "step: `action` is a list of 2 numbers, not 2 values"
    assert client.error("step", action=[0, 10**400]) == "step: `action` has a number that is too large"
    assert client.error("look").startswith("unknown request 'look', expected describe")
    assert client.error("describe", version=2) == "version 2 of the messages, expected 1"
    assert client.send(b"[1]\n")[0]["error"].startswith("a request is a JSON object")
    assert client.send(b"{\xff}\n")[0]["error"].startswith("a request is a line of JSON")
    state = client.ask("step", action=[0.0, 0.0])[0]["steps"]
    assert (begun[0]["steps"], state) == (0, 1)
    assert client.error("reset", case=3, seed=0) == "reset: there is no case 3, only 0 (base), 1 (LB1), 2 (SB1)"
    assert client.error("reset", case=0, seed=-1) == "reset: `seed` is a whole number of 0 or more, not -1"
    assert client.error("reset", case="LB1") == "reset: `case` is a whole number of 0 or more, not 'LB1'"


def test_a_request_without_an_end_is_refused_and_the_connection_ends():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(b" " * (LONGEST_LINE + 1) + b"\n")
        with pytest.raises(ConnectionLost):
            Wire(theirs).request()
        assert json.loads(ours.recv(1000))["error"] == "a request has at most 65536 bytes, and ends with a line feed"


def test_a_test_instance_to_which_a_perturbation_does_not_apply_is_left_out_of_all_cases(session):
    settings = {"strategy.perturbations": ["SB1", "LB2"], "test_set.size": 2}
    settings["test_set.families"] = ["block_to_block", "block_to_block_relative_location"]
    drawn = draw_cases(resolve("language_table_demo", Overrides(policy="oracle", settings=settings)))
    assert drawn.names == (BASE, "SB1", "LB2")
    assert len(drawn.instances) == len(drawn.left_out) == 1
    assert drawn.left_out[0][1].startswith("LB2 does not apply: ")
    settings["test_set.families"] = ["block_to_block"]
    with pytest.raises(ConfigurationError, match="perturbations that all apply to some test instance"):
        draw_cases(resolve("language_table_demo", Overrides(policy="oracle", settings=settings)))


def test_the_command_serves_connections_with_worlds_of_their_own(client, settings):
    words = ["lerobot-env", "language_table_demo", "--policy", "oracle", "--size", "2", "--port", "0"]
    words += ["--set", "strategy.perturbations=[LB1, SB1]", "--set", f"task={settings['task']}"]
    words += ["--set", f"cameras={json.dumps(SETTINGS['cameras'])}"]
    code = "from robocontrast_ros.cli.main import app; app()"
    with subprocess.Popen([sys.executable, "-c", code, *words], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout.readline() == "2 test instances; cases: 0 base, 1 LB1, 2 SB1\n"
            host, port = server.stdout.readline().split()[-1].split(":")
            first, second = (Client(socket.create_connection((host, int(port)))) for _ in range(2))
            about, _ = first.ask("describe", version=1)
            assert (about["fps"], about["max_steps"], about["instances"]) == (10.0, LIMIT, 2)
            assert about["cameras"] == {"board": [48, 64, 3]} and about["action_size"] == 2
            both = [first.ask("reset", case=0, seed=0)], [second.ask("reset", case=2, seed=1)]
            for action in ([0.02, 0.0], [0.0, 0.02]):
                for connected, shown in zip((first, second), both, strict=True):
                    shown.append(connected.ask("step", action=action))
            second.ask("close")
            actions = [(0.02, 0.0), (0.0, 0.02)]
            assert list(both) == [client.episode(0, 0, actions), client.episode(2, 1, actions)]
        finally:
            server.send_signal(signal.SIGINT)
        assert server.wait(20.0) == 130
