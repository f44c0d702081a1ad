"""The http adapter against a server process that answers as OpenVLA's does."""

from __future__ import annotations

import re
import socket

import http_server
import numpy as np
import pytest
from remote_servers import parameter_file, server

from robocontrast_ros.configuration import ConfigurationError, load_configured
from robocontrast_ros.contracts.policy import PolicyContract
from robocontrast_ros.domain import Fault, Pose
from robocontrast_ros.policies.adapters.remote.http_policy import HttpPolicy, decode, encode
from robocontrast_ros.policies.protocol import Observation, PolicyFault

INPUT = {"instruction": "instruction", "images": {"image": {"camera": "board"}}}


@pytest.fixture(scope="module")
def port():
    with server("http_server.py") as port:
        yield port


@pytest.fixture
def make(port, tmp_path):
    """Return a function that makes the policy of a file with some changes; all are closed at the end."""
    made = []

    def make(path="/act", port=port, **changes):
        common = {"url": f"http://127.0.0.1:{port}{path}", "input": INPUT, "timeout": 10.0}
        made.append(load_configured("policies", parameter_file("http", tmp_path, **{**common, **changes})))
        return made[-1]

    yield make
    for policy in made:
        policy.close()


def seen(seed=0):
    image = np.random.default_rng(seed).integers(0, 256, (48, 64, 3), np.uint8)
    return Observation(100_000_000, {"board": image}, ("j",), (0.5,), Pose((0.2, 0.1, 0.01)))


def fault_of(policy, words):
    policy.reset(words, 0)
    with pytest.raises(PolicyFault) as caught:
        policy.act(seen())
    return caught.value


class TestHttpContract(PolicyContract):
    @pytest.fixture(autouse=True)
    def _made_with(self, make, tmp_path):
        self.make = make
        self.parameter_file = lambda: parameter_file("http", tmp_path)


@pytest.mark.parametrize("encoding", ["json_numpy", "lists"])
@pytest.mark.parametrize("double", [False, True])
def test_the_server_reads_every_way_to_write_an_observation_and_is_read_in_each(make, encoding, double):
    policy = make(encoding=encoding, double_encoded=double)
    policy.reset("push the red star", 5)
    sent = {
        "instruction": "push the red star",
        "image": seen().images["board"],
        "unnorm_key": "language_table",
    }
    assert np.array_equal(policy.act(seen()), http_server.rule(sent)[None, :2])


def test_json_numpy_is_what_the_package_of_that_name_writes():
    message = {"image": np.arange(6, dtype=np.uint8).reshape(1, 2, 3), "instruction": "push"}
    expected = b'{"image":{"__numpy__":"AAECAwQF","dtype":"|u1","shape":[1,2,3]},"instruction":"push"}'
    assert encode(message, "json_numpy", False) == expected
    assert np.array_equal(decode(expected)["image"], message["image"])


def test_a_server_with_a_state_is_told_of_each_trial(make, port):
    policy = make(reset_url=f"http://127.0.0.1:{port}/reset", extra={"seed": "of the trial"})
    policy.reset("push", 2**63)
    sent = {"instruction": "push", "image": seen().images["board"], "seed": 2**63}
    assert np.array_equal(policy.act(seen()), http_server.rule(sent)[None, :2])
    broken = make(reset_url=f"http://127.0.0.1:{port}/act")
    with pytest.raises(PolicyFault, match=r"POLICY_RAISED.*HTTP 500: ValueError: I cannot see"):
        broken.reset("raise", 0)


def test_a_key_is_taken_from_the_environment(make, monkeypatch):
    with pytest.raises(ConfigurationError, match=r"api_key.*HTTP 401.*Name the environment variable"):
        make("/locked")
    monkeypatch.setenv("HTTP_KEY", http_server.KEY)
    make("/locked", api_key="HTTP_KEY")


def test_a_first_answer_may_take_longer_than_the_others(make):
    words = {"input": {**INPUT, "instruction": "words"}, "extra": {"instruction": "slow"}}
    warming = make(timeout=0.2, warm_up_timeout=60.0, **words)
    warming.warm_up()
    assert fault_of(warming, "x").fault is Fault.POLICY_TIMEOUT


