"""Time that passes by the wall clock, and a robot that is sent home before an episode."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robocontrast_ros.domain import NANOSECONDS, Fault, Observed, Pose, nanoseconds
from robocontrast_ros.episodes.assembly import EpisodeAssembly
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.episodes.loop import EpisodeRequest
from robocontrast_ros.episodes.pacing import WallClock
from robocontrast_ros.episodes.thinking import ThoughtOver
from robocontrast_ros.policies.protocol import PolicyFault
from robocontrast_ros.policies.serving.runner import Answer
from robocontrast_ros.robots.commands import JointTrajectoryCommand, TwistCommand
from robocontrast_ros.robots.kinds import make_safety_filter, stop_command
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.robots.readings import Axes, Axis, CheckedEstimator
from robocontrast_ros.robots.safety_limits import Limit
from robocontrast_ros.robots.state_estimation import JointReading, OdometryReading


class Clock:
    """A steady clock that sleeping moves, and work, too."""

    def __init__(self) -> None:
        self.now = 100.0

    def sleep(self, seconds: float) -> None:
        assert seconds > 0.0
        self.now += seconds


@given(st.lists(st.floats(0.0, 0.5), min_size=1, max_size=20))
def test_control_steps_are_never_closer_than_a_period_and_no_further_apart_than_the_work_takes(work):
    clock = Clock()
    pacer = WallClock(0.1, clock=lambda: clock.now, sleep=clock.sleep)
    clock.now += 5.0
    pacer.begin()
    ends = [clock.now]
    for took in work:
        clock.now += took
        pacer.step()
        ends.append(clock.now)
    for took, before, after in zip(work, ends, ends[1:], strict=False):
        assert after - before == pytest.approx(max(0.1, took), abs=1e-9)
    assert pacer.errors == pytest.approx([max(took - 0.1, 0.0) for took in work], abs=1e-9)


@pytest.mark.parametrize(("worked", "wait", "left"), [(0.03, True, 0.07), (0.03, False, 0.0), (0.2, True, 0.0)])
def test_an_answer_is_waited_for_while_the_control_period_lasts(worked, wait, left):
    clock, waited = Clock(), []

    class Pending:
        def arrived(self, timeout):
            waited.append(timeout)
            return False

    pacer = WallClock(0.1, clock=lambda: clock.now, sleep=clock.sleep)
    clock.now += worked
    assert not pacer.answered(Pending(), wait)
    assert waited == [pytest.approx(left, abs=1e-9)]


BEGIN = 7 * NANOSECONDS


class Thinker:
    """A pending answer that is there at once, and is taken once."""

    def __init__(self, result):
        self._result = [result]

    def arrived(self, timeout):
        return True

    def result(self):
        if isinstance(taken := self._result.pop(), Exception):
            raise taken
        return taken


@given(st.floats(0.0, 5.0), st.floats(0.0, 5.0))
def test_an_answer_counts_as_given_when_its_delay_has_passed_and_not_before(delay, passed):
    given_ = Answer(np.zeros((1, 2)), 0.004, Observed())
    pending = ThoughtOver(Thinker(given_), BEGIN, lambda latency: delay)
    assert pending.due(BEGIN + nanoseconds(passed)) == (passed >= delay - 1e-6) or abs(passed - delay) < 1e-5
    assert pending.result() is given_ and pending.result() is given_


def test_a_policy_that_fails_does_so_at_once_however_long_it_thinks():
    pending = ThoughtOver(Thinker(PolicyFault(Fault.POLICY_RAISED, "bad")), BEGIN, lambda latency: 9.0)
    assert pending.due(BEGIN)
    with pytest.raises(PolicyFault, match="bad"):
        pending.result()


WAY = tuple(JointTrajectoryCommand(("j",), (position,), duration) for position, duration in ((0.1, 0.25), (0.3, 0.1)))


class Robot:
    """A port that remembers what it was told."""

    def __init__(self, homes: bool, lag: int = 0) -> None:
        self.homes, self.asked, self.sent, self.prepared = homes, [], [], 0
        self.at, self.lag, self._behind, self.repeated = 0.0, lag, 0, 0
        self.stopped = 0

    def prepare(self):
        self.prepared += 1

    def way(self, start, after):
        self.asked.append((start, after))
        return WAY

    def state(self, after):
        self._behind -= 1
        if self.sent and self._behind < 0:
            (self.at,) = self.sent[-1].positions
        return JointReading(after + nanoseconds(0.1), ("j",), (self.at,))

    def command(self, command, stamp):
        assert stamp > self.asked[-1][1]
        if self.sent and command is self.sent[-1]:
            self.repeated += 1
            return
        assert not self.sent or self.at == self.sent[-1].positions[0], "the piece before has ended"
        self.sent.append(command)
        self._behind = self.lag

    def stop(self):
        self.stopped += 1


class Counting:
    """A pacer that counts."""

    steps = began = 0
    errors = ()

    def begin(self):
        self.began += 1

    def step(self):
        self.steps += 1


class Alone:
    """Surroundings without a camera, and with what the safety filter said there."""

    movable = ()
    person_near = False

    def __init__(self) -> None:
        self.told = []

    def intervened(self, stamp, interventions):
        self.told += interventions


class Estimator:
    """An estimator that is told where the robot starts."""

    def begin(self, start):
        self.start = start


NOTHING = Axes()


def unchecked(estimator):
    """Return an estimator that takes every reading."""
    return CheckedEstimator(estimator, NOTHING)


@pytest.mark.parametrize(("homes", "steps"), [(True, 1 + 3 + 1), (False, 0)])
def test_a_robot_that_the_world_does_not_reset_is_sent_to_its_start_and_waited_for(homes, steps):
    robot, pacer, estimator = Robot(homes), Counting(), Estimator()
    start = Pose.planar(0.3, 0.1)
    request = EpisodeRequest("0000", "go", 1, 10, True, 7_000_000_000, start)
    safety = make_safety_filter(load_profile("franka"), 0.1)
    episode = EpisodeAssembly(robot, unchecked(estimator), pacer, Alone(), None, 0.1, safety)
    episode.begin(request)
    assert (pacer.began, pacer.steps, estimator.start) == (1, steps, start)
    assert (robot.asked, robot.sent) == (([(start, 7_000_000_000)], list(WAY)) if homes else ([], []))
    episode.rest()
    assert robot.asked[1:] == ([(None, 0)] if homes else []), "and back to its posture of rest"
    assert len(robot.sent) == (4 if homes else 0)
    assert robot.prepared == (2 if homes else 1)


def homing(lag):
    robot, pacer = Robot(True, lag), Counting()
    safety = make_safety_filter(load_profile("franka"), 0.1)
    return (
        EpisodeAssembly(robot, unchecked(Estimator()), pacer, Alone(), None, 0.1, safety),
        robot,
        pacer,
    )


REQUEST = EpisodeRequest("0000", "go", 1, 10, True, 7_000_000_000, Pose.planar(0.3, 0.1))


def test_a_robot_that_is_slow_on_its_way_is_waited_for_before_the_next_piece():
    episode, robot, pacer = homing(5)
    episode.begin(REQUEST)
    assert robot.sent == list(WAY) and pacer.steps > 1 + 3 + 1 + 5


def test_a_robot_that_does_not_arrive_is_sent_nowhere_else_and_one_whose_trial_is_cancelled_stops_at_once():
    episode, robot, _ = homing(10**6)
    with pytest.raises(BenchFault, match=r"0\.10 rad from where it was sent") as raised:
        episode.begin(REQUEST)
    assert raised.value.fault is Fault.ROBOT_NOT_READY and robot.sent == [WAY[0]]
    assert robot.repeated > 2, "a command can be lost"
    assert robot.stopped, "it does not go on to where it was sent"
    episode, robot, pacer = homing(0)
    with pytest.raises(BenchFault) as raised:
        episode.begin(REQUEST, lambda: pacer.steps > 2)
    assert raised.value.fault is Fault.ABORTED and robot.sent == [WAY[0]]


@pytest.mark.parametrize("wrong", [-1.0, np.nan])
def test_a_reading_that_cannot_be_true_ends_the_way_before_any_command_and_the_robot_stops(wrong):
    robot = Gliding(1.0)
    episode, _ = gliding(robot, axes=Axes((Axis("j", 1.0),)))
    glide = robot.step

    def step():
        glide()
        robot.shown = wrong if robot.at > 0.4 else None

    episode._pacer.step = step
    with pytest.raises(BenchFault, match="'j' is read as") as raised:
        episode.begin(REQUEST)
    assert raised.value.fault is Fault.ROBOT_FAULT
    assert [command.positions for command in robot.sent] == [(1.0,)] and robot.stops == 1
    # As in a step of an episode.
    robot.shown = None
    episode._estimator.forget()
    episode._estimator.check(robot.state(0))
    robot.shown = wrong
    with pytest.raises(BenchFault, match="'j' is read as") as raised:
        episode.observe(0)
    assert raised.value.fault is Fault.ROBOT_FAULT


class Gliding:
    """A joint that goes from where it is to where it is sent in the time that the command says."""

    homes = True

    def __init__(self, *positions: float) -> None:
        self.goals, self.now, self.at = positions, BEGIN, 0.0
        self.sent, self.speeds, self.stops, self.force, self.shown = [], [], 0, None, None
        self._left = 0.0

    def prepare(self):
        pass

    def way(self, start, after):
        return [JointTrajectoryCommand(("j",), (goal,), abs(goal)) for goal in self.goals]

    def state(self, after):
        return JointReading(self.now, ("j",), (self.at if self.shown is None else self.shown,), self.force)

    def command(self, command, stamp):
        self.sent.append(command)
        self._left = command.duration

    def stop(self):
        self.stops, self._left = self.stops + 1, 0.0

    def step(self):
        before = self.at
        if self._left > 0.0:
            share = min(0.1 / self._left, 1.0)
            self.at += share * (self.sent[-1].positions[0] - self.at)
        self._left -= 0.1
        self.now += 0.1
        self.speeds.append((self.at - before) / 0.1)


def gliding(robot, *, force=None, axes=NOTHING):
    profile = load_profile("franka")
    if force is not None:
        profile = replace(profile, safety=replace(profile.safety, force=Limit(limit=force, action="slow")))
    pacer, surroundings = Counting(), Alone()
    pacer.step = robot.step
    safety = make_safety_filter(profile, 0.1)
    return EpisodeAssembly(
        robot, CheckedEstimator(Estimator(), axes), pacer, surroundings, None, 0.1, safety
    ), surroundings


def test_a_robot_on_its_way_is_slow_while_a_person_is_near_and_only_then():
    robot = Gliding(1.0)
    episode, surroundings = gliding(robot)
    step = robot.step

    def walk():
        surroundings.person_near = 4 <= len(robot.speeds) < 10
        step()

    episode._pacer.step = walk
    episode.rest()
    assert robot.at == pytest.approx(1.0) and robot.stops == 0
    assert len(robot.sent) == 3, "at once, when the person comes, and when the person leaves"
    near = robot.speeds[5:10]
    assert near == pytest.approx([0.25] * 5), "the franka's reduced_speed"
    assert robot.speeds[1:4] == pytest.approx([1.0] * 3) and robot.speeds[11:-1] == pytest.approx(
        [1.0] * len(robot.speeds[11:-1])
    )


def test_a_robot_on_its_way_is_stopped_at_the_force_limit_and_says_so():
    robot = Gliding(1.0)
    episode, surroundings = gliding(robot, force=30.0)
    step = robot.step

    def bump():
        step()
        robot.force = 31.0 if len(robot.speeds) == 5 else 3.0

    episode._pacer.step = bump
    with pytest.raises(BenchFault, match="force of the tool: 31 N, at most 30") as raised:
        episode.rest()
    assert raised.value.fault is Fault.ROBOT_NOT_READY
    assert robot.stops == 1 and robot.at == pytest.approx(0.4), "in the control period in which the force is known"
    assert [(each.kind, each.action) for each in surroundings.told] == [("force", "stop")]
    assert episode.interventions == {"force": 1}


def test_a_driver_that_fails_while_the_robot_is_on_its_way_is_noticed_in_that_control_period():
    robot = Gliding(1.0)
    episode, _ = gliding(robot)
    state = robot.state

    def fail(after):
        if len(robot.speeds) == 4:
            raise BenchFault(Fault.ROBOT_FAULT, "protective stop")
        return state(after)

    robot.state = fail
    with pytest.raises(BenchFault, match="protective stop"):
        episode.rest()
    assert len(robot.speeds) == 4 and robot.stops == 1


def test_stopping_is_staying_where_the_reading_is():
    franka = load_profile("franka")
    names = tuple(reversed(franka.joint_names))
    # A finger is no part of the arm, and a hand that holds something goes on holding it.
    reading = JointReading(1_000_000_000, ("finger", *names), (0.02, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1))
    held = stop_command(franka, reading, 0.1)
    assert (held.names, held.positions, held.duration) == (names, reading.positions[1:], 0.1)
    assert stop_command(load_profile("locobot"), OdometryReading(1_000_000_000, Pose()), 0.1) == TwistCommand()
