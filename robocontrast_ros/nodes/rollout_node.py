"""rollout: the robot's closed loop at the control rate, in lockstep with the simulator."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped
from pydantic import Field
from rclpy.action import ActionServer, CancelResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from sensor_msgs.msg import Image
from simulation_interfaces.srv import StepSimulation

from robocontrast_ros.action import RunEpisode
from robocontrast_ros.bags.recorder_lag import SMALLEST_DEPTH, RecorderLag
from robocontrast_ros.configuration import ConfigurationError, record
from robocontrast_ros.domain import Fault, Observed, Progress
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.episodes.loop import EpisodeReport, EpisodeRequest, run_episode
from robocontrast_ros.messages.decoding import pose_from_msg, progress_from_msg, scene_from_msg
from robocontrast_ros.msg import Progress as ProgressMsg
from robocontrast_ros.msg import RecordingStatus, TopicCount
from robocontrast_ros.msg import Scene as SceneMsg
from robocontrast_ros.nodes.conversions.commands import command_to_msg
from robocontrast_ros.nodes.conversions.domain import (
    fault_from_msg,
    fault_to_msg,
    header,
    pose_to_msg,
    progress_to_msg,
)
from robocontrast_ros.nodes.conversions.observation import image_to_array, observation_to_msg
from robocontrast_ros.nodes.conversions.policy import description_from_msg
from robocontrast_ros.nodes.conversions.sensors import reading_from_msg
from robocontrast_ros.nodes.conversions.time import seconds, time_to_msg
from robocontrast_ros.nodes.conversions.types import message_class
from robocontrast_ros.nodes.runtime.channel import (
    FIRST_CALL_PERIOD,
    Acquaintance,
    Call,
    Channel,
    NoAnswer,
    PendingResponse,
    call,
    first_call,
    patient_call,
    wait_for,
)
from robocontrast_ros.nodes.runtime.intra_process import HandingPublisher, subscribe
from robocontrast_ros.nodes.runtime.main import run_node
from robocontrast_ros.nodes.runtime.parameters import LedParameters, declare_record
from robocontrast_ros.nodes.runtime.qos import LATCHED, LOCKSTEP, RECORDED
from robocontrast_ros.policies.fit import check_fit
from robocontrast_ros.policies.protocol import Observation, PolicyDescription, PolicyFault
from robocontrast_ros.policies.serving import direct_line
from robocontrast_ros.policies.serving.direct_line import Caller, CallerHere, LineLost
from robocontrast_ros.policies.serving.runner import LOAD_TIMEOUT, Answer
from robocontrast_ros.robots.commands import RobotCommand
from robocontrast_ros.robots.controllers.registry import make_controller
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.robots.state_estimation import NotAtStart, make_state_estimator
from robocontrast_ros.srv import Act, CaptureImages, DescribePolicy, ResetPolicy

FEEDBACK_EVERY = 10
"""Control steps between two words of feedback: it says that the episode is alive; `progress` has every step."""


@record
class RolloutParameters(LedParameters):
    """Parameters of the rollout."""

    robot: Path = Field(description="Parameter file of the robot.")
    policy_server: str = Field(default="policy_server", description="Name of the policy server's node.")
    step_simulation: str = Field(default="simulator/step_simulation", description="StepSimulation service.")
    capture_images: str = Field(
        default="",
        description="CaptureImages service, asked before the policy is; empty where images come at every step.",
    )
    steps_per_control: int = Field(ge=1, description="Physics steps in one control period.")
    control_period: float = Field(gt=0.0, description="Simulated time of one control step [s].")
    policy_timeout: float = Field(
        default=15.0, gt=0.0, description="Silence after which the policy server counts as gone [s]."
    )
    load_timeout: float = Field(
        default=LOAD_TIMEOUT,
        gt=0.0,
        description="What a reset may take longer, for a policy that hung is then loaded afresh [s].",
    )
    sources: tuple[str, ...] = Field(
        default=("simulator", "sim_bridge"),
        description="Nodes that publish images and the scene: when another policy serves, which needs more of them, "
        "its first episode begins once they know of it.",
    )
    simulator_timeout: float = Field(
        default=30.0, gt=0.0, description="Silence after which the simulator counts as gone [s]."
    )
    sensor_timeout: float = Field(
        default=10.0, gt=0.0, description="Wait for the sensors and the score of a control step [s]."
    )
    startup_timeout: float = Field(
        default=90.0, gt=0.0, description="Time for the other nodes to come up [s]."
    )
    recorder: str = Field(default="recorder", description="Name of the recorder's node.")
    recording_timeout: float = Field(
        default=30.0, gt=0.0, description="Wait for a recorder that is too far behind, wall clock [s]."
    )
    image_depth: int = Field(
        default=SMALLEST_DEPTH,
        ge=1,
        description="Images that a camera's publisher keeps for subscribers that are behind: the recorder may be "
        "behind by half of them.",
    )


class Inbox:
    """The latest message of each input, and a wait for one that is new enough."""

    def __init__(self) -> None:
        """Start empty."""
        self._changed = threading.Condition()
        self._latest: dict[str, tuple[float, Any]] = {}
        self._received: dict[str, int] = {}

    def put(self, key: str, message: Any) -> None:
        """Take a message with a header."""
        with self._changed:
            self._latest[key] = (seconds(message.header.stamp), message)
            self._received[key] = self._received.get(key, 0) + 1
            self._changed.notify_all()

    def wait(self, keys: tuple[str, ...], stamp: float, timeout: float) -> dict[str, Any]:
        """Return the latest message of each key, all of them of that time [s] or later.

        Raises:
            BenchFault: one did not come within the time [s].
        """
        with self._changed:
            if not self._changed.wait_for(lambda: not self._missing(keys, stamp), timeout):
                raise BenchFault(
                    Fault.SENSOR_LOST,
                    f"nothing on {', '.join(self._missing(keys, stamp))} of {stamp:.3f} s within {timeout:g} s",
                )
            return {key: self._latest[key][1] for key in keys}

    def wait_for_news(self, keys: tuple[str, ...], timeout: float, cause: Callable[[], None]) -> bool:
        """Do something that brings a message of each key, and tell whether they came within the time [s]."""
        with self._changed:
            before = dict(self._received)
        cause()

        def all_came() -> bool:
            return all(self._received.get(key, 0) > before.get(key, 0) for key in keys)

        with self._changed:
            return self._changed.wait_for(all_came, timeout)

    def _missing(self, keys: tuple[str, ...], stamp: float) -> list[str]:
        return [key for key in keys if key not in self._latest or self._latest[key][0] < stamp]


class RosEpisodeBench:
    """The ``episodes.loop.EpisodeBench`` of a ROS graph."""

    def __init__(self, owner: Node, parameters: RolloutParameters) -> None:
        """Connect to the policy server, the simulator, the scorer and the robot.

        Raises:
            BenchFault: the policy server does not come up.
            ConfigurationError: robot and policy do not fit.
        """
        self._parameters = parameters
        self.profile = load_profile(parameters.robot)
        self._estimator = make_state_estimator(self.profile)
        self._channel, self._log = Channel(owner), owner.get_logger()
        self._inbox = Inbox()
        node, server = self._channel.node, parameters.policy_server
        self._act = node.create_client(Act, f"{server}/act")
        self._reset = node.create_client(ResetPolicy, f"{server}/reset")
        self._step = node.create_client(StepSimulation, parameters.step_simulation)
        capture = parameters.capture_images
        self._capture = node.create_client(CaptureImages, capture) if capture else None
        # Made last and asked first: when the server knows this client, it knows those before it.
        self._describe = node.create_client(DescribePolicy, f"{server}/describe")
        self._tool_pose = HandingPublisher(node, PoseStamped, "tool_pose", RECORDED)
        self._command = node.create_publisher(
            message_class(self.profile.command.type), self.profile.command.topic, RECORDED
        )
        depths = {camera.image_topic: parameters.image_depth for camera in self.profile.cameras}
        self._recorder_lag = RecorderLag(depths, parameters.recording_timeout)
        node.create_subscription(
            RecordingStatus,
            f"{parameters.recorder}/status",
            lambda m: self._recorder_lag.report(m.bag, {c.topic: c.count for c in m.received}),
            LATCHED,
        )
        self._subscribed: set[str] = set()
        self._subscribe(ProgressMsg, "progress")
        self._subscribe(message_class(self.profile.state.type), self.profile.state.topic)
        self._line: Caller | CallerHere | None = None
        self._channel.start()
        self._wait_for_services()
        self._take(self._ask_for_policy(first_call))
        self._stamp = 0.0
        self.begin_recording("")
        self._get_to_know_the_others()

    def close(self) -> None:
        """Free the channel."""
        self._hang_up()
        self._channel.close()

    def follow_policy(self) -> None:
        """Ask which policy serves; where it is another than before, connect to what it needs.

        Raises:
            BenchFault: the policy server, or a node that publishes what it needs, does not answer.
            ConfigurationError: robot and policy do not fit.
        """
        policy = self._ask_for_policy(call)
        if policy == self.policy:
            return
        known = set(self._subscribed)
        self._take(policy)
        if self._subscribed != known:
            # A publisher keeps nothing for a subscriber that it does not know. Who answers a client that was made
            # after a subscription knows of that, too.
            for name in self._parameters.sources:
                try:
                    Acquaintance(self._channel.node, name).wait(self._parameters.startup_timeout)
                except NoAnswer as error:
                    raise BenchFault(Fault.SENSOR_LOST, str(error)) from None

    def begin_recording(self, bag: str) -> None:
        """Count from now on what is published; take no step while the recorder of a bag is too far behind."""
        self._observations = self._captures = self._commands = 0
        self._recorder_lag.begin(bag)

    def published(self) -> dict[str, int]:
        """Return how many messages were published on each topic since then, as far as is known."""
        images = self._observations if self._capture is None else self._captures
        cameras = (t for camera in self.profile.cameras for t in (camera.image_topic, camera.info_topic))
        steps = (
            "clock",
            *(topic for topic, _ in self.profile.driver_topics),
            "tool_pose",
            "scene",
            "progress",
        )
        return {
            **dict.fromkeys(cameras, images),
            **dict.fromkeys(steps, self._observations),
            self.profile.command.topic: self._commands,
        }

    def begin(self, request: EpisodeRequest) -> None:
        """Tell the estimator where the robot starts."""
        self._estimator.begin(request.start_pose)

    def reset_policy(self, instruction: str, seed: int) -> None:
        """Tell the policy the instruction."""
        request = ResetPolicy.Request(instruction=instruction, seed=seed)
        limit = self._parameters.policy_timeout + self._parameters.load_timeout
        try:
            _raise(patient_call(self._reset, request, limit).fault)
        except NoAnswer as error:
            raise BenchFault(Fault.POLICY_SERVER_LOST, str(error)) from None

    def step(self, how: Call = call) -> None:
        """Let one control period of simulated time pass, once the recorder is not too far behind."""
        self._recorder_lag.wait(self.published())
        request = StepSimulation.Request(steps=self._parameters.steps_per_control)
        try:
            result = how(self._step, request, self._parameters.simulator_timeout).result
        except NoAnswer as error:
            raise BenchFault(Fault.SIMULATOR_LOST, str(error)) from None
        if result.result != result.RESULT_OK:
            raise BenchFault(Fault.SIMULATOR_LOST, f"it refused to step: {result.error_message}")

    def observe(self, after: float) -> Observation:
        """Return the observation of the control step that follows a time [s], and publish the tool's pose."""
        due = after + 0.5 * self._parameters.control_period
        self._received = self._inbox.wait(self._sensors, due, self._parameters.sensor_timeout)
        try:
            reading = reading_from_msg(self._received[self.profile.state.topic])
            robot = self._estimator.update(reading)
        except NotAtStart as error:
            raise BenchFault(Fault.ROBOT_NOT_READY, str(error)) from None
        except ValueError as error:
            raise BenchFault(Fault.SENSOR_LOST, str(error)) from None
        self._stamp = reading.stamp
        self._tool_pose.publish(
            PoseStamped(header=header(self.profile.world_frame, self._stamp), pose=pose_to_msg(robot.pose))
        )
        self._observations += 1
        return Observation(
            stamp=self._stamp,
            images={},
            joint_names=robot.joint_names,
            joint_positions=robot.joint_positions,
            tool_pose=robot.pose,
            scene=scene_from_msg(self._received["scene"]) if self.policy.privileged else None,
        )

    def request_actions(self, observation: Observation) -> PendingActions | ActionsOnLine:
        """Ask the policy, with images of this control step, without waiting for it."""
        self._capture_images()
        topics, due = tuple(self._cameras.values()), observation.stamp - 0.5 * self._parameters.control_period
        received = self._inbox.wait(topics, due, self._parameters.sensor_timeout)
        images = {name: received[topic] for name, topic in self._cameras.items()}
        # The line carries no ground truth.
        if self._line is not None and observation.scene is None:
            return ActionsOnLine(self._line, observation, images)
        message = observation_to_msg(observation, self.profile.world_frame, images)
        return PendingActions(
            PendingResponse(self._act, Act.Request(observation=message)),
            observation.stamp,
            self._parameters.policy_timeout,
        )

    def progress(self, stamp: float) -> Progress:
        """Return the score of the scene of a time [s]."""
        due = stamp - 0.5 * self._parameters.control_period
        try:
            received = self._inbox.wait(("progress",), due, self._parameters.sensor_timeout)
        except BenchFault as error:
            raise BenchFault(Fault.SCORER_LOST, error.detail) from None
        return progress_from_msg(received["progress"])

    def command(self, command: RobotCommand) -> None:
        """Send a command, stamped with the observation that it answers."""
        self._command.publish(command_to_msg(command, self._stamp))
        self._commands += 1

    def _capture_images(self, how: Call = call) -> None:
        if self._capture is None:
            return
        try:
            how(self._capture, CaptureImages.Request(), self._parameters.simulator_timeout)
        except NoAnswer as error:
            raise BenchFault(Fault.SIMULATOR_LOST, str(error)) from None
        self._captures += 1

    def _step_and_capture(self) -> None:
        self.step(first_call)
        self._capture_images(first_call)

    def _subscribe(self, kind: type, topic: str) -> None:
        if topic in self._subscribed:
            return
        self._subscribed.add(topic)
        subscribe(self._channel.node, kind, topic, lambda m: self._inbox.put(topic, m), LOCKSTEP)

    def _get_to_know_the_others(self) -> None:
        """Step the simulator until all sensors of a step arrive, and the scorer is there.

        Publishers do not wait for a subscriber that they have not discovered, and in lockstep a sensor
        message that is lost never comes again.
        """
        deadline = time.monotonic() + self._parameters.startup_timeout
        everything = (*self._sensors, *self._cameras.values())
        while not (
            self._inbox.wait_for_news(everything, FIRST_CALL_PERIOD, self._step_and_capture)
            and self._tool_pose.subscribers() > 0
            and self._channel.node.count_publishers("progress") > 0
        ):
            if time.monotonic() > deadline:
                limit = self._parameters.startup_timeout
                raise BenchFault(
                    Fault.SENSOR_LOST,
                    f"not all of {', '.join(everything)}, progress came up within {limit:g} s",
                )

    def _wait_for_services(self) -> None:
        try:
            for client in filter(None, (self._describe, self._reset, self._act, self._step, self._capture)):
                wait_for(client, self._parameters.startup_timeout)
        except NoAnswer as error:
            raise BenchFault(Fault.POLICY_SERVER_LOST, str(error)) from None

    def _ask_for_policy(self, how: Call) -> PolicyDescription:
        try:
            # At start-up the policy may just be being loaded.
            limit = self._parameters.policy_timeout + (
                self._parameters.load_timeout if how is first_call else 0.0
            )
            answer = how(self._describe, DescribePolicy.Request(), limit)
        except NoAnswer as error:
            raise BenchFault(Fault.POLICY_SERVER_LOST, str(error)) from None
        _raise(answer.fault)
        self._call_line(answer.line)
        return description_from_msg(answer.description)

    def _call_line(self, name: str) -> None:
        """Keep a connection to the policy server itself, where it is on this machine."""
        if self._line is not None and self._line.serves(name):
            return
        self._hang_up()
        with contextlib.suppress(LineLost):
            self._line = direct_line.call(name, self._parameters.policy_timeout)
            self._log.info("the policy server is on this machine, and is asked directly")

    def _hang_up(self) -> None:
        if self._line is not None:
            self._line.close()
        self._line = None

    def _take(self, policy: PolicyDescription) -> None:
        """Make the controller of a policy, and subscribe to what it needs.

        Raises:
            ConfigurationError: robot and policy do not fit; the policy before stays.
        """
        period = self._parameters.control_period
        # Which of them are in use, and how large their images are, the session has checked.
        topics = {camera.name: camera.image_topic for camera in self.profile.cameras}
        check_fit(
            policy,
            self.profile,
            1.0 / period,
            dict.fromkeys(topics),
            f"what '{self._parameters.policy_server}' serves",
        )
        controller = make_controller(self.profile, policy.action_space, period)
        cameras = {name: topics[name] for name in policy.cameras}
        self.policy, self.controller, self._cameras = policy, controller, cameras
        for topic in cameras.values():
            self._subscribe(Image, topic)
        if policy.privileged:
            self._subscribe(SceneMsg, "scene")
        self._sensors = (self.profile.state.topic, *(("scene",) if policy.privileged else ()))


