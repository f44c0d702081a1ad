"""What a user's policy raises or returns, from its import to its answers, is one line with its file and the cause."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest
from typer.testing import CliRunner

from robocontrast_ros.cli.main import app
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import Fault, Pose
from robocontrast_ros.policies.catalogue import look_up
from robocontrast_ros.policies.protocol import Observation, PolicyDescription, PolicyFault
from robocontrast_ros.policies.serving.runner import PolicyRunner

OBSERVATION = Observation(100_000_000, {}, ("j",), (0.0,), Pose())

MINE = """
import sys

import numpy as np
import torch

from robocontrast_ros.policies.protocol import PolicyDescription


class Unreadable(Exception):
    def __str__(self):
        raise ValueError


class Beyond(BaseException):
    pass


def now(method):
    if method == {method!r}:
        {code}


now("import")


class Mine:
    @classmethod
    def from_file(cls, path):
        return cls() if (given := now("from_file")) is None else given

    def __init__(self):
        now("init")

    def describe(self):
        given = now("describe")
        return PolicyDescription("mine", "planar_delta", 2, chunk_length=3) if given is None else given

    def reset(self, instruction, seed):
        return now("reset")

    def act(self, observation):
        given = now("act")
        return np.zeros((1, 2)) if given is None else given

    def close(self):
        now("close")
"""
BY_FILE = """
    @classmethod
    def describe_file(cls, path):
        return now("describe_file")
"""

RAISED = {
    'raise RuntimeError("no such\\ncheckpoint")': "RuntimeError: no such checkpoint",
    "sys.exit(7)": "SystemExit: 7",
    "raise Beyond": "Beyond",
    "raise Unreadable": "Unreadable: its message cannot be read (ValueError)",
    "torch.zeros(2).reshape(3)": "RuntimeError: shape '[3]' is invalid for input of size 2",
}


@pytest.fixture
def mine(tmp_path, monkeypatch, request):
    """Return what writes a policy whose method does something, and returns its parameter file."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(method: str, code: str, more: str = ""):
        # A module of its own for each test: Python keeps what was imported.
        name = f"mine_{abs(hash(request.node.name))}"
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(MINE.format(method=method, code=code)) + more)
        file = tmp_path / "mine.yaml"
        file.write_text(f"policy: {name}:Mine\n")
        return file

    return write


def trial(runner):
    runner.reset("go", 1)
    return runner.act(OBSERVATION)


def evaluate(file, tmp_path):
    words = ["evaluate", "language_table_demo", "--policy", str(file), "--fast", "--output", str(tmp_path / "runs")]
    return CliRunner().invoke(app, words)


BEFORE = ["import", "from_file", "init", "describe", "describe_file"]


@pytest.mark.parametrize("code", RAISED)
@pytest.mark.parametrize("method", BEFORE)
def test_the_list_of_policies_says_what_any_of_them_raises(mine, method, code):
    assert RAISED[code] in look_up(mine(method, code, BY_FILE if method == "describe_file" else "")).problem


@pytest.mark.parametrize("code", list(RAISED)[:2])
@pytest.mark.parametrize("method", BEFORE)
def test_what_is_raised_before_the_session_is_one_line_with_file_line_and_cause(mine, tmp_path, method, code):
    file = mine(method, code, BY_FILE if method == "describe_file" else "")
    result = evaluate(file, tmp_path)
    assert isinstance(result.exception, SystemExit)
    assert result.exit_code == 2
    (line,) = result.stderr.strip().splitlines()
    assert line.startswith(f"error: {file}: `policy`: ")
    at = next(number for number, text in enumerate(MINE.splitlines(), start=1) if "{code}" in text)
    assert f"{RAISED[code]} (mine_" in line
    assert f".py, line {at})" in line
    assert not (tmp_path / "runs").exists(), "nothing was started"


