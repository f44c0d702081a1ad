"""The watch over the control loop: what stops the robot, that it stays stopped, and who releases it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robocontrast_ros.episodes.watch import REPEATED, Beat, Limits, Phase, Watch

LIMITS = Limits(rollout=0.06, loop=1.0, policy=16.0, inputs={"state": 0.5, "camera/board": 1.0})
TICK = 0.01


def armed(now: float = 0.0, phase: Phase = Phase.RUNNING) -> Watch:
    watch = Watch(LIMITS)
    watch.beat(Beat(phase, 0), now)
    for source in LIMITS.inputs:
        watch.heard(source, now)
    return watch


def play(watch: Watch, start: float, end: float, silent: str = "", phase: Phase = Phase.RUNNING, since: float = 0.0):
    """Let time pass, with everything heard but what is silent; return when the robot was stopped, or None."""
    at = None
    for step in range(1, round((end - start) / TICK) + 1):
        now = start + step * TICK
        if silent != "rollout":
            watch.beat(Beat(phase, 0 if silent in ("loop", "policy") else step, since), now)
        for source in LIMITS.inputs:
            if source != silent:
                watch.heard(source, now)
        if watch.look(now) is not None:
            at = at or now
            if watch.stop.since > start:
                return at
    return at


def limit(source: str) -> float:
    known = {"rollout": LIMITS.rollout, "loop": LIMITS.loop, "policy": LIMITS.policy}
    return {**known, **LIMITS.inputs}[source]


SOURCES = ("rollout", "loop", "policy", *LIMITS.inputs)


def test_a_watch_without_a_heartbeat_is_not_armed_and_stops_nothing():
    watch = Watch(LIMITS)
    assert watch.look(1e6) is None and watch.look(2e6) is None
    watch = armed()
    assert watch.look(1e6) is None and watch.look(2e6).source == "rollout", "after one it is"


@pytest.mark.parametrize("source", SOURCES)
def test_what_is_silent_stops_the_robot_soon_after_its_limit_and_never_before(source):
    watch = armed()
    at = play(watch, 0.0, 20.0, source, since=1.0 if source == "policy" else 0.0)
    assert limit(source) < at <= limit(source) + 3.0 * TICK + 1e-9
    assert (watch.stop.source, watch.stop.by) == (source, "watchdog")
    assert watch.stop.reason


@given(st.lists(st.tuples(st.floats(0.001, 0.05), st.booleans()), min_size=1, max_size=60))
def test_whoever_is_heard_in_time_is_never_stopped(gaps):
    watch, now = armed(), 0.0
    for turn, (gap, look) in enumerate(gaps, start=1):
        now += gap
        watch.beat(Beat(Phase.RUNNING, turn), now)
        for source in LIMITS.inputs:
            watch.heard(source, now)
        if look:
            assert watch.look(now) is None and watch.look(now) is None


@given(st.sampled_from(SOURCES), st.floats(0.0, 3.0))
def test_a_stop_stays_on_when_its_cause_is_gone_until_a_person_releases_it(source, later):
    watch = armed()
    at = play(watch, 0.0, 20.0, source, since=1.0 if source == "policy" else 0.0)
    assert play(watch, at, at + later) is not None or later < TICK
    assert watch.stop.source == source
    end = at + later + 10 * TICK
    play(watch, at + later, end)
    assert watch.release("  ", end) and watch.look(end).source == source
    assert watch.release(" Ada ", end) == "" and watch.released_by == "Ada"
    assert watch.stop is None and watch.look(end) is None


@pytest.mark.parametrize("source", SOURCES)
def test_a_stop_is_not_released_while_its_cause_is_there(source):
    watch, since = armed(), 1.0 if source == "policy" else 0.0
    at = play(watch, 0.0, 20.0, source, since=since)
    # The rollout has ended the episode, so nothing moves; a camera that is silent still is.
    phase = Phase.IDLE if source in LIMITS.inputs else Phase.RUNNING
    play(watch, at, at + 2.0, source, phase, since)
    assert watch.release("Ada", at + 2.0)
    assert watch.stop.source == source


def test_a_watch_that_got_no_processor_takes_nobody_for_dead_whose_messages_wait():
    watch = armed()
    assert watch.look(5.0) is None, "the first look after a long time"
    watch.beat(Beat(Phase.RUNNING, 1), 5.001)
    watch.heard("state", 5.001)
    watch.heard("camera/board", 5.001)
    assert watch.look(5.005) is None and watch.stop is None


def test_cameras_and_joints_may_be_silent_while_nothing_moves():
    watch = armed(phase=Phase.IDLE)
    for step in range(1, 500):
        watch.beat(Beat(Phase.IDLE, 0), step * TICK)
        assert watch.look(step * TICK) is None
    watch.beat(Beat(Phase.BEGINNING, 1), 5.0)
    assert watch.look(5.0) is None, "an episode that begins has the limit to hear of them"
    assert play(watch, 5.0, 7.0, "state") == pytest.approx(5.0 + LIMITS.inputs["state"], abs=3 * TICK)


def test_a_rollout_that_rests_may_be_silent_for_as_many_of_its_rarer_heartbeats():
    watch, limit = armed(phase=Phase.IDLE), Phase.IDLE.silence(LIMITS.rollout)
    assert limit / LIMITS.rollout == Phase.RUNNING.beats / Phase.IDLE.beats > 1.0
    assert play(watch, 0.0, 2.0, "rollout", Phase.IDLE) == pytest.approx(limit, abs=3 * TICK)
    assert watch.release("Ada", 2.0), "its cause is still there"
    watch.beat(Beat(Phase.IDLE, 0), 2.0)
    assert watch.release("Ada", 2.0 + 0.9 * limit) == ""
    watch.beat(Beat(Phase.PROVING, 0), 3.0)
    assert watch.look(3.0) is None and watch.look(3.0 + 1.1 * LIMITS.rollout) is None
    assert watch.look(3.0 + 1.2 * LIMITS.rollout).source == "rollout", "the robot is about to move"


def test_a_loop_that_waits_for_the_policy_does_not_stand_still():
    watch = armed()
    assert play(watch, 0.0, 10.0, "policy", since=1.0) is None


def test_a_rollout_that_ends_in_order_is_not_missed():
    watch = armed()
    watch.beat(Beat(Phase.ENDED, 0), 1.0)
    assert watch.look(100.0) is None and watch.look(101.0) is None


@given(st.sampled_from(["topic", "service"]), st.booleans())
def test_somebody_stops_the_robot_at_once_armed_or_not_and_the_first_reason_stays(source, is_armed):
    watch = armed() if is_armed else Watch(LIMITS)
    watch.ask(source, "smoke", "a person", 0.01)
    assert (watch.look(0.01).reason, watch.look(0.01).source) == ("smoke", source)
    watch.ask("topic", "more smoke", "another", 0.02)
    assert watch.stop.reason == "smoke"


def test_a_button_that_is_held_down_keeps_the_stop_on():
    watch = Watch(LIMITS)
    for step in range(100):
        watch.ask("topic", "button", "a person", step * TICK)
    pressed = 99 * TICK
    assert "still asked for" in watch.release("Ada", pressed + 0.5)
    assert watch.release("Ada", pressed + REPEATED) == ""
    assert watch.release("Ada", pressed + REPEATED) == "the robot is not stopped"
