"""One closed-loop episode: observe, score, act, command, step; the same for every bench.

The loop knows neither ROS nor a simulator nor a task: it uses them through an ``EpisodeBench``. The ROS rollout node is
one, the in-process simulator another.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import Delivery, EpisodeRecord, Fault, Filter, Observed, Pose, Progress, Segment
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.episodes.chunks import ChunkedActions
from robocontrast_ros.episodes.delivery import compare_delivery
from robocontrast_ros.episodes.ports import PendingAnswer
from robocontrast_ros.policies.protocol import Observation, PolicyDescription, PolicyFault
from robocontrast_ros.policies.serving.runner import Answer
from robocontrast_ros.robots.commands import RobotCommand
from robocontrast_ros.robots.controllers.protocol import Controller


@dataclass(frozen=True)
class EpisodeRequest:
    """A trial as the robot may know it: without the perturbation.

    Attributes:
        trial_id: name for the log.
        instruction: text for the policy.
        seed: of the policy's own randomness, and of the filters'.
        step_limit: control steps after which the episode ends, at least 1.
        stop_on_success: whether it ends when the scorer reports success.
        start: time of the scene as it was set up [ns]; the first observation is later.
        start_pose: pose of the robot (its tool, or the base of a mobile robot) then, in the world frame.
        filters: those between the sensors and the policy.
        segments: the parts of the instruction, without their referents; empty if it was not taken apart.
    """

    trial_id: str
    instruction: str
    seed: int
    step_limit: int
    stop_on_success: bool
    start: int
    start_pose: Pose
    filters: tuple[Filter, ...] = ()
    segments: tuple[Segment, ...] = ()


@dataclass(frozen=True, kw_only=True)
class EpisodeReport(EpisodeRecord):
    """How an episode went.

    Attributes:
        fault: NONE when the goal was reached, the policy stopped, or the step limit came.
        detail: the fault in words.
        last_stamp: time of the last observation [ns]; the start if there was none.
        steps: control steps executed.
        clamped_steps: control steps whose action was clamped to a limit of the robot.
        observations: observations made.
        stopped: whether the policy itself ended the episode.
        interventions: kind of limit -> commands in which the safety filter intervened, in the order of the names.
        gripper_closed: closing of the hand in the last observation, 0 (wide open) to 1; None without a hand, and if
            nothing was observed.
    """

    fault: Fault
    detail: str
    last_stamp: int
    steps: int = 0
    clamped_steps: int = 0
    observations: int = 0
    stopped: bool = False
    interventions: Mapping[str, int] = field(default_factory=dict)
    gripper_closed: float | None = None

    @classmethod
    def not_begun(cls, request: EpisodeRequest, error: Exception) -> EpisodeReport:
        """Return the report of an episode that could not begin, because the bench failed; it is void."""
        fault = error.fault if isinstance(error, BenchFault) else Fault.POLICY_SERVER_LOST
        detail = error.detail if isinstance(error, BenchFault) else str(error)
        return cls(fault=fault, detail=detail, last_stamp=request.start)


class EpisodeBench(Protocol):
    """The loop's policy, sensors, scorer, robot and clock. Each method may raise BenchFault.

    Attributes:
        sent: the instruction, and the digest of the first images, sent to the policy since its reset.
        period_errors: excess length of each control period [s]; empty if the world waits.
        interventions: kind of limit -> commands since it began in which the safety filter intervened.
    """

    sent: Observed
    period_errors: tuple[float, ...]
    interventions: Mapping[str, int]

    def begin(self, request: EpisodeRequest, cancelled: Callable[[], bool]) -> None:
        """Prepare for an episode: the robot is, or should be, at the request's start pose, or is brought there."""

    def reset_policy(self, instruction: str, seed: int, segments: tuple[Segment, ...]) -> None:
        """Give the policy the instruction, or its segments if it takes them; raises PolicyFault if it fails."""

    def step(self) -> None:
        """Let one control period pass."""

    def observe(self, after: int) -> Observation:
        """Return the first observation later than a time [ns]."""

    def request_actions(self, observation: Observation) -> PendingAnswer:
        """Ask the policy, without waiting for the answer."""

    def answered(self, pending: PendingAnswer, wait: bool) -> bool:
        """Return whether the robot need not go on without the policy's answer.

        Args:
            pending: the answer.
            wait: whether to wait for it until the present control period ends.
        """

    def progress(self, stamp: int) -> Progress:
        """Return the score of the scene of a time [ns]."""

    def command(self, command: RobotCommand) -> None:
        """Send a command to the robot, for the coming control period; raises PolicyFault if that is unsafe."""

    def hold(self, command: RobotCommand) -> None:
        """End the robot's motion by the controller's command to stop and stay; also while the policy thinks."""

    def stop(self) -> None:
        """Have the robot stop where it is, if nothing was observed."""


