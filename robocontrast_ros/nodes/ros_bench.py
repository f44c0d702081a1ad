"""The session's bench over ROS: scenes through sim_bridge, episodes through rollout, scores, bags."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Container, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import Field
from rclpy.action import ActionClient
from rclpy.node import Node

from robocontrast_ros.action import RunEpisode
from robocontrast_ros.bags.recorder_lag import counts_in_words
from robocontrast_ros.configuration import ConfigurationError, record
from robocontrast_ros.domain import Fault, Observed, Scene, SetupMove, Trial
from robocontrast_ros.episodes.bench import BenchFault, Execution, PolicyRefusal, Recording, ServingPolicy
from robocontrast_ros.messages.decoding import result_from_msg, scene_from_msg
from robocontrast_ros.msg import PolicyDescription as PolicyDescriptionMsg
from robocontrast_ros.msg import TopicCount
from robocontrast_ros.msg import Trial as TrialMsg
from robocontrast_ros.nodes.conversions.domain import (
    TrialContext,
    fault_from_msg,
    move_to_msg,
    pose_to_msg,
    scene_to_msg,
    trial_to_msg,
)
from robocontrast_ros.nodes.conversions.policy import description_from_msg
from robocontrast_ros.nodes.conversions.time import seconds, time_to_msg
from robocontrast_ros.nodes.runtime.channel import (
    Channel,
    DiscoveryProbe,
    NoAnswer,
    PendingResponse,
    call,
    patient_call,
)
from robocontrast_ros.nodes.runtime.qos import LATCHED
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.policies.serving.runner import LOAD_TIMEOUT
from robocontrast_ros.srv import (
    DescribePolicy,
    FinishScoring,
    GetScene,
    LoadPolicy,
    SetupScene,
    StartRecording,
    StartScoring,
    StopRecording,
)
from robocontrast_ros.tasks.protocol import Task, robot_start

START_UP_POLL = 0.5
"""How often who waits for the other nodes looks whether the session was aborted [s]."""


@record
class BenchParameters:
    """Parameters of the bench: names of the other nodes, and how long they may be silent."""

    sim_bridge: str = Field(default="sim_bridge", description="Name of the bridge's node.")
    policy_server: str = Field(default="policy_server", description="Name of the policy server's node.")
    rollout: str = Field(default="rollout", description="Name of the rollout's node.")
    scorer: str = Field(default="scorer", description="Name of the scorer's node.")
    recorder: str = Field(default="recorder", description="Name of the recorder's node; empty for no bags.")
    setup_timeout: float = Field(
        default=60.0, gt=0.0, description="Wait for a scene to be set up; a person needs longer [s]."
    )
    load_timeout: float = Field(
        default=2.0 * LOAD_TIMEOUT,
        gt=0.0,
        description="Wait for a policy to be loaded and warmed up; the server's own limits end before [s].",
    )
    answer_timeout: float = Field(default=20.0, gt=0.0, description="Wait for the scorer [s].")
    recording_timeout: float = Field(
        default=40.0, gt=0.0, description="Wait for the recorder; its own limits end before [s]."
    )
    silence_timeout: float = Field(
        default=60.0,
        gt=0.0,
        description="Silence of a running episode after which rollout counts as gone [s].",
    )
    startup_timeout: float = Field(
        default=120.0, gt=0.0, description="Time for the other nodes to come up [s]."
    )


class RosBench:
    """A ``episodes.bench.Bench``. Its methods block, so they are called from a thread of the session's own."""

    def __init__(
        self,
        owner: Node,
        parameters: BenchParameters,
        context: TrialContext,
        run_folder: Path,
        task: Task,
        stop_on_success: bool,
        recorded: Container[str],
        aborted: Callable[[], bool],
        check: Callable[[PolicyDescription, str], None],
    ) -> None:
        """Make the clients.

        Args:
            owner: the node whose name and namespace the hidden node takes.
            parameters: names and limits.
            context: what every Trial message says beside the trial.
            run_folder: where ``bags/`` is.
            task: the session's task.
            stop_on_success: whether an episode ends at success.
            recorded: the topics that go into the bags.
            aborted: asked while an episode runs; true cancels it.
            check: given a policy's description and where it is from, raises ConfigurationError where it does not fit.
        """
        self._parameters, self._context, self._run_folder = parameters, context, run_folder
        self._task, self._stop_on_success, self._aborted = task, stop_on_success, aborted
        self._recorded, self._check = recorded, check
        self._channel = Channel(owner)
        node, p = self._channel.node, parameters
        self._setup_scene = node.create_client(SetupScene, f"{p.sim_bridge}/setup_scene")
        self._start_scoring = node.create_client(StartScoring, f"{p.scorer}/start")
        self._finish_scoring = node.create_client(FinishScoring, f"{p.scorer}/finish")
        self._start_recording = node.create_client(StartRecording, f"{p.recorder or 'recorder'}/start")
        self._stop_recording = node.create_client(StopRecording, f"{p.recorder or 'recorder'}/stop")
        self._load_policy = node.create_client(LoadPolicy, f"{p.policy_server}/load")
        self._describe_policy = node.create_client(DescribePolicy, f"{p.policy_server}/describe")
        self._get_scene = node.create_client(GetScene, f"{p.sim_bridge}/get_scene")
        self._trial = node.create_publisher(TrialMsg, "trial", LATCHED)
        self._episode = ActionClient(node, RunEpisode, f"{p.rollout}/run_episode")
        others = [
            (p.policy_server, Fault.POLICY_SERVER_LOST),
            (p.sim_bridge, Fault.SIMULATOR_LOST),
            (p.scorer, Fault.SCORER_LOST),
            (p.rollout, Fault.SENSOR_LOST),
            *([(p.recorder, Fault.RECORDER_LOST)] if p.recorder else []),
        ]
        self._others = [(DiscoveryProbe(node, name), fault) for name, fault in others]
        self._start: tuple[float, Scene] | None = None
        self._to_stop: StopRecording.Request | None = None
        self.now = 0.0
        """Stamp of the newest scene or observation, in the clock of the graph [s]; 0 before the first."""
        self._channel.start()

    def close(self) -> None:
        """Free the channel."""
        self._channel.close()

    def wait(self) -> None:
        """Wait until all nodes are up, and see whether the policy fits.

        Raises:
            BenchFault: one did not come up in time; the fault names it.
            ConfigurationError: the policy that serves does not fit.
        """
        needed = [
            (self._describe_policy, Fault.POLICY_SERVER_LOST),
            (self._load_policy, Fault.POLICY_SERVER_LOST),
            (self._get_scene, Fault.SIMULATOR_LOST),
            (self._setup_scene, Fault.SIMULATOR_LOST),
            (self._start_scoring, Fault.SCORER_LOST),
            (self._finish_scoring, Fault.SCORER_LOST),
        ]
        if self._parameters.recorder:
            needed += [
                (self._start_recording, Fault.RECORDER_LOST),
                (self._stop_recording, Fault.RECORDER_LOST),
            ]
        deadline = time.monotonic() + self._parameters.startup_timeout
        for client, fault in needed:
            self._await(client.wait_for_service, f"'{client.srv_name}'", deadline, fault)
        name = f"'{self._parameters.rollout}'"
        self._await(self._episode.wait_for_server, name, deadline, Fault.SENSOR_LOST)
        for other, fault in self._others:
            try:
                other.wait(max(deadline - time.monotonic(), 0.1))
            except NoAnswer as error:
                raise BenchFault(fault, str(error)) from None
        answer = self._ask(self._describe_policy, DescribePolicy.Request(), Fault.POLICY_SERVER_LOST)
        self._check(description_from_msg(answer.description), self._source(answer.description))

    def _await(self, there: Callable[[float], bool], what: str, deadline: float, fault: Fault) -> None:
        while not there(START_UP_POLL):
            if self._aborted():
                raise BenchFault(Fault.ABORTED, f"the session was aborted before {what} was there")
            if time.monotonic() > deadline:
                limit = self._parameters.startup_timeout
                raise BenchFault(fault, f"{what} is not there after {limit:g} s")

    def policy(self) -> ServingPolicy:
        """Return the policy that serves; the messages of the trials to come name it."""
        policy = _told(self._ask(self._describe_policy, DescribePolicy.Request(), Fault.POLICY_SERVER_LOST))
        self._context = replace(self._context, policy=policy.name)
        return policy

    def stage_policy(self, policy: str) -> ServingPolicy:
        """Have the policy server load another policy beside the one that serves, and see whether it fits."""
        response = PendingResponse(self._load_policy, LoadPolicy.Request(policy=policy))
        deadline = time.monotonic() + self._parameters.load_timeout + self._parameters.answer_timeout
        while not response.arrived(0.2):
            if self._aborted():
                response.give_up()
                raise PolicyRefusal("the session was aborted while it was being loaded")
            if time.monotonic() > deadline or not self._load_policy.service_is_ready():
                response.give_up()
                raise PolicyRefusal(f"'{self._parameters.policy_server}' does not answer")
        answer = response.result(0.0)
        if not answer.accepted:
            raise PolicyRefusal(answer.detail)
        try:
            self._check(description_from_msg(answer.description), self._source(answer.description))
        except ConfigurationError as error:
            # A policy that will never serve must not fill the server's memory.
            self._load(LoadPolicy.Request())
            raise PolicyRefusal(str(error)) from None
        return _told(answer)

    def serve_policy(self) -> None:
        """Let the policy that was staged serve."""
        answer = self._load(LoadPolicy.Request(serve=True))
        if not answer.accepted:
            raise PolicyRefusal(answer.detail)

    def _load(self, request: LoadPolicy.Request) -> LoadPolicy.Response:
        try:
            return call(self._load_policy, request, self._parameters.answer_timeout)
        except NoAnswer as error:
            raise BenchFault(Fault.POLICY_SERVER_LOST, str(error)) from None

    def _source(self, description: PolicyDescriptionMsg) -> str:
        return description.file or f"what '{self._parameters.policy_server}' serves"

    def scene(self) -> Scene:
        """Return the scene that actually is."""
        response = self._ask(self._get_scene, GetScene.Request(), Fault.SIMULATOR_LOST)
        self.now = seconds(response.scene.header.stamp)
        return scene_from_msg(response.scene)

    def description(self) -> str:
        """Return what the simulator says of itself; empty where it says nothing."""
        return self._ask(self._get_scene, GetScene.Request(), Fault.SIMULATOR_LOST).world

    def set_up(self, target: Scene, moves: tuple[SetupMove, ...]) -> Scene:
        """Bring the scene to the target and the robot to its start; return the scene as read back."""
        request = SetupScene.Request(target=scene_to_msg(target), moves=[move_to_msg(m) for m in moves])
        response = self._ask(
            self._setup_scene, request, Fault.SIMULATOR_LOST, timeout=self._parameters.setup_timeout
        )
        scene = scene_from_msg(response.scene)
        self.now = seconds(response.scene.header.stamp)
        self._start = self.now, scene
        return scene

    def execute(self, trial: Trial, attempt: int) -> Execution:
        """Record, run and score one trial in the scene that was set up last."""
        if self._start is None:
            raise BenchFault(Fault.SETUP_FAILED, "no scene was set up before the trial")
        began = time.monotonic()
        start, scene = self._start
        bag = self._open_bag(trial, attempt, start)
        message = trial_to_msg(trial, self._context, scene, start)
        self._trial.publish(message)
        episode, fault, detail = RunEpisode.Result(), Fault.NONE, ""
        try:
            self._ask(self._start_scoring, StartScoring.Request(trial=message), Fault.SCORER_LOST)
            episode = self._run(trial, bag, start, scene)
            self.now = seconds(episode.last_stamp)
            fault, detail = fault_from_msg(episode.fault)
        except BenchFault as error:
            fault, detail = error.fault, error.detail
        # What went wrong first makes the trial void; scoring and recording are ended all the same.
        void = BenchFault(fault, detail) if fault.voids else None
        try:
            result = self._finish(episode, fault, detail)
        except BenchFault as error:
            void = void or error
        try:
            # A bag that counts nowhere is not worth a wait for its last messages, least of all while all is ending.
            recording = self._close_bag(bag, () if void else self._published(episode))
        except BenchFault as error:
            void = void or error
        if void is not None:
            raise void
        return Execution(
            result=result_from_msg(result),
            observed=Observed(episode.observed_instruction, episode.image_digest),
            recording=recording,
            wall_time=time.monotonic() - began,
            policy_latency=tuple(episode.policy_latency),
        )

    def _run(self, trial: Trial, bag: str, start: float, scene: Scene) -> RunEpisode.Result:
        goal = RunEpisode.Goal(
            trial_id=trial.trial_id,
            instruction=trial.instance.instruction.text,
            seed=trial.seed,
            step_limit=self._task.step_limit,
            stop_on_success=self._stop_on_success,
            start=time_to_msg(start),
            start_pose=pose_to_msg(robot_start(self._task, scene)),
            recording=self._folder(bag),
        )
        heard = _Heard()
        # rclpy 9.1 registers a goal a second time after it has sent it; an answer that another thread takes in between
        # is lost. On the thread that takes the answers there is no between.
        try:
            sent = self._channel.do(
                lambda: self._episode.send_goal_async(goal, lambda _: heard.now()),
                self._parameters.answer_timeout,
            )
        except NoAnswer as error:
            raise BenchFault(Fault.SENSOR_LOST, str(error)) from None
        handle = self._wait(sent, heard)
        if not handle.accepted:
            raise BenchFault(Fault.SENSOR_LOST, f"'{self._parameters.rollout}' refused the episode")
        result = handle.get_result_async()
        try:
            return self._wait(result, heard, until=self._aborted).result
        except _Aborted:
            handle.cancel_goal_async()
            heard.now()
            return self._wait(result, heard).result

    def _wait(self, future: Any, heard: _Heard, until: Callable[[], bool] = lambda: False) -> Any:
        answer: Future[Any] = Future()
        future.add_done_callback(lambda done: answer.set_result(done.result()))
        while True:
            try:
                return answer.result(0.1)
            except FutureTimeout:
                if until():
                    raise _Aborted from None
                limit = 5.0 if self._aborted() else self._parameters.silence_timeout
                if heard.silence > limit:
                    raise BenchFault(
                        Fault.ABORTED if self._aborted() else Fault.SENSOR_LOST,
                        f"'{self._parameters.rollout}' was silent for {limit:g} s",
                    ) from None

    def _finish(self, episode: RunEpisode.Result, fault: Fault, detail: str) -> Any:
        request = FinishScoring.Request(
            steps=episode.steps,
            clamped_steps=episode.clamped_steps,
            stopped=episode.stopped,
            last_stamp=episode.last_stamp,
        )
        request.fault.code, request.fault.detail = int(fault), detail
        return self._ask(self._finish_scoring, request, Fault.SCORER_LOST).result

    def _open_bag(self, trial: Trial, attempt: int, start: float) -> str:
        if not self._parameters.recorder:
            return ""
        if self._to_stop is not None:
            # The recorder did not answer, so it may be recording still. What it has not received yet must not get
            # into the next bag.
            self._end_recording(self._to_stop)
        name = f"bags/{trial.trial_id}" + (f"_attempt{attempt}" if attempt else "")
        self._to_stop = StopRecording.Request()
        self._ask(
            self._start_recording,
            StartRecording.Request(bag=self._folder(name), after=time_to_msg(start)),
            Fault.RECORDER_LOST,
            timeout=self._parameters.recording_timeout,
        )
        return name

    def _folder(self, bag: str) -> str:
        """Return the bag as the recorder knows it; empty where nothing is recorded."""
        return str(self._run_folder / bag) if bag else ""

    def _end_recording(self, request: StopRecording.Request) -> StopRecording.Response:
        self._to_stop = request
        try:
            response = patient_call(self._stop_recording, request, self._parameters.recording_timeout)
        except NoAnswer as error:
            raise BenchFault(Fault.RECORDER_LOST, str(error)) from None
        self._to_stop = None
        return response

    def _published(self, episode: RunEpisode.Result) -> Sequence[TopicCount]:
        return (
            *(count for count in episode.published if count.topic in self._recorded),
            TopicCount(topic="trial", count=1),
            TopicCount(topic="trial_result", count=1),
        )

    def _close_bag(self, bag: str, published: Sequence[TopicCount]) -> Recording:
        if not bag:
            return Recording()
        response = _checked(self._end_recording(StopRecording.Request(expected=list(published))))
        if response.missing:
            lost = counts_in_words({c.topic: c.count for c in response.missing})
            raise BenchFault(Fault.RECORDER_LOST, f"{bag} misses {lost}")
        return Recording(bag=bag, messages=tuple((c.topic, c.count) for c in response.received))

    def _ask(
        self,
        client: Any,
        request: Any,
        silent: Fault,
        timeout: float | None = None,
    ) -> Any:
        try:
            response = call(client, request, timeout or self._parameters.answer_timeout)
        except NoAnswer as error:
            raise BenchFault(silent, str(error)) from None
        return _checked(response)


def _checked(response: Any) -> Any:
    fault, detail = fault_from_msg(response.fault)
    if fault is not Fault.NONE:
        raise BenchFault(fault, detail)
    return response


def _told(answer: DescribePolicy.Response | LoadPolicy.Response) -> ServingPolicy:
    return ServingPolicy(
        name=answer.description.name,
        file=answer.description.file,
        parameters=answer.description.parameters,
        load_time=answer.load_time,
        warm_up_time=None if math.isnan(answer.warm_up_time) else answer.warm_up_time,
    )


class _Aborted(Exception):
    """Somebody wants the episode to end."""


class _Heard:
    """When the other side was last heard of; written and read by different threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = time.monotonic()

    def now(self) -> None:
        with self._lock:
            self._last = time.monotonic()

    @property
    def silence(self) -> float:
        with self._lock:
            return time.monotonic() - self._last
