"""The closed loop, on a bench that follows a script: who is asked when, and what each fault does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robocontrast_ros.domain import NANOSECONDS, Delivery, Fault, Observed, Pose, Progress, nanoseconds, seconds
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.episodes.loop import EpisodeRequest, run_episode
from robocontrast_ros.policies.protocol import Observation, PolicyDescription, PolicyFault
from robocontrast_ros.policies.serving.runner import Answer
from robocontrast_ros.robots.commands import JointTrajectoryCommand
from robocontrast_ros.robots.controllers.protocol import ControlStep


class OneJoint:
    """A controller of one joint.

    An action (size, periods) moves it by `size`, clamped to 0.1, in each of so many control periods; one of no
    periods says that the robot is done.
    """

    action_size = 2

    def reset(self, state):
        self.began_at = state.joint_positions

    def ends_episode(self, action):
        return action[1] == 0

    def begin(self, action, state):
        self.size, self.left = action

    def step(self, state):
        if not self.left:
            return None
        self.left -= 1
        size = float(np.clip(self.size, -0.1, 0.1))
        return ControlStep(self._to(state.joint_positions[0] + size), clamped=abs(self.size) > 0.1)

    def hold(self, state):
        return self._to(state.joint_positions[0])

    @staticmethod
    def _to(position):
        return JointTrajectoryCommand(("j",), (position,), 0.1)


POLICY = PolicyDescription("scripted", "one_joint", 2, chunk_length=100)
STEP = [0.1, 1]
"""An action of one control period; the goal is reached after four."""
DONE = [0.0, 0]
"""The action that ends the episode."""


@dataclass
class Line:
    """A joint that goes where it is told, one control step later; the goal is at 0.35."""

    answers: list = field(default_factory=lambda: [[STEP]] * 100)
    fail: dict = field(default_factory=dict)
    position: float = 0.0
    time: int = 5 * NANOSECONDS
    thinking: float = 0.0
    period_errors: tuple = ()
    log: list = field(default_factory=list)
    began: list = field(default_factory=list)
    scored: list = field(default_factory=list)
    sent: Observed = field(default_factory=lambda: Observed("go"))
    received: Observed = field(default_factory=lambda: Observed("go"))
    interventions: dict = field(default_factory=dict)
    gripper_closed: Callable = field(default=lambda time: None)

    def _do(self, what):
        self.log.append(what)
        fault = self.fail.get((what, self.log.count(what)))
        if fault is not None:
            raise fault

    def begin(self, request, cancelled):
        self._do("begin")
        self.began.append(request.start_pose)

    def reset_policy(self, instruction, seed, segments):
        self._do("reset")

    def step(self):
        self._do("step")
        self.time += NANOSECONDS // 10

    def observe(self, after):
        self._do("observe")
        assert self.time > after
        return Observation(
            self.time, {}, ("j",), (self.position,), Pose(), gripper_closed=self.gripper_closed(self.time)
        )

    def request_actions(self, observation):
        self._do("ask")
        bench = self

        class Pending:
            def result(self):
                bench._do("answer")
                first = bench.log.count("answer") == 1
                return Answer(np.array(bench.answers.pop(0)), 0.001, bench.received if first else Observed())

        self.asked = self.time
        return Pending()

    def answered(self, pending, wait):
        self._do("wait")
        return self.time - self.asked >= nanoseconds(self.thinking)

    def progress(self, stamp):
        self._do("progress")
        assert stamp == self.time
        self.scored.append(stamp)
        return Progress(stamp, self.position >= 0.35, {"progress": self.position / 0.35})

    def command(self, command):
        self._do("command")
        self.position = command.positions[0]

    def hold(self, command):
        self._do("hold")
        self.position = command.positions[0]

    def stop(self):
        self._do("stop")


def request(**changes):
    return EpisodeRequest(
        **{
            "trial_id": "0",
            "instruction": "go",
            "seed": 1,
            "step_limit": 20,
            "stop_on_success": True,
            "start": 5 * NANOSECONDS,
            "start_pose": Pose.planar(0.3, 0.1),
            **changes,
        }
    )


def test_an_episode_ends_at_success_and_says_what_the_policy_received():
    bench = Line()
    report = run_episode(bench, OneJoint(), POLICY, request())
    assert (report.fault, report.steps, report.observations) == (Fault.NONE, 4, 5)
    assert report.last_stamp == 5_500_000_000
    assert report.observed == Observed("go")
    assert bench.log[:6] == ["begin", "reset", "step", "observe", "ask", "progress"], "the robot holds still first"
    assert bench.log.count("ask") == bench.log.count("answer"), "no answer is left under way"


def test_what_the_policy_received_is_confirmed_to_be_what_was_sent():
    assert run_episode(Line(), OneJoint(), POLICY, request()).delivered is Delivery.CONFIRMED


@pytest.mark.parametrize("received", [Observed("come"), Observed("go", "ab" * 32)])
def test_a_policy_that_received_something_else_never_moves_the_robot_and_its_trial_is_void(received):
    bench = Line(received=received)
    report = run_episode(bench, OneJoint(), POLICY, request())
    assert (report.fault, report.delivered) == (Fault.PERTURBATION_NOT_DELIVERED, Delivery.DIFFERENT)
    assert (report.observed, report.steps) == (received, 0)
    assert "command" not in bench.log and bench.log[-1] == "hold"


@pytest.mark.parametrize("fail", [{}, {("answer", 1): PolicyFault(Fault.POLICY_RAISED, "bad")}])
def test_of_a_policy_server_that_does_not_say_what_it_received_nothing_is_known_and_the_trial_counts(fail):
    report = run_episode(Line(received=Observed(), fail=fail), OneJoint(), POLICY, request())
    assert not report.fault.voids
    assert (report.delivered, report.observed) == (Delivery.UNKNOWN, Observed())


def test_an_episode_ends_at_the_step_limit_with_its_last_scene_scored():
    bench = Line()
    report = run_episode(bench, OneJoint(), POLICY, request(step_limit=3))
    assert (report.fault, report.steps) == (Fault.NONE, 3)
    assert bench.log.count("progress") == 4 and bench.log[-2:] == ["progress", "hold"]


def test_success_does_not_end_an_episode_that_is_to_go_on():
    assert run_episode(Line(), OneJoint(), POLICY, request(stop_on_success=False, step_limit=9)).steps == 9


def test_each_action_of_a_chunk_is_executed_and_scored_until_the_limit():
    bench = Line(answers=[[[0.01, 1]] * 5, [[0.01, 1]] * 5])
    report = run_episode(bench, OneJoint(), POLICY, request(step_limit=7))
    assert (report.steps, bench.log.count("ask"), bench.log.count("progress")) == (7, 2, 8)


def test_a_policy_is_asked_again_after_as_many_actions_as_it_wants_carried_out():
    replanning = replace(POLICY, execute=2)
    bench = Line(answers=[[[0.01, 1]] * 5] * 9)
    report = run_episode(bench, OneJoint(), replanning, request(step_limit=7))
    assert (report.steps, bench.log.count("ask"), bench.log.count("progress")) == (7, 4, 8)


def test_answers_are_averaged_where_a_policy_wants_them_ensembled():
    ensembled = replace(POLICY, ensemble=0.0)
    bench = Line(answers=[[[0.0, 1], [0.0, 1]], [[0.06, 1], [0.06, 1]], [[0.0, 1]]])
    report = run_episode(bench, OneJoint(), ensembled, request(step_limit=2))
    assert (report.steps, bench.log.count("ask")) == (2, 2)
    assert bench.position == pytest.approx(0.03), "the mean of 0.0 and 0.06"


def test_clamped_steps_are_counted():
    assert run_episode(Line(answers=[[[0.5, 1]]] * 9), OneJoint(), POLICY, request()).clamped_steps == 4


@pytest.mark.parametrize("code", [Fault.POLICY_RAISED, Fault.POLICY_NOT_FINITE, Fault.POLICY_TIMEOUT])
def test_a_fault_of_the_policy_stops_the_robot_where_it_is(code):
    bench = Line(fail={("answer", 3): PolicyFault(code, "bad")})
    report = run_episode(bench, OneJoint(), POLICY, request())
    assert (report.fault, report.detail, report.steps) == (code, "bad", 2)
    assert bench.log[-1] == "hold" and bench.position == pytest.approx(0.2), "it is told to hold"


def test_an_action_without_meaning_is_the_policys_fault_and_never_reaches_the_robot():
    class Choosy(OneJoint):
        def begin(self, action, state):
            if action[0] > 1.0:
                raise ValueError("got 7.0, expected at most 1")
            super().begin(action, state)

    bench = Line(answers=[[STEP], [[7.0, 1]]])
    report = run_episode(bench, Choosy(), POLICY, request())
    assert (report.fault, report.detail) == (Fault.POLICY_INVALID_ACTION, "got 7.0, expected at most 1")
    assert report.steps == 1
    assert bench.log[-1] == "hold" and bench.position == pytest.approx(0.1), "it is told to hold"


def test_a_fault_in_an_answer_that_is_no_longer_needed_is_no_fault():
    bench = Line(fail={("answer", 5): PolicyFault(Fault.POLICY_RAISED, "late")})
    assert run_episode(bench, OneJoint(), POLICY, request()).fault is Fault.NONE


def test_a_bench_that_fails_is_reported_and_a_robot_that_is_gone_is_not_waited_for():
    gone = BenchFault(Fault.SIMULATOR_LOST, "gone")
    bench = Line(fail={("step", 3): gone, ("hold", 1): gone})
    report = run_episode(bench, OneJoint(), POLICY, request())
    assert (report.fault, report.steps, bench.log[-1]) == (Fault.SIMULATOR_LOST, 1, "hold")


def test_a_robot_that_was_never_observed_is_stopped_where_it_is():
    bench = Line(fail={("observe", 1): BenchFault(Fault.SENSOR_LOST, "dark")})
    assert run_episode(bench, OneJoint(), POLICY, request()).fault is Fault.SENSOR_LOST
    assert bench.log[-1] == "stop"


def test_how_far_the_hand_was_closed_is_known_of_the_last_observation():
    report = run_episode(Line(gripper_closed=lambda time: 0.1 * seconds(time)), OneJoint(), POLICY, request())
    assert report.gripper_closed == 0.1 * seconds(report.last_stamp)
    assert run_episode(Line(), OneJoint(), POLICY, request()).gripper_closed is None
    dark = Line(fail={("observe", 1): BenchFault(Fault.SENSOR_LOST, "dark")}, gripper_closed=lambda time: 0.5)
    assert run_episode(dark, OneJoint(), POLICY, request()).gripper_closed is None


def test_an_episode_that_succeeds_leaves_the_robot_stopped():
    bench = Line()
    assert run_episode(bench, OneJoint(), POLICY, request()).fault is Fault.NONE
    assert bench.log[-1] == "hold"


def test_a_cancelled_episode_is_aborted_with_the_robot_stopped():
    bench = Line()
    report = run_episode(bench, OneJoint(), POLICY, request(), cancelled=lambda: bench.log.count("step") >= 3)
    assert (report.fault, report.steps) == (Fault.ABORTED, 2)
    assert bench.log[-1] == "hold"


def test_feedback_follows_every_scored_step():
    heard = []
    run_episode(
        Line(),
        OneJoint(),
        POLICY,
        request(),
        feedback=lambda step, progress: heard.append((step, progress.success)),
    )
    assert heard == [(0, False), (1, False), (2, False), (3, False), (4, True)]


def test_the_bench_is_told_where_the_robot_starts_before_anything_moves():
    bench = Line()
    run_episode(bench, OneJoint(), POLICY, request())
    assert bench.began == [Pose.planar(0.3, 0.1)] and bench.log[0] == "begin"


def test_an_action_may_take_several_control_periods_each_a_counted_and_scored_step():
    bench = Line(answers=[[[0.02, 3]], [[0.3, 2], DONE]])
    report = run_episode(bench, OneJoint(), POLICY, request())
    assert (report.fault, report.steps, report.clamped_steps) == (Fault.NONE, 5, 2)
    assert bench.log.count("command") == bench.log.count("step") - 1 == 5
    assert (bench.log.count("ask"), bench.position) == (2, pytest.approx(0.26))


def test_success_in_the_middle_of_an_action_ends_the_episode_without_asking_again():
    bench = Line(answers=[[[0.1, 9]]])
    report = run_episode(bench, OneJoint(), POLICY, request())
    assert (report.steps, report.stopped, bench.log.count("ask")) == (4, False, 1)
    whole = run_episode(Line(answers=[[[0.1, 9]], [DONE]]), OneJoint(), POLICY, request(stop_on_success=False))
    assert (whole.steps, whole.stopped) == (9, True)


def test_the_policys_own_end_takes_no_control_step_and_drops_what_it_answered_after_it():
    bench = Line(answers=[[STEP, DONE, STEP, STEP]])
    report = run_episode(bench, OneJoint(), POLICY, request())
    assert (report.fault, report.stopped, report.steps) == (Fault.NONE, True, 1)
    assert bench.position == pytest.approx(0.1)
    at_once = run_episode(Line(answers=[[DONE]]), OneJoint(), POLICY, request())
    assert (at_once.stopped, at_once.steps, at_once.observations) == (True, 0, 1)


def test_an_episode_that_somebody_else_ends_was_not_stopped_by_the_policy():
    assert not run_episode(Line(), OneJoint(), POLICY, request()).stopped
    assert not run_episode(Line(), OneJoint(), POLICY, request(step_limit=2)).stopped


@pytest.mark.parametrize("limit", [1, 4, 5])
def test_the_step_limit_cuts_an_action_short(limit):
    bench = Line(answers=[[[0.01, 3], [0.01, 4]], [DONE]])
    report = run_episode(bench, OneJoint(), POLICY, request(step_limit=limit))
    assert (report.steps, report.stopped, bench.log.count("command")) == (limit, False, limit)
    assert bench.log.count("ask") == 1, "nobody asks for an action that cannot be carried out"


chunks = st.lists(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.01, 0.04, 0.2]), st.sampled_from([1, 1, 2, 5, 0])).map(list),
        min_size=1,
        max_size=4,
    ),
    min_size=1,
    max_size=6,
)


@given(chunks, st.integers(1, 12), st.booleans())
def test_every_scene_that_was_observed_is_scored_exactly_once(answers, limit, stop_on_success):
    bench = Line(answers=[*answers, [DONE]])
    report = run_episode(bench, OneJoint(), POLICY, request(step_limit=limit, stop_on_success=stop_on_success))
    assert report.fault is Fault.NONE
    assert len(bench.scored) == len(set(bench.scored)) == report.observations == report.steps + 1
    assert bench.scored[-1] == report.last_stamp, "the last scene is scored, too"
    assert bench.log.count("ask") == bench.log.count("answer")
    assert report.steps <= limit


def test_where_the_world_does_not_wait_the_robot_holds_until_the_answer_is_there():
    bench = Line(thinking=0.25)
    report = run_episode(bench, OneJoint(), POLICY, request(stop_on_success=False, step_limit=9))
    assert report.waits == (3, 3, 1), "whole control periods; the last answer is not needed any more"
    assert report.steps == 9 == bench.log.count("command") + bench.log.count("hold") - 1
    assert bench.position == pytest.approx(0.2), "two actions were carried out"
    assert len(set(bench.scored)) == len(bench.scored) == 10, "each scene is scored once"
    assert bench.log.count("ask") == bench.log.count("answer")


def test_the_rest_of_an_answer_is_carried_out_while_the_next_is_thought_of_and_what_has_passed_of_it_is_dropped():
    bench = Line(answers=[[[0.01 * (k + 1), 1] for k in range(5)]] * 9, thinking=0.2)
    going_on = replace(POLICY, execute=3, late="chunk")
    report = run_episode(bench, OneJoint(), going_on, request(stop_on_success=False, step_limit=9))
    assert report.waits == (2, 2, 1)
    # Two steps on hold; 1 2 3 of the first answer, 4 5 of it while the second is thought of; 3 of that one; 4.
    assert bench.position == pytest.approx(0.01 * (1 + 2 + 3 + 4 + 5 + 3 + 4))
    assert len(set(bench.scored)) == len(bench.scored) == 10


def test_a_policy_whose_file_says_so_fails_when_its_answer_is_late_and_the_robot_stops_at_once():
    bench = Line(thinking=0.1)
    report = run_episode(bench, OneJoint(), replace(POLICY, late="stop"), request())
    assert (report.fault, report.steps) == (Fault.POLICY_TIMEOUT, 0)
    assert "late: stop" in report.detail
    assert bench.log.index("hold") < bench.log.index("answer")


def test_an_episode_that_is_cancelled_while_the_policy_thinks_ends_without_waiting_for_the_thought_to_be_over():
    bench = Line(thinking=1e9)
    report = run_episode(bench, OneJoint(), POLICY, request(), cancelled=lambda: bench.log.count("step") > 4)
    assert report.fault is Fault.ABORTED and report.steps <= 5
    assert bench.log.count("ask") == bench.log.count("answer"), "no answer is left under way"


def test_a_goal_that_is_reached_while_the_policy_thinks_ends_the_episode():
    bench = Line(thinking=0.2, position=0.3)
    bench.hold = lambda command: setattr(bench, "position", bench.position + 0.03)
    report = run_episode(bench, OneJoint(), POLICY, request())
    assert (report.fault, report.steps) == (Fault.NONE, 2)


@given(
    chunk=st.integers(1, 6),
    execute=st.integers(1, 6),
    thinking=st.floats(0.0, 0.7),
    limit=st.integers(1, 25),
    late=st.sampled_from(["hold", "chunk"]),
)
def test_whatever_the_latency_every_control_step_is_commanded_and_scored_once(chunk, execute, thinking, limit, late):
    execute = min(execute, chunk)
    late = late if execute < chunk else "hold"
    bench = Line(answers=[[[0.001, 1]] * chunk for _ in range(60)], thinking=thinking)
    policy = replace(POLICY, chunk_length=chunk, execute=execute, late=late)
    report = run_episode(bench, OneJoint(), policy, request(stop_on_success=False, step_limit=limit))
    assert (report.fault, report.steps) == (Fault.NONE, limit)
    assert bench.log.count("command") + bench.log.count("hold") - 1 == limit
    assert len(set(bench.scored)) == len(bench.scored) == limit + 1
    assert sum(report.waits) <= limit
    if thinking == 0.0:
        assert report.waits == ()
