"""The openpi adapter against a server process that speaks openpi's protocol."""

from __future__ import annotations

import hashlib
import re
import socket
import time
from dataclasses import replace

import msgpack
import numpy as np
import openpi_server
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from remote_servers import parameter_file, server

from robocontrast_ros.configuration import ConfigurationError, load_configured
from robocontrast_ros.contracts.policy import PolicyContract
from robocontrast_ros.domain import Fault, Pose
from robocontrast_ros.policies.adapters.packing import fit_image
from robocontrast_ros.policies.adapters.remote.openpi_policy import OpenpiPolicy
from robocontrast_ros.policies.adapters.remote.openpi_wire import Packer, unpack
from robocontrast_ros.policies.protocol import Observation, PolicyFault

CHUNK = {"length": openpi_server.CHUNK}
OUTPUT = {"key": "actions"}


@pytest.fixture(scope="module")
def port():
    with server("openpi_server.py") as port:
        yield port


@pytest.fixture
def make(port, tmp_path):
    """Return a function that makes the policy of a file with some changes; all are closed at the end."""
    made = []

    def make(path="", port=port, **changes):
        common = {"url": f"ws://127.0.0.1:{port}{path}", "chunk": CHUNK, "output": OUTPUT, "timeout": 10.0}
        made.append(load_configured("policies", parameter_file("openpi", tmp_path, **{**common, **changes})))
        return made[-1]

    yield make
    for policy in made:
        policy.close()


