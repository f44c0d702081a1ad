"""The bench of the episode loop over a ROS graph."""

from __future__ import annotations

import time

from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from sensor_msgs.msg import Image
from simulation_interfaces.srv import StepSimulation

from robocontrast_ros.domain import Fault, Progress
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.episodes.loop import EpisodeRequest
from robocontrast_ros.messages.decoding import progress_from_msg, scene_from_msg
from robocontrast_ros.msg import Progress as ProgressMsg
from robocontrast_ros.msg import Scene as SceneMsg
from robocontrast_ros.nodes.conversions.commands import command_to_msg
from robocontrast_ros.nodes.conversions.domain import tool_pose_to_msg
from robocontrast_ros.nodes.conversions.sensors import reading_from_msg
from robocontrast_ros.nodes.conversions.types import message_class
from robocontrast_ros.nodes.rollout.inbox import Inbox
from robocontrast_ros.nodes.rollout.parameters import RolloutParameters
from robocontrast_ros.nodes.rollout.policy_client import LocalActions, PendingActions, PolicyClient
from robocontrast_ros.nodes.rollout.recorder_watch import RecorderWatch
from robocontrast_ros.nodes.runtime.channel import (
    FIRST_CALL_PERIOD,
    Call,
    Channel,
    DiscoveryProbe,
    call,
    fault_without_answer,
    first_call,
    wait_for,
)
from robocontrast_ros.nodes.runtime.intra_process import HandingPublisher
from robocontrast_ros.nodes.runtime.qos import RECORDED
from robocontrast_ros.policies.fit import check_fit
from robocontrast_ros.policies.protocol import Observation, PolicyDescription
from robocontrast_ros.robots.commands import RobotCommand
from robocontrast_ros.robots.controllers.registry import make_controller
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.robots.state_estimation import NotAtStart, make_state_estimator
from robocontrast_ros.srv import CaptureImages


