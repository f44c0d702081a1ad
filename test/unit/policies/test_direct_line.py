"""The direct line: the same observation and the same answer at the other end, and no end that is lost silently."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from robocontrast_ros.domain import Fault, Observed, Pose
from robocontrast_ros.policies.protocol import Observation, PolicyFault
from robocontrast_ros.policies.serving.direct_line import (
    PREFIX,
    Caller,
    CallerHere,
    DirectLine,
    LineLost,
    call,
)
from robocontrast_ros.policies.serving.runner import Answer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the line is a socket without a file")

POSE = Pose((0.1, 0.2, 0.3), (0.0, 0.0, 0.6, 0.8))
NOW = Observation(1.5, {}, ("elbow",), (0.25,), POSE)
ZEROS = Answer(np.zeros((2, 3)), 0.125, Observed())

number = st.floats(allow_nan=False, allow_infinity=False)
shapes = array_shapes(min_dims=3, max_dims=3, min_side=1, max_side=40)
images = st.dictionaries(st.text(max_size=5), arrays(np.uint8, shapes), max_size=3)


@pytest.fixture
def line():
    """Return a function that opens a line and calls it; both ends are closed afterwards."""
    ends = []

    def open_line(act, timeout: float = 60.0) -> Caller:
        served = DirectLine(act)
        ends.append(served)
        ends.append(Caller(served.name, timeout))
        return ends[-1]

    yield open_line
    for end in reversed(ends):
        end.close()


def ask(caller: Caller, observation: Observation = NOW) -> Answer:
    return caller.answer(caller.ask(observation))


@settings(max_examples=30)
@given(
    stamp=number,
    pictures=images,
    joints=st.dictionaries(st.text(max_size=5), number, max_size=3),
    actions=arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 8)), elements=number),
    observed=st.builds(Observed, st.text(), st.text()),
)
def test_observation_and_answer_arrive_as_they_were_sent(stamp, pictures, joints, actions, observed):
    received = []

    def act(observation: Observation) -> Answer:
        received.append(observation)
        return Answer(actions, 0.25, observed)

    served = DirectLine(act)
    caller = Caller(served.name, 60.0)
    sent = Observation(stamp, pictures, tuple(joints), tuple(joints.values()), POSE)
    answer = ask(caller, sent)
    caller.close()
    served.close()
    assert replace(received[0], images={}) == replace(sent, images={})
    assert list(received[0].images) == list(pictures)
    for name, picture in pictures.items():
        np.testing.assert_array_equal(received[0].images[name], picture, strict=True)
    np.testing.assert_array_equal(answer.actions, actions, strict=True)
    assert (answer.latency, answer.observed) == (0.25, observed)


def test_images_larger_than_the_sockets_buffer_arrive(line):
    seen = []
    caller = line(lambda observation: seen.append(observation.images["wide"]) or ZEROS)
    wide = np.random.default_rng(0).integers(0, 256, (1080, 1920, 3), dtype=np.uint8)
    for shown in (wide, wide[:, ::-1, ::-1]):
        ask(caller, replace(NOW, images={"wide": shown}))
        np.testing.assert_array_equal(seen[-1], shown)


def test_an_image_that_a_policy_keeps_stays_as_it_was(line):
    kept = []
    caller = line(lambda observation: kept.append(observation.images["board"]) or ZEROS)
    for value in (1, 2, 3):
        ask(caller, replace(NOW, images={"board": np.full((224, 224, 3), value, np.uint8)}))
    assert [int(image.max()) for image in kept] == [1, 2, 3]


def test_the_policys_fault_is_raised_at_the_callers_end_and_the_line_goes_on(line):
    faults = [PolicyFault(Fault.POLICY_TIMEOUT, "no answer within 1 s")]

    def act(observation: Observation) -> Answer:
        if faults:
            raise faults.pop()
        return ZEROS

    caller = line(act)
    with pytest.raises(PolicyFault, match="no answer within 1 s") as raised:
        ask(caller)
    assert raised.value.fault is Fault.POLICY_TIMEOUT
    assert ask(caller).latency == ZEROS.latency


def test_an_answer_that_nobody_waited_for_is_not_taken_for_the_next_one(line):
    caller = line(lambda observation: replace(ZEROS, latency=observation.stamp))
    caller.ask(replace(NOW, stamp=1.0))
    caller.ask(replace(NOW, stamp=2.0))
    assert ask(caller, replace(NOW, stamp=3.0)).latency == 3.0


def test_two_callers_get_each_their_own_answers(line):
    served = DirectLine(lambda observation: replace(ZEROS, latency=observation.stamp))
    one, other = Caller(served.name, 60.0), Caller(served.name, 60.0)
    numbers = one.ask(replace(NOW, stamp=1.0)), other.ask(replace(NOW, stamp=2.0))
    assert (other.answer(numbers[1]).latency, one.answer(numbers[0]).latency) == (2.0, 1.0)
    for end in (one, other, served):
        end.close()


def test_silence_beyond_the_limit_is_a_lost_line_and_closes_it(line):
    released = threading.Event()
    caller = line(lambda observation: released.wait(60.0) and ZEROS, timeout=0.2)
    began = time.monotonic()
    with pytest.raises(LineLost, match=r"no answer within 0\.2 s"):
        ask(caller)
    assert 0.15 < time.monotonic() - began < 20.0
    released.set()
    with pytest.raises(LineLost):
        ask(caller)


def test_a_server_that_takes_nothing_is_a_lost_line():
    name = f"{PREFIX}test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as deaf:
        deaf.bind("\0" + name)
        deaf.listen()
        caller = Caller(name, 0.3)
        with pytest.raises(LineLost, match=r"no answer within 0\.3 s"):
            caller.ask(replace(NOW, images={"wide": np.zeros((2000, 2000, 3), np.uint8)}))
        assert not caller.serves(name)


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
        caller = Caller(name, 30.0)
        began = time.monotonic()
        with pytest.raises(LineLost):
            ask(caller)
        assert time.monotonic() - began < 20.0


def test_closing_the_servers_end_hangs_up_and_frees_the_name():
    served = DirectLine(lambda observation: ZEROS)
    caller = Caller(served.name, 60.0)
    ask(caller)
    served.close()
    with pytest.raises(LineLost):
        ask(caller)
    assert not caller.serves(served.name)
    with pytest.raises(LineLost):
        Caller(served.name, 1.0)


@pytest.mark.parametrize("name", ["", "somebody-else", PREFIX + "that-is-not-there"])
def test_a_name_that_nobody_here_answers_to_is_refused_at_once(name):
    began = time.monotonic()
    with pytest.raises(LineLost):
        Caller(name, 30.0)
    assert time.monotonic() - began < 20.0


def test_a_caller_of_another_user_is_not_answered(line, monkeypatch):
    user = os.getuid()
    served = DirectLine(lambda observation: ZEROS)
    monkeypatch.setattr(os, "getuid", lambda: user + 1)
    caller = Caller(served.name, 60.0)
    with pytest.raises(LineLost):
        ask(caller)
    caller.close()
    served.close()


def test_who_says_something_else_on_the_line_is_hung_up_on():
    served = DirectLine(lambda observation: ZEROS)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stranger:
        stranger.settimeout(10.0)
        stranger.connect("\0" + served.name)
        stranger.sendall(b"\x01\x00\x00\x00\x00\x00\x00\x00\xc1")
        assert stranger.recv(1) == b""
    caller = Caller(served.name, 60.0)
    assert ask(caller).latency == ZEROS.latency
    caller.close()
    served.close()


def test_in_the_servers_own_process_the_policy_is_called_and_sees_the_very_observation():
    seen = []
    served = DirectLine(lambda observation: seen.append(observation) or ZEROS)
    caller = call(served.name, 60.0)
    assert isinstance(caller, CallerHere) and caller.serves(served.name)
    assert ask(caller) is ZEROS and seen[0] is NOW
    served.close()
    assert not caller.serves(served.name)
    with pytest.raises(LineLost):
        call(served.name, 1.0)


def test_a_fault_in_the_same_process_is_raised_where_the_answer_is_taken():
    def fail(observation: Observation) -> Answer:
        raise PolicyFault(Fault.POLICY_TIMEOUT, "no answer within 1 s")

    served = DirectLine(fail)
    caller = call(served.name, 60.0)
    number = caller.ask(NOW)
    with pytest.raises(PolicyFault, match="no answer within 1 s"):
        caller.answer(number)
    served.close()
