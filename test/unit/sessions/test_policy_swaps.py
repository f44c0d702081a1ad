"""Another policy takes over between two trials of a running session, or it does not and the journal says why."""

from __future__ import annotations

import hashlib
import threading

import pytest
from line_world import LineBench, SwappingLineBench, line_evaluation

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import Fault
from robocontrast_ros.episodes.bench import BenchFault, ServingPolicy
from robocontrast_ros.runs.events import (
    Paused,
    PolicyLoaded,
    PolicyRefused,
    Resumed,
    SessionFinished,
    SessionInterrupted,
    SetUp,
    TrialFinished,
    TrialStarted,
)
from robocontrast_ros.runs.journal import read_journal
from robocontrast_ros.sessions.control import SessionControl, SessionState
from robocontrast_ros.sessions.loop import run_session

EVALUATION = line_evaluation(test_set_size=3)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.jsonl"


def of(path, *kinds):
    return [event for event in read_journal(path).events if isinstance(event, kinds)]


def swapping(path, policies, after=1, bench=None, **arguments):
    """Run a session that is asked for policies during a trial; return its bench and what its observer was told."""
    control, told = SessionControl(), []
    bench = bench or SwappingLineBench()

    def ask(trial):
        if trial.index == after:
            for policy in policies:
                control.swap(policy)

    bench.before_trial = ask
    run_session(EVALUATION, bench, path, control=control, observer=told.append, **arguments)
    return bench, told


def results(path):
    return [repr((e.trial, e.result, e.cost)) for e in of(path, TrialFinished)]


def test_the_policy_that_serves_is_written_down_after_the_first_line(path):
    run_session(EVALUATION, SwappingLineBench(), path, clock=lambda: 5.0)
    loaded = read_journal(path).events[1]
    assert (loaded.name, loaded.file, loaded.parameters) == ("first", "/policies/first.yaml", "skill: 0.9\n")
    assert loaded.digest == hashlib.sha256(b'{"skill": 0.9}').hexdigest()
    assert (loaded.load_time, loaded.warm_up_time, loaded.time) == (0.5, None, 5.0)
    assert len(of(path, PolicyLoaded)) == 1


def test_comments_and_the_order_of_keys_make_no_other_policy():
    texts = ("a: 1\nb: [x]\n", "# better\nb:\n  - x\na: 1  # one\n")
    assert len({ServingPolicy("p", "/p", text, 0.0, None).digest for text in texts}) == 1
    assert ServingPolicy("p", "/p", "a: 2\nb: [x]\n", 0.0, None).digest not in texts