@pytest.mark.parametrize(
    ("method", "code", "words"),
    [
        ("from_file", "return {}", "dict, made by its `from_file`', expected a policy, which has describe, reset, act"),
        ("describe", "return {}", "a policy whose describe() returns a PolicyDescription. It returned dict."),
        ("describe_file", "return None", "describe_file() returns a PolicyDescription. It returned NoneType."),
        ("describe", "return (x for x in ())", "returns a PolicyDescription. It returned generator."),
        ("describe", 'return PolicyDescription("m", "planar_delta", 2, cameras="top")', "`cameras`: got 'top'"),
        ("describe", 'return PolicyDescription("m", None, 2)', "`action_space`: got None"),
        ("describe", 'return PolicyDescription("m", "planar_delta", 0)', "action_size and chunk_length of at least 1"),
        ("describe", 'return PolicyDescription("m", "p", 2, rate=float("nan"))', "rate of 0 or more, or None, not nan"),
    ],
)
def test_what_is_returned_before_the_session_is_one_line(mine, tmp_path, method, code, words):
    file = mine(method, code, BY_FILE if method == "describe_file" else "")
    result = evaluate(file, tmp_path)
    (line,) = result.stderr.strip().splitlines()
    assert result.exit_code == 2
    assert line.startswith(f"error: {file}: ")
    assert words in line
    assert not (tmp_path / "runs").exists()


def test_a_class_that_lacks_a_method_is_refused_before_anything_is_started(mine, tmp_path):
    file = mine("", "pass", "\n\ndel Mine.act\n")
    result = evaluate(file, tmp_path)
    (line,) = result.stderr.strip().splitlines()
    assert (result.exit_code, line.endswith("which has describe, reset, act. It lacks act.")) == (2, True)


def test_a_description_of_numpy_numbers_and_lists_is_one(mine):
    code = 'return PolicyDescription("m", "planar_delta", np.int64(2), cameras=["top"])'
    runner = PolicyRunner(mine("describe", code), 5.0, own_thread=False)
    assert runner.description == PolicyDescription("m", "planar_delta", 2, cameras=("top",))
    assert type(runner.description.action_size) is int


@pytest.mark.parametrize("own_thread", [True, False])
@pytest.mark.parametrize("method", ["reset", "act"])
@pytest.mark.parametrize("code", RAISED)
def test_what_is_raised_in_a_trial_is_the_policys_fault_and_a_later_one_is_told_alike(mine, code, method, own_thread):
    runner = PolicyRunner(mine(method, code), 5.0, own_thread=own_thread)
    for _ in range(2):
        with pytest.raises(PolicyFault) as error:
            trial(runner)
        assert error.value.fault is Fault.POLICY_RAISED
        assert error.value.detail.startswith(f"{RAISED[code]} (mine_")
        assert len(error.value.detail.splitlines()) == 1
    runner.close()


def test_a_fault_of_a_blind_session_names_no_file(mine):
    runner = PolicyRunner(mine("reset", "raise RuntimeError('no')"), 5.0, own_thread=False, located=False)
    with pytest.raises(PolicyFault) as error:
        runner.reset("go", 1)
    assert error.value.detail == "RuntimeError: no"


@pytest.mark.parametrize("method", ["init", "describe"])
def test_what_a_policy_of_a_blind_session_raises_when_it_is_loaded_names_no_file_of_its_own(mine, method):
    with pytest.raises(ConfigurationError, match=r"It raised RuntimeError: no\.$"):
        PolicyRunner(mine(method, "raise RuntimeError('no')"), 5.0, own_thread=False, located=False)


@pytest.mark.parametrize("own_thread", [True, False])
def test_a_policy_that_cannot_be_closed_is_left(mine, own_thread):
    PolicyRunner(mine("close", "sys.exit(7)"), 5.0, own_thread=own_thread).close()


TENSOR = "answer with `actions.detach().float().cpu().numpy()`"