class PendingActions:
    """Actions that the policy server was asked for."""

    def __init__(self, response: PendingResponse, stamp: float, timeout: float) -> None:
        """Take the pending response, the observation's stamp, and the limit of waiting for it [s]."""
        self._response, self._stamp, self._timeout = response, stamp, timeout

    def result(self) -> Answer:
        """Wait for the actions."""
        try:
            answer = self._response.result(self._timeout)
        except NoAnswer as error:
            raise BenchFault(Fault.POLICY_SERVER_LOST, str(error)) from None
        _raise(answer.fault)
        stamp = seconds(answer.stamp)
        if stamp != self._stamp:
            raise PolicyFault(
                Fault.POLICY_TIMEOUT,
                f"late: it answered the observation of {stamp:.3f} s, asked about that of {self._stamp:.3f} s",
            )
        actions = np.asarray(answer.actions, dtype=np.float64).reshape(answer.count, answer.size)
        return Answer(actions, answer.latency, Observed(answer.observed_instruction, answer.image_digest))


class ActionsOnLine:
    """Actions that the policy server was asked for on its direct line."""

    def __init__(self, line: Caller | CallerHere, observation: Observation, images: dict[str, Image]) -> None:
        """Ask for them, with the images as they were received.

        Raises:
            BenchFault: an image cannot be read, or the server is gone.
        """
        try:
            pixels = {name: image_to_array(image) for name, image in images.items()}
        except ValueError as error:
            raise BenchFault(Fault.SENSOR_LOST, str(error)) from None
        self._line = line
        with _server_lost():
            self._number = line.ask(replace(observation, images=pixels))

    def result(self) -> Answer:
        """Wait for the actions."""
        try:
            with _server_lost():
                return self._line.answer(self._number)
        except PolicyFault as error:
            raise _named(error.fault, error.detail) from None


