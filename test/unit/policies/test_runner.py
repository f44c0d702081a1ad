"""The policy runner: whatever a policy does is answered in time, and named."""

from __future__ import annotations

import hashlib
import textwrap
import threading
from dataclasses import replace

import numpy as np
import pytest

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import Crop, Fault, Pose, Segment, SegmentKind, segments_digest
from robocontrast_ros.policies.protocol import Observation, PolicyDescription, PolicyFault
from robocontrast_ros.policies.serving.runner import PolicyRunner, image_digest

OBSERVATION = Observation(
    100_000_000, {"board": np.arange(12, dtype=np.uint8).reshape(2, 2, 3)}, ("j",), (0.0,), Pose()
)


class Scripted:
    """A policy that does what the class attribute says."""

    behaviour = staticmethod(lambda: np.zeros((1, 2)))
    made = 0

    @classmethod
    def from_file(cls, path):
        cls.made += 1
        return cls()

    def describe(self):
        return PolicyDescription("scripted", "planar_delta", 2, chunk_length=3, cameras=("board",))

    def reset(self, instruction, seed):
        if instruction == "refuse":
            raise RuntimeError("cannot")

    def act(self, observation):
        return type(self).behaviour()


@pytest.fixture(params=[True, False], ids=["own_thread", "here"])
def runner(tmp_path, monkeypatch, request):
    file = tmp_path / "scripted.yaml"
    file.write_text(f"policy: {__name__}:Scripted\n")
    monkeypatch.setitem(__import__("sys").modules, __name__, __import__("types").SimpleNamespace(Scripted=Scripted))
    runner = PolicyRunner(file, timeout=1.5, own_thread=request.param)
    yield runner
    Scripted.behaviour = staticmethod(lambda: np.zeros((1, 2)))
    runner.close()


def answer(runner, behaviour):
    Scripted.behaviour = staticmethod(behaviour)
    runner.reset("go", 1)
    return runner.act(OBSERVATION)


def fault(runner, behaviour):
    with pytest.raises(PolicyFault) as error:
        answer(runner, behaviour)
    return error.value


def test_a_chunk_is_passed_on_with_what_the_policy_received(runner):
    got = answer(runner, lambda: [[0.1, 0.2], [0.3, 0.4]])
    assert got.actions.tolist() == [[0.1, 0.2], [0.3, 0.4]]
    assert got.observed.instruction == "go"
    assert got.observed.image_digest == image_digest(OBSERVATION.images)
    assert runner.act(OBSERVATION).observed.image_digest == "", "only the first answer says it"


class Segmented(Scripted):
    """The same policy, which takes pictures of what is named."""

    def describe(self):
        return replace(super().describe(), referents="crop")


def test_a_policy_that_takes_segments_is_given_them_in_place_of_the_text_and_the_text_as_one(tmp_path, monkeypatch):
    given = []
    monkeypatch.setattr(Scripted, "reset_segments", lambda self, *told: given.append(told), raising=False)
    runner = PolicyRunner(policy_file(tmp_path, monkeypatch, Segmented), 1.5, own_thread=False)
    told = (Segment(SegmentKind.OBJECT, "", "referent_1", crop=Crop(1, 1, b"abc")), Segment(SegmentKind.TEXT, " up"))
    for segments in (told, ()):
        runner.reset("up", 7, segments)
        observed = runner.act(OBSERVATION).observed
        assert (observed.instruction, observed.segments_digest) == ("up", segments_digest(given[-1][0]))
        assert runner.act(OBSERVATION).observed.segments_digest == "", "only the first answer says it"
    runner.reset("", 8)
    assert given == [(told, 7), ((Segment(SegmentKind.TEXT, "up"),), 7), ((), 8)]
    runner.close()


def test_a_policy_that_declares_segments_and_cannot_be_given_them_is_refused(tmp_path, monkeypatch):
    with pytest.raises(
        ConfigurationError, match=r"reset_segments\(segments, seed\), because it declares `referents` or"
    ):
        PolicyRunner(policy_file(tmp_path, monkeypatch, Segmented), 1.5, own_thread=False)


