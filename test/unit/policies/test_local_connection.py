"""The local connection: observation and answer arrive unchanged, and no lost connection goes unnoticed."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from robocontrast_ros.domain import Fault, Observed, Pose
from robocontrast_ros.policies.protocol import Observation, PolicyFault
from robocontrast_ros.policies.serving.local_connection import (
    PREFIX,
    ConnectionLost,
    InProcessClient,
    LocalClient,
    LocalServer,
    connect,
)
from robocontrast_ros.policies.serving.runner import Answer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the socket has no file")

POSE = Pose((0.1, 0.2, 0.3), (0.0, 0.0, 0.6, 0.8))
NOW = Observation(1_500_000_000, {}, ("elbow",), (0.25,), POSE)
ZEROS = Answer(np.zeros((2, 3)), 0.125, Observed())

number = st.floats(allow_nan=False, allow_infinity=False)
shapes = array_shapes(min_dims=3, max_dims=3, min_side=1, max_side=40)
images = st.dictionaries(st.text(max_size=5), arrays(np.uint8, shapes), max_size=3)


@pytest.fixture
def connected():
    """Return a function that starts a server and returns its client; both are closed afterwards."""
    ends = []

    def open_connection(act, timeout: float = 60.0) -> LocalClient:
        served = LocalServer(act)
        ends.append(served)
        ends.append(LocalClient(served.name, timeout))
        return ends[-1]

    yield open_connection
    for end in reversed(ends):
        end.close()


def ask(client: LocalClient, observation: Observation = NOW) -> Answer:
    return client.answer(client.ask(observation))


@settings(max_examples=30)
@given(
    stamp=st.integers(0, 2**63 - 1),
    pictures=images,
    joints=st.dictionaries(st.text(max_size=5), number, max_size=3),
    actions=arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 8)), elements=number),
    observed=st.builds(Observed, st.text(), st.text(), segments_digest=st.text()),
)
def test_observation_and_answer_arrive_as_they_were_sent(stamp, pictures, joints, actions, observed):
    received = []

    def act(observation: Observation) -> Answer:
        received.append(observation)
        return Answer(actions, 0.25, observed)

    served = LocalServer(act)
    client = LocalClient(served.name, 60.0)
    sent = Observation(stamp, pictures, tuple(joints), tuple(joints.values()), POSE)
    answer = ask(client, sent)
    client.close()
    served.close()
    assert replace(received[0], images={}) == replace(sent, images={})
    assert list(received[0].images) == list(pictures)
    for name, picture in pictures.items():
        np.testing.assert_array_equal(received[0].images[name], picture, strict=True)
    np.testing.assert_array_equal(answer.actions, actions, strict=True)
    assert (answer.latency, answer.observed) == (0.25, observed)


def test_images_larger_than_the_sockets_buffer_arrive(connected):
    seen = []
    client = connected(lambda observation: seen.append(observation.images["wide"]) or ZEROS)
    wide = np.random.default_rng(0).integers(0, 256, (1080, 1920, 3), dtype=np.uint8)
    for shown in (wide, wide[:, ::-1, ::-1]):
        ask(client, replace(NOW, images={"wide": shown}))
        np.testing.assert_array_equal(seen[-1], shown)


def test_an_image_that_a_policy_keeps_stays_as_it_was(connected):
    kept = []
    client = connected(lambda observation: kept.append(observation.images["board"]) or ZEROS)
    for value in (1, 2, 3):
        ask(client, replace(NOW, images={"board": np.full((224, 224, 3), value, np.uint8)}))
    assert [int(image.max()) for image in kept] == [1, 2, 3]


def test_the_policys_fault_is_raised_in_the_client_which_stays_connected(connected):
    faults = [PolicyFault(Fault.POLICY_TIMEOUT, "no answer within 1 s")]

    def act(observation: Observation) -> Answer:
        if faults:
            raise faults.pop()
        return ZEROS

    client = connected(act)
    with pytest.raises(PolicyFault, match="no answer within 1 s") as raised:
        ask(client)
    assert raised.value.fault is Fault.POLICY_TIMEOUT
    assert ask(client).latency == ZEROS.latency


def test_a_late_answer_is_not_taken_for_the_next_one(connected):
    client = connected(lambda observation: replace(ZEROS, latency=observation.stamp))
    client.ask(replace(NOW, stamp=1))
    client.ask(replace(NOW, stamp=2))
    assert ask(client, replace(NOW, stamp=3)).latency == 3


def test_each_of_two_clients_gets_its_own_answers():
    served = LocalServer(lambda observation: replace(ZEROS, latency=observation.stamp))
    one, other = LocalClient(served.name, 60.0), LocalClient(served.name, 60.0)
    numbers = one.ask(replace(NOW, stamp=1)), other.ask(replace(NOW, stamp=2))
    assert (other.answer(numbers[1]).latency, one.answer(numbers[0]).latency) == (2.0, 1.0)
    for end in (one, other, served):
        end.close()


def test_no_answer_within_the_limit_is_a_lost_connection_and_closes_it(connected):
    released = threading.Event()
    client = connected(lambda observation: released.wait(60.0) and ZEROS, timeout=0.2)
    with pytest.raises(ConnectionLost, match=r"no answer within 0\.2 s"):
        ask(client)
    released.set()
    with pytest.raises(ConnectionLost):
        ask(client)


def test_a_server_that_reads_nothing_is_a_lost_connection():
    name = f"{PREFIX}test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as deaf:
        deaf.bind("\0" + name)
        deaf.listen()
        client = LocalClient(name, 0.3)
        with pytest.raises(ConnectionLost, match=r"no answer within 0\.3 s"):
            client.ask(replace(NOW, images={"wide": np.zeros((2000, 2000, 3), np.uint8)}))
        assert not client.is_connected_to(name)


ENDLESS = 36000.0
"""A limit that is not met in a test [s]."""

DYING = """
import os, socket, sys
listening = socket.socket(socket.AF_UNIX)
listening.bind(chr(0) + sys.argv[1])
listening.listen()
print("listening", flush=True)
listening.accept()[0].recv(1)
os._exit(1)
"""


def test_a_server_that_dies_is_lost_at_once_and_not_after_the_limit():
    name = f"{PREFIX}dying-{os.getpid()}"
    with subprocess.Popen([sys.executable, "-c", DYING, name], stdout=subprocess.PIPE) as server:
        server.stdout.readline()
        client = LocalClient(name, ENDLESS)
        with pytest.raises(ConnectionLost):
            ask(client)


def test_a_server_that_is_closed_ends_its_connections_and_frees_its_name():
    served = LocalServer(lambda observation: ZEROS)
    client = LocalClient(served.name, 60.0)
    ask(client)
    served.close()
    with pytest.raises(ConnectionLost):
        ask(client)
    assert not client.is_connected_to(served.name)
    with pytest.raises(ConnectionLost):
        LocalClient(served.name, 1.0)


@pytest.mark.parametrize("name", ["", "somebody-else", PREFIX + "that-is-not-there"])
def test_a_name_without_a_server_is_refused_at_once(name):
    with pytest.raises(ConnectionLost):
        LocalClient(name, ENDLESS)


def test_a_client_of_another_user_is_not_answered(monkeypatch):
    user = os.getuid()
    served = LocalServer(lambda observation: ZEROS)
    monkeypatch.setattr(os, "getuid", lambda: user + 1)
    client = LocalClient(served.name, 60.0)
    with pytest.raises(ConnectionLost):
        ask(client)
    client.close()
    served.close()


def test_a_client_that_sends_something_else_is_disconnected():
    served = LocalServer(lambda observation: ZEROS)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stranger:
        stranger.settimeout(10.0)
        stranger.connect("\0" + served.name)
        stranger.sendall(b"\x01\x00\x00\x00\x00\x00\x00\x00\xc1")
        assert stranger.recv(1) == b""
    client = LocalClient(served.name, 60.0)
    assert ask(client).latency == ZEROS.latency
    client.close()
    served.close()


def test_in_the_servers_own_process_the_policy_is_called_with_the_same_object():
    seen = []
    served = LocalServer(lambda observation: seen.append(observation) or ZEROS)
    client = connect(served.name, 60.0)
    assert isinstance(client, InProcessClient) and client.is_connected_to(served.name)
    assert ask(client) is ZEROS and seen[0] is NOW
    served.close()
    assert not client.is_connected_to(served.name)
    with pytest.raises(ConnectionLost):
        connect(served.name, 1.0)


def test_a_fault_in_the_same_process_is_raised_where_the_answer_is_taken():
    def fail(observation: Observation) -> Answer:
        raise PolicyFault(Fault.POLICY_TIMEOUT, "no answer within 1 s")

    served = LocalServer(fail)
    client = connect(served.name, 60.0)
    number = client.ask(NOW)
    with pytest.raises(PolicyFault, match="no answer within 1 s"):
        client.answer(number)
    served.close()