def run_episode(
    bench: EpisodeBench,
    controller: Controller,
    policy: PolicyDescription,
    request: EpisodeRequest,
    feedback: Callable[[int, Progress], None] = lambda step, progress: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> EpisodeReport:
    """Run one episode to success, the step limit or a fault, and leave the robot stopped.

    1. The policy is reset; the robot holds still for one control period, which gives a first observation of the scene
    as it is. 2. If no action of its answers is left to execute, the policy is asked, and meanwhile the scorer checks
    whether the goal is reached. If the world does not wait for the policy, it goes on control step by control step
    until the answer is there; meanwhile the robot acts as the policy's ``late`` says. 3. The next action is executed,
    clamped to the robot's limits, in as many control periods as the controller needs. A faulty answer never reaches the
    robot; the action that means that the robot is done ends the episode. If the policy server received other values
    than were sent to it, the episode ends with PERTURBATION_NOT_DELIVERED.

    Args:
        bench: policy, sensors, scorer, robot and clock.
        controller: the robot's controller of the policy's action space.
        policy: number of actions of an answer to execute, and the way to combine answers.
        request: the trial to run.
        feedback: called with the control steps so far and the latest score.
        cancelled: asked before every action; true ends the episode with ABORTED.
    """
    state = _State(request.start)
    fault, detail = Fault.NONE, ""
    try:
        _loop(bench, controller, policy, request, state, feedback, cancelled)
    except (PolicyFault, BenchFault) as error:
        fault, detail = error.fault, error.detail
    _stop(bench, controller, state)
    return EpisodeReport(
        fault=fault,
        detail=detail,
        steps=state.steps,
        clamped_steps=state.clamped_steps,
        observations=state.observations,
        last_stamp=state.last_stamp,
        observed=state.observed,
        delivered=state.delivered,
        policy_latency=tuple(state.latency),
        stopped=state.stopped,
        period_errors=bench.period_errors,
        waits=tuple(state.waits) if any(state.waits) else (),
        interventions=dict(sorted(bench.interventions.items())),
        gripper_closed=None if state.observation is None else state.observation.robot.gripper_closed,
    )


class _State:
    def __init__(self, start: int) -> None:
        self.steps = 0
        self.clamped_steps = 0
        self.observations = 0
        self.last_stamp = start
        self.observation: Observation | None = None
        self.observed = Observed()
        self.delivered = Delivery.UNKNOWN
        self.latency: list[float] = []
        self.stopped = False
        self.waits: list[int] = []
        self.scored: tuple[int, bool] | None = None


def _loop(
    bench: EpisodeBench,
    controller: Controller,
    policy: PolicyDescription,
    request: EpisodeRequest,
    state: _State,
    feedback: Callable[[int, Progress], None],
    cancelled: Callable[[], bool],
) -> None:
    bench.begin(request, cancelled)
    bench.reset_policy(request.instruction, request.seed, request.segments)
    bench.step()
    controller.reset(_observe(bench, state).robot)
    actions = ChunkedActions(policy.executed, policy.ensemble)
    while True:
        if cancelled():
            raise BenchFault(Fault.ABORTED, "somebody stopped the trial")
        last = state.steps >= request.step_limit
        if last or not actions.wanted:
            if _scored(bench, request, state, feedback) or last:
                return
        else:
            pending = bench.request_actions(state.observation)
            done = _scored(bench, request, state, feedback)
            asked, began = actions.step, state.steps
            while not done and state.steps < request.step_limit:
                goes_on = policy.late == "chunk" and actions.covered
                if bench.answered(pending, wait=not goes_on) or cancelled():
                    break
                if policy.late == "stop":
                    _give_up(bench, controller, pending, state)
                if goes_on:
                    done = _carried_out(bench, controller, actions.next(), request, state, feedback)
                else:
                    bench.hold(controller.hold(state.observation.robot))
                    _step(bench, state)
                if not done and state.steps < request.step_limit:
                    done = _scored(bench, request, state, feedback)
            state.waits.append(state.steps - began)
            # Wait for the answer even if it is not needed: no request may be open when the next trial begins.
            answer = _answer(bench, pending, state, needed=not done)
            if done or answer is None:
                return
            actions.add(asked, answer.actions)
            if state.steps >= request.step_limit or not actions.covered:
                continue
        if _carried_out(bench, controller, actions.next(), request, state, feedback):
            return


def _carried_out(
    bench: EpisodeBench,
    controller: Controller,
    action: NDArray[np.float64],
    request: EpisodeRequest,
    state: _State,
    feedback: Callable[[int, Progress], None],
) -> bool:
    """Carry out an action; return whether the episode is over."""
    if controller.ends_episode(action):
        state.stopped = True
        return True
    try:
        controller.begin(action, state.observation.robot)
    except ValueError as error:
        raise PolicyFault(Fault.POLICY_INVALID_ACTION, str(error)) from None
    motion = controller.step(state.observation.robot)
    while motion is not None and state.steps < request.step_limit:
        bench.command(motion.command)
        state.clamped_steps += motion.clamped
        _step(bench, state)
        motion = controller.step(state.observation.robot)
        # The scene at an action's end is scored before the next one, or while the policy computes it.
        between = motion is not None and state.steps < request.step_limit
        if between and _scored(bench, request, state, feedback):
            return True
    return False


def _step(bench: EpisodeBench, state: _State) -> None:
    """Let the control period of a command pass."""
    bench.step()
    state.steps += 1
    _observe(bench, state)


def _observe(bench: EpisodeBench, state: _State) -> Observation:
    observation = bench.observe(state.last_stamp)
    state.observation, state.last_stamp = observation, observation.stamp
    state.observations += 1
    return observation


def _scored(
    bench: EpisodeBench, request: EpisodeRequest, state: _State, feedback: Callable[[int, Progress], None]
) -> bool:
    # A scene that was scored while the robot waited for a late answer is not scored twice.
    if state.scored is None or state.scored[0] != state.last_stamp:
        progress = bench.progress(state.last_stamp)
        feedback(state.steps, progress)
        state.scored = state.last_stamp, progress.success and request.stop_on_success
    return state.scored[1]


def _answer(bench: EpisodeBench, pending: PendingAnswer, state: _State, needed: bool) -> Answer | None:
    try:
        answer = pending.result()
    except PolicyFault:
        if needed:
            raise
        return None
    state.latency.append(answer.latency)
    if state.observed == Observed() and (answer.observed.known or answer.observed != Observed()):
        state.observed = answer.observed
        state.delivered, difference = compare_delivery(bench.sent, answer.observed)
        if state.delivered is Delivery.DIFFERENT:
            raise BenchFault(Fault.PERTURBATION_NOT_DELIVERED, difference)
    return answer


def _give_up(bench: EpisodeBench, controller: Controller, pending: PendingAnswer, state: _State) -> NoReturn:
    """End the trial because an answer takes too long: the robot stops before the wait for the answer."""
    bench.hold(controller.hold(state.observation.robot))
    with contextlib.suppress(PolicyFault):
        pending.result()
    raise PolicyFault(
        Fault.POLICY_TIMEOUT, "its answer took longer than a control period, and its file says `late: stop`"
    )


def _stop(bench: EpisodeBench, controller: Controller, state: _State) -> None:
    """Stop the robot where it is: on the wall clock it would go on; a lost bench is ignored."""
    with contextlib.suppress(BenchFault):
        if state.observation is None:
            bench.stop()
        else:
            bench.hold(controller.hold(state.observation.robot))