def policy_file(folder, monkeypatch, kind):
    file = folder / "kind.yaml"
    file.write_text(f"policy: {__name__}:{kind.__name__}\n")
    module = __import__("types").SimpleNamespace(**{kind.__name__: kind})
    monkeypatch.setitem(__import__("sys").modules, __name__, module)
    return file


def test_an_exception_is_named(runner):
    error = fault(runner, lambda: 1 / 0)
    assert error.fault is Fault.POLICY_RAISED
    assert error.detail.startswith("ZeroDivisionError: division by zero (test_runner.py, line ")


def test_a_timeout_that_the_policy_itself_raises_is_an_exception_like_others(runner):
    def socket():
        raise TimeoutError("timed out")

    error = fault(runner, socket)
    assert error.fault is Fault.POLICY_RAISED
    assert error.detail.startswith("TimeoutError: timed out (")
    made = Scripted.made
    answer(runner, lambda: [[0.0, 0.0]])
    assert Scripted.made == made, "it was not stuck"


def test_an_exception_at_reset_is_named(runner):
    with pytest.raises(PolicyFault, match="POLICY_RAISED: RuntimeError: cannot"):
        runner.reset("refuse", 0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_refused(runner, bad):
    assert fault(runner, lambda: [[0.0, bad]]).fault is Fault.POLICY_NOT_FINITE


@pytest.mark.parametrize(
    "wrong",
    [[0.0, 0.1, 0.2], [[0.0]], [[0.0, 0.1, 0.2]], np.zeros((4, 2)), np.zeros((0, 2)), None, "left", [[1], [1, 2]]],
)
def test_another_shape_is_refused_with_what_was_expected(runner, wrong):
    error = fault(runner, lambda: wrong)
    assert error.fault is Fault.POLICY_WRONG_SHAPE


def test_the_refusal_of_a_shape_names_both_shapes(runner):
    assert fault(runner, lambda: np.zeros((4, 3))).detail == "got shape (4, 3), expected (n, 2) with n from 1 to 3"


def test_a_policy_that_does_not_answer_is_left_behind_and_loaded_afresh(runner):
    release = threading.Event()
    try:
        # Without a thread of its own the call is waited for, and counts as too late when it has returned.
        limit = None if runner.own_thread else 1.1 * runner.timeout
        assert fault(runner, lambda: release.wait(limit)).fault is Fault.POLICY_TIMEOUT
        with pytest.raises(PolicyFault, match="has not returned"):
            runner.act(OBSERVATION)
        made = Scripted.made
        assert answer(runner, lambda: [[0.0, 0.0]]).actions.shape == (1, 2)
        assert Scripted.made == made + 1
    finally:
        release.set()


def test_the_digest_depends_on_names_shapes_and_pixels():
    image = np.zeros((2, 3, 3), dtype=np.uint8)
    digests = {
        image_digest({"a": image}),
        image_digest({"b": image}),
        image_digest({"a": image.reshape(3, 2, 3)}),
        image_digest({"a": image + 1}),
    }
    assert len(digests) == 4
    assert image_digest({}) == ""
    assert image_digest({"a": image}) == hashlib.sha256(b"a:(2, 3, 3):" + image.tobytes()).hexdigest()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("policy: oracel\n", ["`policy`", "oracel", "Did you mean 'oracle'?"]),
        ("name: x\n", ["`policy`", "Write a line"]),
        ("policy: no.such:Thing\n", ["no.such:Thing", "importable"]),
    ],
)
def test_a_file_that_names_no_policy_is_refused(tmp_path, content, words):
    file = tmp_path / "p.yaml"
    file.write_text(textwrap.dedent(content))
    with pytest.raises(ConfigurationError) as error:
        PolicyRunner(file, 1.0)
    for word in [str(file), *words]:
        assert word in str(error.value)
