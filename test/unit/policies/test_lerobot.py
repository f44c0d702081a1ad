"""The lerobot adapter: with a process that stands in for lerobot's, and with lerobot itself where it is at hand."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import numpy as np
import openpi_server
import pytest
from remote_servers import SUPPORT, parameter_file

from robocontrast_ros.configuration import ConfigurationError, load_configured
from robocontrast_ros.contracts.policy import PolicyContract
from robocontrast_ros.domain import Fault, Pose
from robocontrast_ros.policies.adapters.remote.lerobot_policy import LerobotPolicy
from robocontrast_ros.policies.protocol import Observation, PolicyFault

INPUT = {
    "images": {"observation.images.board": {"camera": "board", "width": 96, "height": 96}},
    "state": {"observation.state": {"parts": ["tool_xy"]}},
}
CHUNK = {"length": openpi_server.CHUNK}


def program(folder, words):
    """Write an executable that is named in a Python's place and return its path."""
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{words}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def make(tmp_path):
    """Return a function that makes the policy of a file with some changes; all are closed at the end."""
    made = []
    (tmp_path / "checkpoint").mkdir()
    (tmp_path / "checkpoint" / "config.json").write_text("{}")

    def make(words=f"exec '{sys.executable}' '{SUPPORT / 'openpi_server.py'}' --lerobot", **changes):
        common = {
            "python": program(tmp_path, words),
            "checkpoint": "checkpoint",
            "input": INPUT,
            "chunk": CHUNK,
            "timeout": 10.0,
        }
        made.append(load_configured("policies", parameter_file("lerobot", tmp_path, **{**common, **changes})))
        return made[-1]

    yield make
    for policy in made:
        policy.close()


def seen(seed=0):
    image = np.random.default_rng(seed).integers(0, 256, (48, 64, 3), np.uint8)
    return Observation(100_000_000, {"board": image}, (), (), Pose((0.4, 0.0, 0.01)))


class TestLerobotContract(PolicyContract):
    @pytest.fixture(autouse=True)
    def _made_with(self, make, tmp_path):
        self.make = make
        self.parameter_file = lambda: parameter_file("lerobot", tmp_path, chunk=CHUNK)


def test_a_trial_s_seed_reaches_the_process(make):
    policy = make()
    answers = []
    for seed in (1, 1, 2):
        policy.reset("push", seed)
        answers.append(policy.act(seen()))
    assert np.array_equal(answers[0], answers[1]) and not np.array_equal(answers[0], answers[2])


def test_the_process_ends_when_the_policy_is_closed_or_forgotten(make, tmp_path):
    policy = make()
    process = policy._process
    policy.close()
    assert process.poll() == 0
    (file,) = tmp_path.glob("*.yaml")
    forgotten = LerobotPolicy.from_file(file)
    process = forgotten._process
    del forgotten
    assert process.poll() == 0


def test_a_process_that_ends_is_lost(make):
    policy = make()
    policy.reset("die", 0)
    with pytest.raises(PolicyFault) as caught:
        policy.act(seen())
    assert caught.value.fault is Fault.POLICY_SERVER_LOST
    policy._process.wait(60.0)
    with pytest.raises(PolicyFault, match=r"POLICY_SERVER_LOST.*terminated with status 1"):
        policy.reset("push", 0)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"python": "/no/such/python"},
            r"`python`: got '/no/such/python'.*no such program.*pip install lerobot",
        ),
        ({"python": "no_such_python"}, r"`python`: got 'no_such_python'.*no such program"),
        ({"words": "exit 3"}, r"`python`.*terminated with 3"),
        ({"words": "echo Hello"}, "`python`.*output other than a port"),
        ({"words": "exec sleep 60", "start_timeout": 0.2}, r"`start_timeout`: got 0\.2"),
        ({"checkpoint": "elsewhere"}, r"`checkpoint`.*elsewhere.*config\.json"),
        ({"input": {"images": INPUT["images"]}}, r"`input`.*observation\.images\.board.*observation\.state"),
        (
            {"input": {**INPUT, "state": {"observation.state": {"parts": ["tool_position"]}}}},
            r"`input\.state\.observation\.state`: got \[3\].*\[2\]",
        ),
        (
            {
                "input": {
                    **INPUT,
                    "images": {"observation.images.board": {"camera": "b", "width": 9, "height": 8}},
                }
            },
            r"`input\.images\.observation\.images\.board`: got \[3, 8, 9\].*\[3, 96, 96\]",
        ),
        ({"action": {"space": "planar_delta", "size": 3}}, r"`action\.size`.*The server says 2"),
    ],
)
def test_what_does_not_fit_is_told_by_its_key_and_leaves_no_process(make, changes, words):
    with pytest.raises(ConfigurationError, match=words):
        make(**changes)


def test_a_python_without_lerobot_is_told_with_the_cure(make):
    # This one has it only where somebody put it there; -S leaves out all that is installed.
    with pytest.raises(ConfigurationError) as caught:
        make(words=f'exec "{sys.executable}" -S "$@"')
    message = str(caught.value)
    assert re.search(r"`python`.*No module named '\w+'", message)
    assert "pip install lerobot websockets msgpack" in message


def test_a_file_is_described_without_lerobot(tmp_path):
    description = LerobotPolicy.describe_file(parameter_file("lerobot", tmp_path))
    assert (description.name, description.cameras, description.chunk_length) == ("lerobot", ("board",), 10)


@pytest.fixture(scope="module")
def lerobot():
    python = os.environ.get("ROBOCONTRAST_LEROBOT_PYTHON")
    if not python:
        pytest.skip("needs the Python of an environment with lerobot in ROBOCONTRAST_LEROBOT_PYTHON")
    return python


@pytest.fixture(scope="module")
def checkpoint(lerobot, tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoint")
    subprocess.run([lerobot, "-E", str(SUPPORT / "lerobot_checkpoint.py"), str(folder)], check=True)
    return folder


def test_a_checkpoint_is_served_in_chunks_and_action_by_action(make, lerobot, checkpoint):
    whole = make(python=lerobot, checkpoint=str(checkpoint), chunk={"length": 8})
    single = make(python=lerobot, checkpoint=str(checkpoint), chunk={"length": 1})
    whole.warm_up()
    single.warm_up()
    for policy in (whole, single):
        policy.reset("push", 1)
    chunk = whole.act(seen())
    assert chunk.shape == (8, 2)
    assert np.abs(chunk).max() < 0.1 and np.ptp(chunk) > 0
    assert np.allclose(np.concatenate([single.act(seen()) for _ in range(8)]), chunk, atol=1e-6)


def test_what_lerobot_cannot_load_is_told_in_one_line(make, lerobot):
    with pytest.raises(ConfigurationError, match=r"`checkpoint`.*one that lerobot loads; "):
        make(python=lerobot)