@pytest.mark.parametrize(
    ("code", "fault", "words"),
    [
        ("return torch.zeros(1, 2, requires_grad=True)", Fault.POLICY_RAISED, ["requires grad", TENSOR]),
        ("return torch.zeros(1, 2, dtype=torch.bfloat16)", Fault.POLICY_WRONG_SHAPE, ["BFloat16", TENSOR]),
        ("return torch.zeros(1, 2).to('meta')", Fault.POLICY_WRONG_SHAPE, ["Tensor", TENSOR]),
        ("return torch.zeros(1, 2).to_sparse()", Fault.POLICY_WRONG_SHAPE, ["Tensor", TENSOR]),
        ("return torch.zeros(1, 2, dtype=torch.complex64)", Fault.POLICY_WRONG_SHAPE, ["complex64", "real"]),
        ("return np.zeros((1, 2), complex)", Fault.POLICY_WRONG_SHAPE, ["complex128", "not real numbers"]),
        ("return [[0.0, None]]", Fault.POLICY_WRONG_SHAPE, ["list of NoneType, not real numbers"]),
        ("return [[0.0, 10**400]]", Fault.POLICY_RAISED, ["cannot be read as numbers: OverflowError"]),
        ('return [["0.1", "0.2"]]', Fault.POLICY_WRONG_SHAPE, ["list of str", "not real numbers"]),
        ("return {'actions': [[0.0, 0.0]]}", Fault.POLICY_WRONG_SHAPE, ["dict, not real numbers"]),
        ("return (row for row in [[0.0, 0.0]])", Fault.POLICY_WRONG_SHAPE, ["generator, not real numbers"]),
        ("return np.zeros((1, 2), 'm8[s]')", Fault.POLICY_WRONG_SHAPE, ["timedelta64"]),
        ("return [[0.0], [0.0, 0.0]]", Fault.POLICY_WRONG_SHAPE, ["cannot be read as numbers: ValueError"]),
        ("return [[float('nan'), 0.0]]", Fault.POLICY_NOT_FINITE, ["nan", "expected finite numbers"]),
        ("return np.array([[1e400, 0.0]], np.longdouble)", Fault.POLICY_NOT_FINITE, ["inf"]),
    ],
)
@pytest.mark.filterwarnings("error")
def test_an_answer_that_is_no_array_of_finite_real_numbers_is_told_so(mine, code, fault, words):
    runner = PolicyRunner(mine("act", code), 5.0, own_thread=False)
    runner.reset("go", 1)
    with pytest.raises(PolicyFault) as error:
        runner.act(OBSERVATION)
    assert error.value.fault is fault
    for word in words:
        assert word in error.value.detail


@pytest.mark.parametrize(
    ("code", "actions"),
    [
        ("return [0.25, 0.5]", [[0.25, 0.5]]),
        ("return torch.tensor([0.25, 0.5])", [[0.25, 0.5]]),
        ("return torch.tensor([[0.25, 0.5]], dtype=torch.float16)", [[0.25, 0.5]]),
        ("return [[torch.tensor(0.25), torch.tensor(0.5)]]", [[0.25, 0.5]]),
        ("return np.array([[1, 2], [3, 4]], np.uint8)", [[1.0, 2.0], [3.0, 4.0]]),
        ("return np.array([[0.25, np.float32(0.5)], [True, 2**70]], object)", [[0.25, 0.5], [1.0, 2.0**70]]),
    ],
)
def test_numbers_in_any_form_are_an_answer_and_one_action_alone_is_a_chunk_of_one(mine, code, actions):
    runner = PolicyRunner(mine("act", code), 5.0, own_thread=False)
    answer = trial(runner).actions
    assert (answer.dtype, answer.tolist()) == (np.float64, actions)


def test_ctrl_c_is_not_taken_for_the_policys(mine):
    with pytest.raises(KeyboardInterrupt):
        PolicyRunner(mine("init", "raise KeyboardInterrupt"), 5.0, own_thread=False)


LOADED = """
    @classmethod
    def from_file(cls, path):
        with open(path.with_suffix(".log"), "a") as log:
            log.write("loaded\\n")
        return cls()
"""


def test_a_policy_whose_file_describes_it_is_loaded_once_for_a_session(mine, tmp_path, monkeypatch):
    code = 'return PolicyDescription("mine", "planar_delta", 2)'
    file = mine("describe_file", code, BY_FILE + LOADED)
    # The session has a process of its own.
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    words = ["evaluate", "language_table_demo", "--policy", str(file), "--fast", "--output", str(tmp_path / "runs")]
    settings = ["--strategy", "standard", "--size", "1", "--set", "recording=none", "--set", "max_trials=1"]
    result = CliRunner().invoke(app, [*words, *settings])
    assert result.exit_code == 0, result.output
    assert file.with_suffix(".log").read_text().split() == ["loaded"]
