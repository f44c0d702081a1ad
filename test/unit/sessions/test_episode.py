"""The closed loop, on a bench that follows a script: who is asked when, and what each fault does."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from robocontrast_ros.domain import Fault, Observed, Pose, Progress
from robocontrast_ros.policies.protocol import Observation
from robocontrast_ros.policies.runner import Answer, PolicyFault
from robocontrast_ros.robots.commands import JointTrajectoryCommand
from robocontrast_ros.robots.controllers import ControlStep
from robocontrast_ros.sessions.bench import BenchFault
from robocontrast_ros.sessions.episode import EpisodeRequest, run_episode


class OneJoint:
    """A controller of one joint whose steps are clamped to 0.1."""

    action_size = 1

    def reset(self, joint_positions):
        self.began_at = joint_positions

    def command(self, action, joint_positions):
        step = float(np.clip(action[0], -0.1, 0.1))
        return ControlStep(self._to(joint_positions[0] + step), clamped=abs(action[0]) > 0.1)

    def hold(self, joint_positions):
        return self._to(joint_positions[0])

    @staticmethod
    def _to(position):
        return JointTrajectoryCommand(("j",), (position,), 0.1)


@dataclass
class Line:
    """A joint that goes where it is told, one control step later; the goal is at 0.35."""

    answers: list = field(default_factory=lambda: [[[0.1]]] * 100)
    fail: dict = field(default_factory=dict)
    position: float = 0.0
    time: float = 5.0
    log: list = field(default_factory=list)

    def _do(self, what):
        self.log.append(what)
        fault = self.fail.get((what, self.log.count(what)))
        if fault is not None:
            raise fault

    def reset_policy(self, instruction, seed):
        self._do("reset")

    def step(self):
        self._do("step")
        self.time += 0.1

    def observe(self, after):
        self._do("observe")
        assert self.time > after
        return Observation(self.time, {}, ("j",), (self.position,), Pose())

    def request_actions(self, observation):
        self._do("ask")
        bench = self

        class Pending:
            def result(self):
                bench._do("answer")
                first = bench.log.count("answer") == 1
                return Answer(np.array(bench.answers.pop(0)), 0.001, Observed("go") if first else Observed())

        return Pending()

    def progress(self, stamp):
        self._do("progress")
        assert stamp == self.time
        return Progress(stamp, self.position >= 0.35, self.position / 0.35, 0.0, 0.0)

    def command(self, command):
        self._do("command")
        self.position = command.positions[0]


def request(**changes):
    return EpisodeRequest(
        **{
            "trial_id": "0",
            "instruction": "go",
            "seed": 1,
            "step_limit": 20,
            "stop_on_success": True,
            "start": 5.0,
            **changes,
        }
    )


def test_an_episode_ends_at_success_and_says_what_the_policy_received():
    bench = Line()
    report = run_episode(bench, OneJoint(), request())
    assert (report.fault, report.steps, report.observations) == (Fault.NONE, 4, 5)
    assert report.last_stamp == pytest.approx(5.5)
    assert report.observed == Observed("go")
    assert bench.log[:5] == ["reset", "step", "observe", "ask", "progress"], "the robot holds still first"
    assert bench.log.count("ask") == bench.log.count("answer"), "no answer is left under way"


def test_an_episode_ends_at_the_step_limit_with_its_last_scene_scored():
    bench = Line()
    report = run_episode(bench, OneJoint(), request(step_limit=3))
    assert (report.fault, report.steps) == (Fault.NONE, 3)
    assert bench.log.count("progress") == 4 and bench.log[-1] == "progress"


def test_success_does_not_end_an_episode_that_is_to_go_on():
    assert run_episode(Line(), OneJoint(), request(stop_on_success=False, step_limit=9)).steps == 9


def test_each_action_of_a_chunk_is_executed_and_scored_until_the_limit():
    bench = Line(answers=[[[0.01]] * 5, [[0.01]] * 5])
    report = run_episode(bench, OneJoint(), request(step_limit=7))
    assert (report.steps, bench.log.count("ask"), bench.log.count("progress")) == (7, 2, 8)


def test_clamped_steps_are_counted():
    assert run_episode(Line(answers=[[[0.5]]] * 9), OneJoint(), request()).clamped_steps == 4


@pytest.mark.parametrize("code", [Fault.POLICY_RAISED, Fault.POLICY_NOT_FINITE, Fault.POLICY_TIMEOUT])
def test_a_fault_of_the_policy_stops_the_robot_where_it_is(code):
    bench = Line(fail={("answer", 3): PolicyFault(code, "bad")})
    report = run_episode(bench, OneJoint(), request())
    assert (report.fault, report.detail, report.steps) == (code, "bad", 2)
    assert bench.log[-1] == "command" and bench.position == pytest.approx(0.2), "it is told to hold"


def test_a_fault_in_an_answer_that_is_no_longer_needed_is_no_fault():
    bench = Line(fail={("answer", 5): PolicyFault(Fault.POLICY_RAISED, "late")})
    assert run_episode(bench, OneJoint(), request()).fault is Fault.NONE


def test_a_bench_that_fails_is_reported_and_a_robot_that_is_gone_is_not_waited_for():
    gone = BenchFault(Fault.SIMULATOR_LOST, "gone")
    bench = Line(fail={("step", 3): gone, ("command", 3): gone})
    report = run_episode(bench, OneJoint(), request())
    assert (report.fault, report.steps) == (Fault.SIMULATOR_LOST, 1)


def test_a_cancelled_episode_is_aborted_with_the_robot_stopped():
    bench = Line()
    report = run_episode(bench, OneJoint(), request(), cancelled=lambda: bench.log.count("step") >= 3)
    assert (report.fault, report.steps) == (Fault.ABORTED, 2)
    assert bench.log[-1] == "command"


def test_feedback_follows_every_scored_step():
    heard = []
    run_episode(
        Line(), OneJoint(), request(), feedback=lambda step, progress: heard.append((step, progress.success))
    )
    assert heard == [(0, False), (1, False), (2, False), (3, False), (4, True)]