class RosEpisodeBench:
    """The ``episodes.loop.EpisodeBench`` of a ROS graph.

    Attributes:
        profile: the robot.
        policy: what the policy that serves needs and answers with.
        controller: what carries out its actions.
    """

    def __init__(self, owner: Node, parameters: RolloutParameters) -> None:
        """Connect to the policy server, the simulator, the scorer and the robot.

        Raises:
            BenchFault: one of them does not come up.
            ConfigurationError: robot and policy do not fit.
        """
        self._parameters = parameters
        self.profile = load_profile(parameters.robot)
        self._estimator = make_state_estimator(self.profile)
        self._channel = Channel(owner)
        node = self._channel.node
        self._server = PolicyClient(node, parameters, owner.get_logger())
        self._step = node.create_client(StepSimulation, parameters.step_simulation)
        capture = parameters.capture_images
        self._capture = node.create_client(CaptureImages, capture) if capture else None
        self._tool_pose = HandingPublisher(node, PoseStamped, "tool_pose", RECORDED)
        command = self.profile.command
        self._command = node.create_publisher(message_class(command.type), command.topic, RECORDED)
        self._recorder = RecorderWatch(node, self.profile, parameters)
        self._inbox = Inbox(node)
        self._inbox.subscribe(ProgressMsg, "progress")
        self._inbox.subscribe(message_class(self.profile.state.type), self.profile.state.topic)
        self._stamp = 0.0
        self._channel.start()
        self._server.wait(parameters.startup_timeout)
        with fault_without_answer(Fault.SIMULATOR_LOST):
            for client in filter(None, (self._step, self._capture)):
                wait_for(client, parameters.startup_timeout)
        self._take(self._server.describe(first_call))
        self._discover()

    def close(self) -> None:
        """Free the channel."""
        self._server.close()
        self._channel.close()

    def follow_policy(self) -> None:
        """Ask which policy serves; where it is another than before, connect to what it needs.

        Raises:
            BenchFault: the policy server, or a node that publishes what it needs, does not answer.
            ConfigurationError: robot and policy do not fit.
        """
        policy = self._server.describe()
        if policy == self.policy:
            return
        before = self._inbox.topics
        self._take(policy)
        if self._inbox.topics == before:
            return
        # A publisher keeps nothing for a subscriber that it has not discovered. A node that answers a client that was
        # made after a subscription has discovered the subscription, too.
        for name in self._parameters.sources:
            with fault_without_answer(Fault.SENSOR_LOST):
                DiscoveryProbe(self._channel.node, name).wait(self._parameters.startup_timeout)

    def begin_recording(self, bag: str) -> None:
        """Count from now on what is published; take no step while the recorder of a bag is too far behind."""
        self._recorder.begin(bag)

    def published(self) -> dict[str, int]:
        """Return how many messages were published on each topic since then, as far as is known."""
        return self._recorder.published

    def begin(self, request: EpisodeRequest) -> None:
        """Tell the estimator where the robot starts."""
        self._estimator.begin(request.start_pose)

    def reset_policy(self, instruction: str, seed: int) -> None:
        """Tell the policy the instruction."""
        self._server.reset(instruction, seed)

    def step(self, how: Call = call) -> None:
        """Let one control period of simulated time pass, once the recorder is not too far behind."""
        self._recorder.wait()
        request = StepSimulation.Request(steps=self._parameters.steps_per_control)
        with fault_without_answer(Fault.SIMULATOR_LOST):
            result = how(self._step, request, self._parameters.simulator_timeout).result
        if result.result != result.RESULT_OK:
            raise BenchFault(Fault.SIMULATOR_LOST, f"it refused to step: {result.error_message}")

    def observe(self, after: float) -> Observation:
        """Return the observation of the control step that follows a time [s], and publish the tool's pose."""
        due = after + 0.5 * self._parameters.control_period
        received = self._inbox.wait(self._sensors, due, self._parameters.sensor_timeout)
        try:
            reading = reading_from_msg(received[self.profile.state.topic])
            robot = self._estimator.update(reading)
        except NotAtStart as error:
            raise BenchFault(Fault.ROBOT_NOT_READY, str(error)) from None
        except ValueError as error:
            raise BenchFault(Fault.SENSOR_LOST, str(error)) from None
        self._stamp = reading.stamp
        self._tool_pose.publish(tool_pose_to_msg(robot.pose, self.profile.world_frame, self._stamp))
        self._recorder.count(self._recorder.steps)
        if self._capture is None:
            self._recorder.count(self._recorder.images)
        return Observation(
            stamp=self._stamp,
            images={},
            joint_names=robot.joint_names,
            joint_positions=robot.joint_positions,
            tool_pose=robot.pose,
            scene=scene_from_msg(received["scene"]) if self.policy.privileged else None,
        )

    def request_actions(self, observation: Observation) -> PendingActions | LocalActions:
        """Ask the policy, with images of this control step, without waiting for it."""
        self._capture_images()
        topics, due = tuple(self._cameras.values()), observation.stamp - 0.5 * self._parameters.control_period
        received = self._inbox.wait(topics, due, self._parameters.sensor_timeout)
        images = {name: received[topic] for name, topic in self._cameras.items()}
        return self._server.request_actions(observation, images, self.profile.world_frame)

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
        self._recorder.count(self._recorder.commands)

    def _capture_images(self, how: Call = call) -> None:
        """Have images taken, where they do not come at every step."""
        if self._capture is None:
            return
        with fault_without_answer(Fault.SIMULATOR_LOST):
            how(self._capture, CaptureImages.Request(), self._parameters.simulator_timeout)
        self._recorder.count(self._recorder.images)

    def _discover(self) -> None:
        """Step the simulator until all sensors of a step arrive, and the scorer is there.

        Publishers do not wait for a subscriber that they have not discovered, and in lockstep a sensor
        message that is lost never comes again.
        """

        def step_and_capture() -> None:
            self.step(first_call)
            self._capture_images(first_call)

        limit = self._parameters.startup_timeout
        deadline = time.monotonic() + limit
        topics = (*self._sensors, *self._cameras.values())
        while not (
            self._inbox.wait_for_new(topics, FIRST_CALL_PERIOD, step_and_capture)
            and self._tool_pose.subscribers() > 0
            and self._channel.node.count_publishers("progress") > 0
        ):
            if time.monotonic() > deadline:
                what = ", ".join((*topics, "progress"))
                raise BenchFault(Fault.SENSOR_LOST, f"not all of {what} came up within {limit:g} s")

    def _take(self, policy: PolicyDescription) -> None:
        """Make the controller of a policy, and subscribe to what it needs.

        Raises:
            ConfigurationError: robot and policy do not fit; the policy before stays.
        """
        period = self._parameters.control_period
        # The session has checked which cameras are in use, and how large their images are.
        topics = {camera.name: camera.image_topic for camera in self.profile.cameras}
        served = f"what '{self._parameters.policy_server}' serves"
        check_fit(policy, self.profile, 1.0 / period, dict.fromkeys(topics), served)
        self.controller = make_controller(self.profile, policy.action_space, period)
        self.policy, self._cameras = policy, {name: topics[name] for name in policy.cameras}
        for topic in self._cameras.values():
            self._inbox.subscribe(Image, topic)
        if policy.privileged:
            self._inbox.subscribe(SceneMsg, "scene")
        self._sensors = (self.profile.state.topic, *(("scene",) if policy.privileged else ()))
