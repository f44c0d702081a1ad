"""Assembly of an episode over a ROS graph from robot, time, surroundings and policy."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Mapping

from rclpy.node import Node
from simulation_interfaces.srv import StepSimulation

from robocontrast_ros.configuration import load_plugin
from robocontrast_ros.domain import Fault, Pose, nanoseconds
from robocontrast_ros.episodes.assembly import EpisodeAssembly
from robocontrast_ros.episodes.bench import BenchFault, too_late
from robocontrast_ros.graph.parameters.rollout import RolloutParameters
from robocontrast_ros.nodes.bench.asking import answer, checked
from robocontrast_ros.nodes.conversions.domain import pose_to_msg
from robocontrast_ros.nodes.rollout.drivers.faults import Kind, absence, robot_fault
from robocontrast_ros.nodes.rollout.drivers.outside_limits import OutsideLimits
from robocontrast_ros.nodes.rollout.guard import Guard, GuardedRobot, WatchedPacer, WatchedPolicy
from robocontrast_ros.nodes.rollout.inbox import Inbox
from robocontrast_ros.nodes.rollout.policy_client import PolicyClient
from robocontrast_ros.nodes.rollout.publishers import offers
from robocontrast_ros.nodes.rollout.recorder_watch import RecorderWatch
from robocontrast_ros.nodes.rollout.surroundings import TopicSurroundings
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
from robocontrast_ros.nodes.runtime.diagnostics import Report, StreamReport
from robocontrast_ros.nodes.runtime.simulated_clock import SLACK, SimulatedClock
from robocontrast_ros.policies.fit import check_fit
from robocontrast_ros.policies.protocol import PolicyDescription
from robocontrast_ros.robots.kinds import make_controller, make_safety_filter, make_state_estimator
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.robots.speed_scaling import SpeedScaling
from robocontrast_ros.srv import CaptureImages, MoveCameras


class RosEpisodeBench:
    """Finds the other nodes and keeps the episode that consists of them.

    Attributes:
        profile: the robot.
        episode: the ``episodes.loop.EpisodeBench``.
        controller: carries out the policy's actions.
        guard: the heartbeat, and the watchdog's reports; None in lockstep.
    """

    def __init__(self, owner: Node, parameters: RolloutParameters) -> None:
        """Connect to the policy server, the simulator, the scorer and the robot.

        Raises:
            BenchFault: one of them does not come up.
            ConfigurationError: robot and policy do not fit, or a plug-in is unknown.
        """
        self._parameters, period = parameters, parameters.control_period
        self.profile = profile = load_profile(parameters.robot)
        source = f"parameters of node '{owner.get_name()}'"
        pacer = load_plugin("pacers", parameters.pacing, source, "pacing")
        robot = load_plugin("robot_ports", profile.port, str(parameters.robot), "port")
        self._channel = Channel(owner)
        node = self._channel.node
        self._server = PolicyClient(node, profile.world_frame, parameters, owner.get_logger())
        capture = parameters.capture_images
        self._step = node.create_client(StepSimulation, parameters.step_simulation) if pacer.steps_world else None
        self._capture = node.create_client(CaptureImages, capture) if capture else None
        self._move = node.create_client(MoveCameras, parameters.move_cameras) if parameters.move_cameras else None
        self._clock = None
        if parameters.clock_topic:
            step, limit = parameters.physics_step, parameters.simulator_timeout
            self._clock = SimulatedClock(node, parameters.clock_topic, step, limit)
        self._inbox = Inbox(node, lockstep=pacer.steps_world)
        self._recorder = RecorderWatch(node, profile, parameters, pacer.steps_world)
        self._robot = robot(node, profile, parameters, self._inbox, self._recorder)
        self._surroundings = TopicSurroundings(
            node,
            profile,
            parameters,
            self._inbox,
            self._recorder,
            self._capture_images,
            self._move_cameras,
            hears_people=not pacer.steps_world,
        )
        self._limits: OutsideLimits | None = getattr(self._robot, "limits", None)
        self._speed = SpeedScaling(parameters.speed_scaling)
        self._pacer = pacer(period, lambda: self._step_simulation(parameters.steps_per_control))
        self.guard = Guard(node, parameters, self._inbox, self._robot) if parameters.watchdog else None
        self._channel.start()
        if self.guard is not None:
            self.guard.start(parameters.startup_timeout)
        self._server.wait(parameters.startup_timeout)
        with fault_without_answer(Fault.SIMULATOR_LOST):
            for client in filter(None, (self._step, self._capture, self._move)):
                wait_for(client, parameters.startup_timeout)
        self._inputs: tuple[str, ...] = ()
        self._unprobed = self._unchecked = False
        self._streams: dict[str, StreamReport] = {}
        self._take(self._server.describe(first_call))
        self.episode = self._assembled(period)
        self._discover()

    def _assembled(self, period: float) -> EpisodeAssembly:
        robot, pacer, policy, guard = self._robot, self._pacer, self._server, self.guard
        if guard is not None:
            robot, pacer, policy = GuardedRobot(robot, guard), WatchedPacer(pacer, guard), WatchedPolicy(policy, guard)
        estimator, safety = make_state_estimator(self.profile), make_safety_filter(self.profile, period)
        return EpisodeAssembly(robot, estimator, pacer, self._surroundings, policy, period, safety)

    def reports(self) -> dict[str, Report]:
        """Return the rates of the robot's state and of each camera's images, by name for `diagnostics`."""
        topics = {"robot state": self._robot.topic}
        topics |= {f"camera {name}": topic.name for name, topic in self._surroundings.cameras.items()}
        expected = None if self._step is not None else 1.0 / self._parameters.control_period
        found, now = {}, time.monotonic()
        for name, topic in topics.items():
            stream = self._streams.setdefault(topic, StreamReport(topic, expected))
            found[name] = stream.look(self._inbox.received(topic), now)
        return found

    def close(self) -> None:
        """Release the robot's driver, and free the channel."""
        if self.guard is not None:
            self.guard.close()
        close = getattr(self._robot, "close", None)
        if close is not None:
            with contextlib.suppress(BenchFault):
                close()
        self._channel.close()

    @property
    def pose_source(self) -> str:
        """The source of a base's pose, in words; empty if the robot's file leaves no choice."""
        return getattr(self._robot, "pose_source", "")

    @property
    def speed_scaling(self) -> float:
        """The lowest share of full speed of the episode, 0 to 1; NaN if it is not known, and in simulation."""
        return math.nan if self._limits is None else self._limits.lowest

    def speed_scaling_words(self) -> str:
        """Return what slows the robot from outside, and the cure, or that it is unknown; empty at full speed."""
        return "" if self._limits is None else self._limits.words()

    def require_speed(self) -> None:
        """Refuse to begin if the robot is slowed from outside more than the session allows.

        Raises:
            BenchFault: ROBOT_FAULT, with the cure.
        """
        if self._limits is not None and (reason := self._speed.starts(self._limits.share)):
            raise robot_fault(f"{reason}; {self._limits.words()}")

    def slowed(self) -> str:
        """Return a message, with the cure, if the robot was slowed more than the session allows; else empty."""
        reason = self._speed.voids(self.speed_scaling)
        return f"{reason}; {self._limits.lowest_words}" if reason else ""

    def follow_policy(self) -> None:
        """Ask for the serving policy; if it has changed, connect to its inputs.

        Raises:
            BenchFault: the policy server, or a node that publishes an input, does not answer; or a camera of the policy
                does not agree with the robot's file and the session.
            ConfigurationError: robot and policy do not fit.
        """
        policy = self._server.describe()
        if policy != self._server.description:
            before = self._inbox.topics
            self._take(policy)
            self._unprobed |= self._inbox.topics != before
            self._unchecked = self._step is None
        if self._unprobed:
            self._probe_sources()
            self._unprobed = False
        if self._unchecked:
            self._check_cameras()
            self._unchecked = False

    def _check_cameras(self) -> None:
        """Wait for an image of each camera that the policy needs, and check them."""
        limit = self._parameters.sensor_timeout
        topics = tuple(topic.name for topic in self._surroundings.cameras.values())
        if topics and not self._inbox.wait_for_new(topics, limit, lambda: self._capture_images(first_call)):
            raise too_late(Fault.SENSOR_LOST, f"not all of {', '.join(topics)} came within {limit:g} s")
        self._surroundings.check_cameras()

    def begin_recording(self, bag: str) -> None:
        """Count published messages from now on; take no step while the recorder of a bag is too far behind."""
        self._recorder.begin(bag)

    def published(self) -> dict[str, int]:
        """Return the number of messages published on each topic since then, as far as it is known."""
        return self._recorder.published

    def _step_simulation(self, steps: int, how: Call = call) -> None:
        """Let a number of physics steps pass, once the recorder is not too far behind."""
        self._recorder.wait()
        request = StepSimulation.Request(steps=steps)

        def act() -> None:
            with fault_without_answer(Fault.SIMULATOR_LOST):
                result = how(self._step, request, self._parameters.simulator_timeout).result
            if result.result != result.RESULT_OK:
                raise BenchFault(Fault.SIMULATOR_LOST, f"it refused to step: {result.error_message}")

        if self._clock is None or how is first_call:
            act()
        else:
            self._clock.stepped(steps, act)
            apart = nanoseconds(SLACK * self._parameters.control_period)
            self._inbox.wait_until_last(self._robot.topic, self._clock.now, apart, self._parameters.sensor_timeout)

    def _capture_images(self, how: Call = call) -> None:
        """Have images taken, if they do not come by themselves."""
        if self._capture is None:
            return
        with fault_without_answer(Fault.SIMULATOR_LOST):
            how(self._capture, CaptureImages.Request(), self._parameters.simulator_timeout)
        self._recorder.capture()

    def _move_cameras(self, offsets: Mapping[str, Pose]) -> None:
        """Have cameras moved; the request may be repeated."""
        request = MoveCameras.Request(cameras=list(offsets), offsets=[pose_to_msg(pose) for pose in offsets.values()])
        limit = self._parameters.simulator_timeout
        checked(answer(self._move, request, Fault.SIMULATOR_LOST, limit, first_call))

    def _discover(self) -> None:
        """Have all inputs published again until all of them arrive, and the scorer is found; step time if necessary.

        Publishers do not wait for a subscriber that they have not discovered, and in lockstep a lost sensor message
        never comes again. A scene that is published for a `tool_pose` begins with the first episode.
        """
        if self._step is None:
            self._probe_sources()
        inputs = tuple(topic for topic in self._inputs if topic != "scene" or not self._parameters.follows_pose)
        steps = 0 if self._parameters.publishes_unstepped else self._parameters.steps_per_control

        def step_and_capture() -> None:
            if self._step is not None:
                self._step_simulation(steps, first_call)
            self._capture_images(first_call)

        limit = self._parameters.startup_timeout
        deadline = time.monotonic() + limit
        while not (
            self._inbox.wait_for_new(inputs, FIRST_CALL_PERIOD, step_and_capture)
            and self._surroundings.listeners > 0
            and self._channel.node.count_publishers("progress") > 0
        ):
            if time.monotonic() > deadline:
                what = ", ".join((*inputs, "progress"))
                node = self._channel.node
                late = [topic for topic in inputs if not self._inbox.received(topic)]
                why = "; ".join(("", *(offers(node, topic) or absence(node, topic, Kind.TOPIC) for topic in late)))
                raise BenchFault(Fault.SENSOR_LOST, f"not all of {what} came up within {limit:g} s{why}")

        if self._step is None:
            # Before a person is asked to set a scene up: a driver that the user started may have other settings.
            check = getattr(self._robot, "check", None)
            if check is not None:
                check()
            self.require_speed()
            self._surroundings.check_cameras()

    def _probe_sources(self) -> None:
        """Wait until the nodes that publish images and the scene have discovered the subscriptions.

        A publisher keeps nothing for a subscriber that it has not discovered. A node that answers a client has also
        discovered the subscriptions that were made before the client.
        """
        for name in self._parameters.sources:
            with fault_without_answer(Fault.SENSOR_LOST):
                DiscoveryProbe(self._channel.node, name).wait(self._parameters.startup_timeout)

    def _take(self, policy: PolicyDescription) -> None:
        """Make the controller of a policy, and subscribe to its inputs.

        Raises:
            ConfigurationError: robot and policy do not fit; the previous policy stays.
        """
        period = self._parameters.control_period
        # The session has checked the cameras in use, and the sizes of their images.
        topics = {camera.name: camera.images for camera in self.profile.cameras}
        served = f"what '{self._parameters.policy_server}' serves"
        check_fit(policy, self.profile, 1.0 / period, dict.fromkeys(topics), served)
        self.controller = make_controller(self.profile, policy.action_space, period)
        self._server.description = policy
        cameras = {name: topics[name] for name in policy.cameras}
        self._inputs = (self._robot.topic, *self._surroundings.need(cameras, policy.privileged))