@pytest.mark.parametrize(
    ("words", "fault", "told"),
    [
        ("wrong shape", Fault.POLICY_WRONG_SHAPE, r"\(1,\)"),
        (
            "no numbers",
            Fault.POLICY_UNREADABLE,
            "got a mapping with a, which is no known form of an array, expected numbers",
        ),
        ("times", Fault.POLICY_UNREADABLE, "got times, expected numbers"),
        ("complex", Fault.POLICY_UNREADABLE, "arrays of complex128 are not exchanged"),
        ("endless shape", Fault.POLICY_UNREADABLE, "hold no array"),
        ("texts", Fault.POLICY_UNREADABLE, "got texts, expected numbers"),
        ("beyond float", Fault.POLICY_UNREADABLE, "got list, expected numbers"),
        ("too many digits", Fault.POLICY_UNREADABLE, "not JSON.*4300 digits"),
        ("many lists", Fault.POLICY_UNREADABLE, "more than 131072 values"),
        ("too large", Fault.POLICY_UNREADABLE, "more than 16777216 bytes from http://127.0.0.1"),
        ("endless", Fault.POLICY_UNREADABLE, "more than 16777216 bytes from http://127.0.0.1"),
        ("compressed", Fault.POLICY_UNREADABLE, r"compressed \(gzip\)"),
        ("short array", Fault.POLICY_UNREADABLE, "no array"),
        ("objects", Fault.POLICY_UNREADABLE, "object"),
        ("garbage", Fault.POLICY_UNREADABLE, "255 bytes that are not JSON"),
        ("no http", Fault.POLICY_UNREADABLE, "not HTTP"),
        ("error", Fault.POLICY_RAISED, "the server says: error"),
        ("raise", Fault.POLICY_RAISED, "HTTP 500: ValueError: I cannot see$"),
        ("elsewhere", Fault.POLICY_RAISED, "HTTP 307"),
        ("hang up", Fault.POLICY_SERVER_LOST, "closed the connection"),
        ("half", Fault.POLICY_SERVER_LOST, "closed the connection"),
    ],
)
def test_each_way_to_fail_has_its_fault_and_the_next_trial_is_served(make, words, fault, told):
    policy = make()
    failed = fault_of(policy, words)
    assert failed.fault is fault
    assert re.search(told, failed.detail)
    policy.reset("push", 0)
    fresh = make()
    fresh.reset("push", 0)
    assert np.array_equal(policy.act(seen()), fresh.act(seen()))


@pytest.mark.parametrize("words", ["late", "drip", "drip headers"])
def test_a_slow_answer_is_cut_off_and_not_taken_for_the_next_one(make, words):
    # The server answers no further before it is asked for something else.
    policy = make(timeout=2.0)
    failed = fault_of(policy, words)
    assert (failed.fault, failed.detail.split(" within ")[1]) == (Fault.POLICY_TIMEOUT, "2 s")
    with pytest.raises(PolicyFault, match="POLICY_TIMEOUT"):
        policy.act(seen())
    policy.reset("push", 0)
    answers = [policy.act(seen(k)) for k in range(3)]
    fresh = make()
    fresh.reset("push", 0)
    assert all(np.array_equal(fresh.act(seen(k)), answer) for k, answer in enumerate(answers))


def test_a_server_that_dies_is_lost_until_it_is_back(make):
    with server("http_server.py") as port:
        policy = make(port=port)
        assert fault_of(policy, "die").fault is Fault.POLICY_SERVER_LOST
    refused = fault_of(policy, "push")
    assert (refused.fault, "refused" in refused.detail) == (Fault.POLICY_SERVER_LOST, True)
    with server("http_server.py", port):
        policy.reset("push", 0)
        assert policy.act(seen()).shape == (1, 2)


def test_a_refused_connection_is_told_with_file_key_and_cure(make):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(ConfigurationError) as caught:
        make(port=port)
    message = str(caught.value)
    for part in ("http.yaml: `url`", f"http://127.0.0.1:{port}/act", "refused", "Start the server"):
        assert part in message


def test_a_socket_that_accepts_and_says_nothing_is_told_at_loading(make):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(ConfigurationError, match=r"answers in time.*no answer.*within 0\.3 s"):
            make(port=port, connect_timeout=0.3)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"url": "localhost:8000/act"}, "url.*http://localhost:8000"),
        ({"reset_url": "ws://localhost"}, "url.*http://localhost:8000"),
        ({"encoding": "pickle"}, "encoding.*json_numpy"),
        ({"output": {"columns": [0]}}, "output.columns.*2 numbers"),
    ],
)
def test_a_wrong_file_is_told_by_its_key(make, changes, words):
    with pytest.raises(ConfigurationError, match=words):
        make(**changes)


def test_a_file_is_described_without_a_server(tmp_path):
    description = HttpPolicy.describe_file(parameter_file("http", tmp_path, url="http://127.0.0.1:9/act"))
    assert (description.name, description.cameras, description.chunk_length) == ("openvla", ("board",), 1)
