"""Loading, warming up, closing and swapping policies, whatever they do then."""

from __future__ import annotations

import gc
import threading
import time

import lifecycle_policies
import pytest
import yaml

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import Pose
from robocontrast_ros.policies.protocol import Observation, PolicyFault
from robocontrast_ros.policies.serving import runner as runners
from robocontrast_ros.policies.serving.lifecycle import NothingStaged, PolicySlot
from robocontrast_ros.policies.serving.runner import PolicyRunner

OBSERVATION = Observation(100_000_000, {}, ("j",), (0.0,), Pose())

ENDLESS = 36000.0
"""A limit that is not met in a test [s]."""


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr(lifecycle_policies, "NEVER", threading.Event())
    monkeypatch.setattr(runners, "CLOSE_TIMEOUT", 0.2)
    lifecycle_policies.made.clear()
    lifecycle_policies.closed.clear()
    yield
    lifecycle_policies.NEVER.set()


@pytest.fixture
def file(tmp_path):
    def write(kind="Warm", **content):
        path = tmp_path / f"{content.get('name', 'creeping')}.yaml"
        path.write_text(yaml.safe_dump({"policy": f"lifecycle_policies:{kind}", **content}))
        return path

    return write


def alive():
    gc.collect()
    return sum(reference() is not None for reference in lifecycle_policies.made)


def refusal(action):
    with pytest.raises(ConfigurationError) as error:
        action()
    return str(error.value)


def wait_until(condition, timeout=60.0):
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_loading_and_warming_up_are_measured_apart(file):
    runner = PolicyRunner(file(loading=0.05, warming=0.02), 30.0)
    assert 0.05 <= runner.load_time < 30.0
    assert runner.warm_up_time is None
    runner.warm_up()
    assert 0.02 <= runner.warm_up_time < 30.0
    runner.close()


def test_a_policy_without_warm_up_and_close_needs_neither(file):
    runner = PolicyRunner(file("Creeping"), 30.0)
    runner.warm_up()
    runner.close()
    assert runner.warm_up_time is None


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"loading": "raise"}, ["`policy`", "is loaded", "RuntimeError: no idea"]),
        ({"loading": "refuse"}, ["`checkpoint`", "none.pt"]),
        ({"loading": "hang"}, ["`policy`", "is loaded within 1 s", "timeouts.load"]),
        ({"describing": "raise"}, ["describes itself", "RuntimeError: no idea"]),
        ({"action_size": 0}, ["describes itself", "ValueError", "action_size"]),
        ({"warming": "raise"}, ["warms up", "RuntimeError: no idea"]),
        ({"warming": "fault"}, ["warms up", "it answered in riddles"]),
        ({"warming": "hang"}, ["warms up within 1 s", "timeouts.load"]),
    ],
)
def test_what_fails_before_the_first_trial_is_a_mistake_that_says_why(file, how, words):
    path = file(**how)
    text = refusal(lambda: PolicyRunner(path, 30.0, load_timeout=1.0).warm_up())
    for word in [str(path), *words]:
        assert word in text


@pytest.mark.parametrize("how", [{"warming": "raise"}, {"warming": "hang"}, {"describing": "raise"}])
def test_a_policy_that_failed_before_the_first_trial_is_closed(file, how):
    refusal(lambda: PolicyRunner(file(name="failed", **how), 30.0, load_timeout=1.0).warm_up())
    assert [entry.split(" on ")[0] for entry in lifecycle_policies.closed] == ["failed"]


def test_a_policy_that_is_there_after_the_limit_is_closed_and_never_used(file):
    refusal(lambda: PolicyRunner(file(name="late", loading="hang"), 1.0, load_timeout=0.05))
    assert lifecycle_policies.closed == []
    lifecycle_policies.NEVER.set()
    wait_until(lambda: lifecycle_policies.closed)
    wait_until(lambda: alive() == 0)


def test_closing_leaves_no_reference(file):
    runner = PolicyRunner(file(name="one"), 30.0)
    runner.reset("go", 1)
    runner.act(OBSERVATION)
    assert alive() == 1
    runner.close()
    assert lifecycle_policies.closed == ["one on policy"]
    wait_until(lambda: alive() == 0)


@pytest.mark.parametrize("how", ["raise", "hang"])
def test_a_policy_that_cannot_end_keeps_nobody_waiting(file, how):
    runner = PolicyRunner(file(closing=how), ENDLESS, ENDLESS)
    runner.close()
    assert not lifecycle_policies.NEVER.is_set(), "it hangs still, if it does"


def test_a_stuck_policy_is_closed_and_its_successor_warmed_up(file):
    path = file(name="stuck", acting="hang")
    runner = PolicyRunner(path, 1.0)
    runner.warm_up()
    runner.reset("go", 1)
    with pytest.raises(PolicyFault, match="POLICY_TIMEOUT"):
        runner.act(OBSERVATION)
    path.write_text(path.read_text().replace("acting: hang", "step: 0.5"))
    runner.reset("go", 2)
    assert runner.act(OBSERVATION).actions.tolist() == [[0.5, 0.0]]
    assert len(lifecycle_policies.closed) == 1
    assert [made() is not None and made().warm for made in lifecycle_policies.made][-1] == 1
    assert "step: 0.5" in runner.text
    runner.close()


def test_a_stuck_policy_that_cannot_be_loaded_again_is_lost_until_it_can(file):
    path = file(acting="hang")
    runner = PolicyRunner(path, 1.0)
    runner.reset("go", 1)
    with pytest.raises(PolicyFault, match="POLICY_TIMEOUT"):
        runner.act(OBSERVATION)
    whole = path.read_text().replace("acting: hang\n", "")
    path.write_text(whole + "loading: refuse\n")
    with pytest.raises(PolicyFault, match=r"POLICY_SERVER_LOST.*none\.pt"):
        runner.reset("go", 2)
    path.write_text(whole)
    runner.reset("go", 2)
    assert runner.act(OBSERVATION).actions.shape == (1, 2)
    runner.close()


def test_the_old_policy_serves_until_the_new_one_is_let_to(file):
    slot = PolicySlot(PolicyRunner(file(name="old"), 30.0))
    staged = slot.stage(file(name="new"))
    assert (slot.serving.description.name, staged.description.name) == ("old", "new")
    assert staged.warm_up_time is not None
    assert lifecycle_policies.closed == []
    assert slot.serve() is staged is slot.serving
    assert lifecycle_policies.closed == ["old on policy"]
    wait_until(lambda: alive() == 1)
    slot.close()


def test_a_policy_that_cannot_be_loaded_leaves_the_old_one_serving(file):
    slot = PolicySlot(PolicyRunner(file(name="old"), 30.0))
    assert "no idea" in refusal(lambda: slot.stage(file(name="new", warming="raise")))
    with pytest.raises(NothingStaged):
        slot.serve()
    slot.serving.reset("go", 1)
    assert slot.serving.act(OBSERVATION).actions.shape == (1, 2)
    slot.close()


def test_staging_another_drops_the_one_staged_before(file):
    slot = PolicySlot(PolicyRunner(file(name="old"), 30.0))
    slot.stage(file(name="first"))
    slot.stage(file(name="second"))
    assert lifecycle_policies.closed == ["first on policy"]
    assert slot.serve().description.name == "second"
    slot.close()
    assert [entry.split()[0] for entry in lifecycle_policies.closed] == ["first", "old", "second"]