@contextlib.contextmanager
def _server_lost() -> Iterator[None]:
    try:
        yield
    except LineLost as error:
        raise BenchFault(Fault.POLICY_SERVER_LOST, str(error)) from None


class Rollout(Node):
    """Serves RunEpisode."""

    threads = 2

    def __init__(self) -> None:
        """Declare the parameters; wait for the policy server and check that it fits the robot."""
        super().__init__("rollout")
        self._node_parameters = declare_record(self, RolloutParameters)
        self._bench = RosEpisodeBench(self, self._node_parameters)
        self._server = ActionServer(
            self,
            RunEpisode,
            "~/run_episode",
            self._run,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
            callback_group=ReentrantCallbackGroup(),
        )

    def on_end(self) -> None:
        """Free the channel before the process ends."""
        self._bench.close()

    def _run(self, handle: ServerGoalHandle) -> RunEpisode.Result:
        goal = handle.request
        request = EpisodeRequest(
            trial_id=goal.trial_id,
            instruction=goal.instruction,
            seed=goal.seed,
            step_limit=goal.step_limit,
            stop_on_success=goal.stop_on_success,
            start=seconds(goal.start),
            start_pose=pose_from_msg(goal.start_pose),
        )
        frame = self._bench.profile.world_frame

        def feedback(step: int, progress: Progress) -> None:
            if step % FEEDBACK_EVERY:
                return
            handle.publish_feedback(RunEpisode.Feedback(step=step, progress=progress_to_msg(progress, frame)))

        self._bench.begin_recording(goal.recording)
        try:
            self._bench.follow_policy()
        except (BenchFault, ConfigurationError) as error:
            report = EpisodeReport.not_begun(request, error)
        else:
            report = run_episode(
                self._bench,
                self._bench.controller,
                self._bench.policy,
                request,
                feedback,
                lambda: handle.is_cancel_requested,
            )
        if handle.is_cancel_requested:
            handle.canceled()
        else:
            handle.succeed()
        return self._result(report)

    def _result(self, report: EpisodeReport) -> RunEpisode.Result:
        return RunEpisode.Result(
            fault=fault_to_msg(report.fault, report.detail),
            steps=report.steps,
            clamped_steps=report.clamped_steps,
            stopped=report.stopped,
            last_stamp=time_to_msg(report.last_stamp),
            observed_instruction=report.observed.instruction,
            image_digest=report.observed.image_digest,
            published=[
                TopicCount(topic=topic, count=count) for topic, count in self._bench.published().items()
            ],
            policy_latency=list(report.policy_latency),
        )


def _raise(message: Any) -> None:
    fault, detail = fault_from_msg(message)
    if fault is not Fault.NONE:
        raise _named(fault, detail)


def _named(fault: Fault, detail: str) -> PolicyFault | BenchFault:
    """Return what is raised for a fault that the policy server tells."""
    return PolicyFault(fault, detail) if fault.of_policy else BenchFault(fault, detail)


def main() -> None:
    """Run the node."""
    run_node(Rollout)