@pytest.fixture
def silent_port():
    """The port of a socket that accepts (the kernel does) and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def seen(seed=0, camera="board"):
    image = np.random.default_rng(seed).integers(0, 256, (48, 64, 3), np.uint8)
    return Observation(100_000_000, {camera: image}, ("j",), (0.5,), Pose((0.2, 0.1, 0.01)))


def fault_of(policy, prompt):
    policy.reset(prompt, 0)
    with pytest.raises(PolicyFault) as caught:
        policy.act(seen())
    return caught.value


class TestOpenpiContract(PolicyContract):
    @pytest.fixture(autouse=True)
    def _made_with(self, make, tmp_path):
        self.make = make
        self.parameter_file = lambda: parameter_file("openpi", tmp_path, chunk=CHUNK)


NUMBERS = arrays.arrays(
    st.sampled_from([np.dtype(kind) for kind in ("u1", "i8", "f2", "f4", ">f4", "f8", "?")]),
    arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4),
)


@given(NUMBERS)
def test_arrays_are_packed_byte_for_byte_as_openpi_packs_them(array):
    message = {"observation/image": array, "prompt": "push", "nested": {"one": np.float32(1.5)}}
    packer = Packer()
    ours = bytes(packer.pack(message))
    assert ours == msgpack.packb(message, default=openpi_server.pack)
    back = unpack(ours)
    assert np.array_equal(back["observation/image"], array, equal_nan=array.dtype.kind == "f")
    assert back["observation/image"].dtype == array.dtype
    assert back["nested"] == {"one": 1.5}


def test_an_array_that_is_a_view_of_another_is_packed_as_it_looks():
    image = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)[:, ::-1].transpose(2, 0, 1)
    packer = Packer()
    assert np.array_equal(unpack(bytes(packer.pack({"image": image})))["image"], image)


@given(st.binary(max_size=64))
def test_any_bytes_are_a_message_or_a_value_error(data):
    try:
        unpack(data)
    except ValueError:
        return


def test_the_server_gets_the_file_s_keys_with_the_images_the_state_and_the_words(make):
    policy = make()
    policy.reset("push the red star", 5)
    observation = seen()
    expected = {
        "prompt": "push the red star",
        "observation/image": fit_image(observation.images["board"], 224, 224, "pad"),
        "observation/state": np.array([0.2, 0.1], np.float32),
    }
    answer = policy.act(observation)
    assert np.array_equal(answer, openpi_server.rule(expected).astype(np.float64))


@pytest.mark.parametrize(
    ("size", "columns", "rows", "digest"),
    [
        ((848, 480), (0, 223), (49, 174), "ec98ac6674ec9832"),
        ((424, 240), (0, 223), (49, 174), "762ff1fcb07089dc"),
        ((640, 480), (0, 223), (28, 195), "e5e7e99d9e068a93"),
        ((160, 90), (0, 223), (49, 174), "b5fc24f8b6dd37b2"),
        ((100, 224), (62, 161), (0, 223), "f2b53109d33dcbba"),
    ],
)
def test_a_padded_image_is_that_of_openpi_to_the_bit(size, columns, rows, digest):
    # The digests are of what `resize_with_pad` of openpi_client (15a9616a) made of the same images.
    row, column = np.indices(size[::-1])
    image = np.stack((row * 7 + column * 3, row * column, 255 - row - column * 5), 2).astype(np.uint8)
    padded = fit_image(image, 224, 224, "pad")
    for axes, filled in (((0, 2), columns), ((1, 2), rows)):
        assert np.flatnonzero(padded.any(axes))[[0, -1]].tolist() == list(filled)
    assert hashlib.sha256(padded.tobytes()).hexdigest()[:16] == digest


def test_an_image_of_the_right_size_is_not_padded_and_a_very_long_one_keeps_a_row():
    image = np.full((224, 224, 3), 200, np.uint8)
    assert fit_image(image, 224, 224, "pad") is image
    assert fit_image(image[:1], 112, 60, "pad").any((1, 2)).sum() == 1


def test_keys_with_a_slash_become_mappings_where_that_is_asked_for_and_extras_go_along(make):
    policy = make(nested=True, extra={"robot": "franka"}, input={"state": {"a/b": {"parts": ["tool_xy"]}}})
    policy.reset("x", 0)
    sent = {"prompt": "x", "a": {"b": np.array([0.2, 0.1], np.float32)}, "robot": "franka"}
    assert np.array_equal(policy.act(seen()), openpi_server.rule(sent).astype(np.float64))


def test_a_reset_message_carries_words_and_seed_where_the_server_knows_one(make):
    policy = make(reset={"endpoint": "reset"}, seed="seed", input={})
    policy.reset("push", 2**63)
    sent = {"prompt": "push", "seed": 2**63}
    assert np.array_equal(policy.act(seen()), openpi_server.rule(sent).astype(np.float64))


def test_a_key_is_taken_from_the_environment(make, monkeypatch):
    with pytest.raises(ConfigurationError, match=r"url.*HTTP 401"):
        make("/locked")
    with pytest.raises(ConfigurationError, match=r"api_key.*OPENPI_KEY.*export OPENPI_KEY"):
        make("/locked", api_key="OPENPI_KEY")
    monkeypatch.setenv("OPENPI_KEY", openpi_server.KEY)
    make("/locked", api_key="OPENPI_KEY").reset("push", 0)


def test_warming_up_leaves_no_trace(make):
    warm, cold = make(), make()
    warm.warm_up()
    for policy in (warm, cold):
        policy.reset("push", 1)
    assert np.array_equal(warm.act(seen()), cold.act(seen()))


def test_a_first_answer_may_take_longer_than_the_others(make):
    warming = make(timeout=0.2, warm_up_timeout=60.0, input={"instruction": "words"}, extra={"prompt": "slow"})
    warming.warm_up()
    assert fault_of(warming, "x").fault is Fault.POLICY_TIMEOUT


def test_an_answer_may_take_longer_than_connecting(make):
    policy = make(connect_timeout=openpi_server.SLOW / 2)
    policy.reset("slow", 0)
    assert policy.act(seen()).shape == (4, 2)


@pytest.mark.parametrize(
    ("prompt", "fault", "words"),
    [
        ("wrong shape", Fault.POLICY_WRONG_SHAPE, r"\(4, 3\)"),
        ("missing key", Fault.POLICY_UNREADABLE, "motions.*'actions'"),
        ("no numbers", Fault.POLICY_UNREADABLE, "actions"),
        ("no mapping", Fault.POLICY_UNREADABLE, "list"),
        ("objects", Fault.POLICY_UNREADABLE, "object"),
        ("pickled", Fault.POLICY_UNREADABLE, "arrays of objects or records are not exchanged"),
        ("records", Fault.POLICY_UNREADABLE, "arrays of objects or records are not exchanged"),
        ("complex", Fault.POLICY_UNREADABLE, "numbers in 'actions'"),
        ("texts", Fault.POLICY_UNREADABLE, "got texts, expected numbers in 'actions'"),
        ("times", Fault.POLICY_UNREADABLE, "got times, expected numbers"),
        ("unknown numbers", Fault.POLICY_UNREADABLE, "'bfloat16', which NumPy does not know"),
        ("pointers", Fault.POLICY_UNREADABLE, r"arrays of StringDType\(\) are not exchanged"),
        ("batch", Fault.POLICY_WRONG_SHAPE, r"got shape \(2, 4, 2\)"),
        ("many lists", Fault.POLICY_UNREADABLE, "more than 131072 values"),
        ("one long list", Fault.POLICY_UNREADABLE, "200000 exceeds max_array_len"),
        ("deep", Fault.POLICY_UNREADABLE, "100000 bytes that are no msgpack message: StackError"),
        ("too large", Fault.POLICY_UNREADABLE, "16777216"),
        ("short array", Fault.POLICY_UNREADABLE, "msgpack"),
        ("garbage", Fault.POLICY_UNREADABLE, "255 bytes"),
        ("no websocket", Fault.POLICY_UNREADABLE, "no websocket message"),
        ("raise", Fault.POLICY_RAISED, "the server says: ValueError: I cannot see$"),
        ("hang up", Fault.POLICY_SERVER_LOST, "closed the connection"),
    ],
)
def test_each_way_to_fail_has_its_fault_and_the_next_trial_is_served(make, prompt, fault, words):
    policy = make()
    failed = fault_of(policy, prompt)
    assert failed.fault is fault
    assert re.search(words, failed.detail)
    policy.reset("push", 0)
    fresh = make()
    fresh.reset("push", 0)
    assert np.array_equal(policy.act(seen()), fresh.act(seen()))


@pytest.mark.parametrize("dialect", openpi_server.DIALECTS)
def test_arrays_are_read_in_each_form_in_which_servers_of_this_protocol_write_them(make, dialect):
    policy = make()
    policy.reset(dialect, 0)
    assert np.array_equal(policy.act(seen()), openpi_server.RIGHT.astype(np.float64))


def test_a_mapping_that_no_dialect_writes_is_told_by_its_keys(make):
    failed = fault_of(make(output={"key": ""}), "missing key")
    assert failed.fault is Fault.POLICY_UNREADABLE
    expected = "got a mapping with motions, which is no known form of an array, expected numbers in 'the answer'"
    assert failed.detail == expected


def test_a_late_answer_is_not_taken_for_the_next_one(make):
    # The server answers when it is asked for something else.
    policy = make(timeout=2.0)
    assert fault_of(policy, "late").fault is Fault.POLICY_TIMEOUT
    with pytest.raises(PolicyFault, match="POLICY_TIMEOUT"):
        policy.act(seen())
    policy.reset("push", 0)
    answers = [policy.act(seen(k)) for k in range(3)]
    fresh = make()
    fresh.reset("push", 0)
    assert all(np.array_equal(fresh.act(seen(k)), answer) for k, answer in enumerate(answers))


def test_an_answer_that_nobody_asked_for_is_not_taken_for_the_next_one(make):
    policy = make()
    policy.reset("twice", 0)
    policy.act(seen(0))
    deadline = time.monotonic() + 60.0

    def until_it_is_there():
        # It may be on its way still when the next observation is sent.
        while time.monotonic() < deadline:
            policy.act(seen(1))

    with pytest.raises(PolicyFault, match=r"POLICY_UNREADABLE.*without a request"):
        until_it_is_there()


def test_a_server_that_dies_is_lost_and_one_that_is_back_is_used_from_the_next_reset_on(make):
    with server("openpi_server.py") as port:
        policy = make(port=port)
        assert fault_of(policy, "die").fault is Fault.POLICY_SERVER_LOST
    with pytest.raises(PolicyFault, match=f"POLICY_SERVER_LOST.*:{port} cannot be reached: .*refused"):
        policy.reset("push", 0)
    with server("openpi_server.py", "--port", port):
        policy.reset("push", 0)
        assert policy.act(seen()).shape == (4, 2)


def test_a_server_that_restarts_between_trials_is_not_noticed(make):
    with server("openpi_server.py") as port:
        policy = make(port=port)
    with server("openpi_server.py", "--port", port):
        policy.reset("push", 0)
        assert policy.act(seen()).shape == (4, 2)


def test_a_server_that_neither_reads_nor_answers_is_a_timeout_at_sending_and_at_connecting(make):
    huge = replace(seen(), images={"board": np.zeros((2560, 2560, 3), np.uint8)})
    with server("openpi_server.py") as port:
        policy = make(port=port, timeout=2.0, connect_timeout=2.0, input={"images": {"image": {"camera": "board"}}})
        policy.reset("answer and freeze", 0)
        policy.act(seen())
        with pytest.raises(PolicyFault, match=r"POLICY_TIMEOUT.*does not read what it is sent"):
            policy.act(huge)
        with pytest.raises(PolicyFault, match=r"POLICY_TIMEOUT.*accepted, and sent nothing"):
            policy.reset("push", 0)


def test_a_refused_connection_is_told_with_file_key_and_cure(make):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(ConfigurationError) as caught:
        make(port=port)
    message = str(caught.value)
    for part in ("openpi.yaml: `url`", f"ws://127.0.0.1:{port}", "refused", "Start the server"):
        assert part in message


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/silent", "answers in time.*no answer"),
        ("/text", "the server says: RuntimeError: no checkpoint"),
        ("/list", "list.*metadata"),
        ("/locked", "HTTP 401"),
    ],
)
def test_what_a_server_does_wrong_at_connecting_is_told_at_loading(make, path, words):
    with pytest.raises(ConfigurationError, match=words):
        make(path, connect_timeout=2.0)


def test_a_socket_that_accepts_and_says_nothing_is_told_at_loading(make, silent_port):
    with pytest.raises(ConfigurationError, match=r"accepted, and sent nothing within 0\.\d+ s"):
        make(port=silent_port, connect_timeout=0.3)


def test_a_web_server_that_is_no_websocket_server_is_told_at_loading(make):
    with server("http_server.py") as port, pytest.raises(ConfigurationError, match="`url`"):
        make(port=port)


@pytest.mark.parametrize(
    ("key", "changes"),
    [
        ("chunk.length", {"chunk": {"length": 5}}),
        ("action.size", {"action": {"space": "planar_delta", "size": 3}}),
        ("metadata.checkpoint", {"metadata": {"checkpoint": "pi0"}}),
        ("metadata.nothing", {"metadata": {"nothing": 1}}),
    ],
)
def test_a_server_that_says_something_else_of_itself_than_the_file_is_refused(make, key, changes):
    make(metadata={"checkpoint": "rule", "action_dim": 2})
    with pytest.raises(ConfigurationError, match=f"`{key}`.*The server says"):
        make(**changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"url": "localhost:8000"}, "url.*ws://localhost:8000"),
        ({"url": "http://localhost:8000"}, "url.*ws://localhost:8000"),
        ({"url": "ws://localhost:99999"}, "url.*ws://localhost:8000"),
        ({"seed": "seed"}, "`seed` only with `reset`"),
        ({"output": {"columns": [0]}}, "output.columns.*2 numbers"),
        ({"output": {"scale": [1.0]}}, "output.scale.*2 numbers"),
        ({"input": {"state": {"s": {"parts": ["tool_xy"], "mean": [1.0]}}}}, "input.state.s.mean.*2 numbers"),
    ],
)
def test_a_wrong_file_is_told_by_its_key(make, changes, words):
    with pytest.raises(ConfigurationError, match=words):
        make(**changes)


def test_a_file_is_described_without_a_server(tmp_path):
    description = OpenpiPolicy.describe_file(parameter_file("openpi", tmp_path, url="ws://127.0.0.1:9"))
    assert (description.name, description.action_space, description.cameras) == (
        "openpi",
        "planar_delta",
        ("board",),
    )
    assert (description.chunk_length, description.execute) == (10, 5)