def test_another_policy_serves_from_the_next_trial_on(path, tmp_path):
    bench, told = swapping(path, ["second"])
    kinds = [type(e) for e in of(path, PolicyLoaded, SetUp, TrialStarted, TrialFinished)]
    one = [SetUp, TrialStarted, TrialFinished]
    assert kinds == [PolicyLoaded, *one, *one, PolicyLoaded, *one * ((len(kinds) - 8) // 3)]
    assert bench.serving == "second"
    assert next(s.policy for s in told if s.result is not None) == "first"
    assert [s.policy for s in told][-1] == "second"
    assert "policy 'second' serves from now on" in [s.detail for s in told]
    alone = tmp_path / "alone.jsonl"
    run_session(EVALUATION, SwappingLineBench(), alone)
    assert results(path)[:2] == results(alone)[:2] and results(path)[2:] != results(alone)[2:]


def test_a_policy_that_cannot_be_had_leaves_everything_as_it_was_and_says_why(path, tmp_path):
    _, told = swapping(path, ["third"])
    (refused,) = of(path, PolicyRefused)
    assert (refused.policy, refused.reason) == ("third", "there is no policy 'third'")
    assert "policy third is refused: there is no policy 'third'" in [s.detail for s in told]
    assert {s.policy for s in told} == {"first"}
    alone = tmp_path / "alone.jsonl"
    run_session(EVALUATION, SwappingLineBench(), alone)
    assert results(path) == results(alone)


def test_the_policy_asked_for_last_is_the_one(path):
    bench, _ = swapping(path, ["third", "second"])
    assert bench.loaded == ["second"]
    assert [(e.policy, e.reason) for e in of(path, PolicyRefused)] == [("third", "second was asked for after it")]


def test_a_policy_asked_for_in_the_last_trial_is_refused_at_the_end(path):
    swapping(path.with_name("whole.jsonl"), [])
    last = len(of(path.with_name("whole.jsonl"), TrialFinished)) - 1
    swapping(path, ["second"], after=last)
    refused, end = read_journal(path).events[-2:]
    assert isinstance(end, SessionFinished)
    assert (refused.policy, refused.reason) == ("second", "the session ended before it could serve")


def test_a_paused_session_swaps_at_once_and_goes_on_waiting(path):
    control = SessionControl()
    waiting, swapped = threading.Event(), threading.Event()

    def observe(status):
        if status.state is SessionState.PAUSED and status.detail == "waiting to go on":
            waiting.set()
        if status.detail == "policy 'second' serves from now on":
            assert status.state is SessionState.PAUSED
            swapped.set()

    control.pause()
    thread = threading.Thread(
        target=run_session,
        args=(EVALUATION, SwappingLineBench(), path),
        kwargs={"control": control, "observer": observe},
    )
    thread.start()
    assert waiting.wait(60.0)
    control.swap("second")
    assert swapped.wait(60.0)
    assert thread.is_alive()
    control.resume()
    thread.join(60.0)
    kinds = [type(e) for e in read_journal(path).events][1:6]
    assert kinds == [PolicyLoaded, Paused, PolicyLoaded, Resumed, SetUp]


def test_a_bench_with_one_policy_refuses_another(path):
    control = SessionControl()
    control.swap("second")
    run_session(EVALUATION, LineBench(), path, control=control)
    (refused,) = of(path, PolicyRefused)
    assert refused.reason == "this bench has one policy for the whole session"


@pytest.mark.parametrize("call", ["stage_policy", "serve_policy"])
def test_a_policy_server_that_is_lost_in_a_swap_interrupts_and_the_session_resumes(path, call):
    def lost(name):
        if name == call:
            raise BenchFault(Fault.POLICY_SERVER_LOST, "it does not answer")

    _, told = swapping(path, ["second"], bench=SwappingLineBench(on_call=lost))
    (interrupted,) = of(path, SessionInterrupted)
    assert (interrupted.fault, interrupted.detail) == (Fault.POLICY_SERVER_LOST, "it does not answer")
    assert told[-1].state is SessionState.INTERRUPTED
    run_session(EVALUATION, SwappingLineBench(), path, resume=True)
    assert [e.name for e in of(path, PolicyLoaded)] == ["first", "first"]
    assert of(path, SessionFinished)


def interrupted(path):
    """Run a session that swaps and then loses its simulator."""
    swapping(path, ["second"], bench=SwappingLineBench(faults={(3, 0): Fault.SIMULATOR_LOST}))
    assert of(path, SessionInterrupted)


def test_a_resumed_session_brings_back_the_policy_that_served_last(path):
    interrupted(path)
    bench = SwappingLineBench()
    run_session(EVALUATION, bench, path, resume=True)
    assert (bench.loaded, bench.serving) == (["second"], "second")
    assert [e.name for e in of(path, PolicyLoaded)] == ["first", "second", "second"]


def test_a_session_whose_last_policy_is_gone_is_interrupted_again(path):
    interrupted(path)
    end = run_session(EVALUATION, SwappingLineBench(policies={"first": 0.4}), path, resume=True)
    assert isinstance(end, SessionInterrupted)
    assert "policy 'second', which served last, cannot be loaded again: there is no policy 'second'" in end.detail


def test_a_session_whose_last_policy_has_changed_is_refused_by_the_key_that_differs(path):
    interrupted(path)
    with pytest.raises(ConfigurationError, match=r"second.yaml: `skill`: got 0.8, expected 0.0, with which it"):
        run_session(EVALUATION, SwappingLineBench(policies={"first": 0.4, "second": 0.8}), path, resume=True)


def test_a_policy_that_serves_without_the_sessions_doing_is_written_down_before_its_trial(path):
    bench = SwappingLineBench()
    bench.before_trial = lambda trial: setattr(bench, "serving", "second") if trial.index == 1 else None
    run_session(EVALUATION, bench, path)
    events = of(path, PolicyLoaded, TrialFinished)
    assert [e.name for e in events if isinstance(e, PolicyLoaded)] == ["first", "second"]
    assert isinstance(events[3], PolicyLoaded), "after the second trial, in which it came to serve"
