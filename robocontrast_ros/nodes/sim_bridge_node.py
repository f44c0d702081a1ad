"""sim_bridge: sets scenes up and publishes the ground truth, through a backend such as a simulator's services."""

from __future__ import annotations

import math
import time
from typing import Any

from geometry_msgs.msg import PoseStamped
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rosgraph_msgs.msg import Clock

from robocontrast_ros.configuration import load_configured, load_plugin
from robocontrast_ros.configuration.errors import raised
from robocontrast_ros.domain import Fault, Scene, stamp_text
from robocontrast_ros.episodes.bench import BenchFault, SetByPerson, SetUpOutcome
from robocontrast_ros.graph.parameters.sim_bridge import SimBridgeParameters
from robocontrast_ros.messages.decoding import move_from_msg, scene_from_msg, stamp_from_msg
from robocontrast_ros.msg import Contacts
from robocontrast_ros.msg import Scene as SceneMsg
from robocontrast_ros.nodes.conversions.domain import fault_to_msg, scene_to_msg
from robocontrast_ros.nodes.runtime.channel import Channel
from robocontrast_ros.nodes.runtime.clock import now
from robocontrast_ros.nodes.runtime.intra_process import HandingPublisher, subscribe
from robocontrast_ros.nodes.runtime.main import run_node
from robocontrast_ros.nodes.runtime.parameters import declare_record
from robocontrast_ros.nodes.runtime.qos import LOCKSTEP, RECORDED
from robocontrast_ros.nodes.runtime.simulated_clock import SimulatedClock
from robocontrast_ros.nodes.sim_bridge.console_client import ConsoleClient
from robocontrast_ros.nodes.sim_bridge.simulation_client import RosSimulation
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.srv import GetScene, SetupScene
from robocontrast_ros.worlds.backends import BackendContext, ClosingBackend, SceneBackend, reset_robot
from robocontrast_ros.worlds.contacts import ContactsJoin, Stamped
from robocontrast_ros.worlds.timing import Periodic


class SimBridge(Node):
    """Serves SetupScene and GetScene of a backend; publishes `scene`.

    A streamed scene is published once a control period of simulated time, or, in a world that runs by itself, for each
    `tool_pose`; any other scene whenever it was requested.
    """

    threads = 2

    def __init__(self) -> None:
        """Declare the parameters, and open the backend, which may wait for a simulator and check its features."""
        super().__init__("sim_bridge")
        self._node_parameters = parameters = declare_record(self, SimBridgeParameters)
        source = f"parameters of node '{self.get_name()}'"
        kind = load_plugin("scene_backends", parameters.backend, source, "backend")
        self._streams = parameters.stream and kind.features.streams
        self._person = kind.features.person
        self._backend: SceneBackend | None = None
        self._join = ContactsJoin()
        self._schedule = Periodic(parameters.scene_period)
        self._channel = Channel(self)
        self._publisher = HandingPublisher(self._channel.node, SceneMsg, "scene", RECORDED)
        robot, task = load_profile(parameters.robot), load_configured("tasks", parameters.task)
        self._simulated_clock = None
        if parameters.follows_pose and not parameters.plays:
            step = task.scenes.physics_step
            self._simulated_clock = SimulatedClock(self._channel.node, parameters.clock_topic, step, parameters.timeout)
        if self._streams:
            self._subscribe()
        self._channel.start()
        self._backend = kind(
            BackendContext(
                task=task,
                robot=robot,
                now=lambda: now(self, parameters.sensor_timeout),
                simulation=lambda: self._connected(robot.world_frame),
                settle_steps=parameters.settle_steps,
                tolerance=parameters.tolerance,
                plays=parameters.plays,
                resets_robot=parameters.resets_robot,
                resources=pairs(parameters.resources),
                console=lambda: ConsoleClient(self._channel.node, parameters.operator, parameters.startup_timeout),
                set_up_tolerances=parameters.set_up_tolerances(task),
            )
        )
        group = ReentrantCallbackGroup()
        self.create_service(GetScene, "~/get_scene", self._get_scene, callback_group=group)
        self.create_service(SetupScene, "~/setup_scene", self._set_up_scene, callback_group=group)

    def on_end(self) -> None:
        """Free the backend and the channel before the process ends."""
        if isinstance(self._backend, ClosingBackend):
            self._backend.close()
        self._channel.close()

    def _subscribe(self) -> None:
        parameters, node = self._node_parameters, self._channel.node
        if parameters.follows_pose:
            subscribe(node, PoseStamped, "tool_pose", self._on_tool_pose, LOCKSTEP)
        else:
            subscribe(node, Clock, parameters.clock_topic, self._on_clock, LOCKSTEP)
        if parameters.contacts_topic:
            subscribe(node, Contacts, parameters.contacts_topic, self._on_contacts, LOCKSTEP)

    def _connected(self, frame: str) -> RosSimulation:
        parameters = self._node_parameters
        node, limit = self._channel.node, parameters.timeout
        entities = pairs(parameters.entities)
        simulation = RosSimulation(node, parameters, frame, limit, parameters.plays, self._simulated_clock, entities)
        simulation.wait(parameters.startup_timeout)
        return simulation

    def _on_clock(self, message: Clock) -> None:
        now = stamp_from_msg(message.clock)
        if self._backend is not None and self._schedule.due(now):
            self._schedule.done(now)
            self._backend.request(self._on_scene, self._on_failure)

    def _on_tool_pose(self, message: PoseStamped) -> None:
        """Request the scene for this pose.

        On the wall clock it is later than the pose by the time of the request, a few milliseconds; a world that is
        stepped stands still meanwhile.
        """
        if self._backend is not None:
            stamp = stamp_from_msg(message.header.stamp)
            self._backend.request(lambda _, scene: self._on_scene(stamp, scene), self._on_failure)

    def _on_scene(self, stamp: int, scene: Scene) -> None:
        if not self._node_parameters.contacts_topic:
            self._publisher.publish(scene_to_msg(scene, stamp))
        else:
            self._publish(self._join.add_scene(stamp, scene))

    def _on_failure(self, error: BenchFault) -> None:
        self.get_logger().error(str(error), throttle_duration_sec=5.0)

    def _on_contacts(self, message: Contacts) -> None:
        stamp = stamp_from_msg(message.header.stamp)
        self._publish(self._join.add_contacts(stamp, tuple(message.entities), tuple(message.carried)))

    def _publish(self, complete: list[Stamped]) -> None:
        for stamp, scene in complete:
            self._publisher.publish(scene_to_msg(scene, stamp))

    def _forget_contacts(self, stamp: int) -> None:
        """Forget the contacts up to a time [ns], once they are known.

        Raises:
            BenchFault: they do not arrive, so that no scene of the trial would be complete.
        """
        topic, timeout = self._node_parameters.contacts_topic, self._node_parameters.sensor_timeout
        if self._streams and topic and not self._join.forget(stamp, timeout):
            raise BenchFault(Fault.SENSOR_LOST, f"nothing on {topic} of {stamp_text(stamp)} within {timeout:g} s")

    def _answered(self, stamp: int, scene: Scene) -> SceneMsg:
        """Return the scene for an answer, and publish it if no stream has it."""
        message = scene_to_msg(scene, stamp)
        if not self._streams:
            self._publisher.publish(message)
        return message

    def _get_scene(self, _: Any, response: Any) -> Any:
        try:
            response.scene = self._answered(*self._backend.read())
        except BenchFault as error:
            response.fault = fault_to_msg(error.fault, error.detail)
            return response
        response.world = self._backend.description
        return response

    def _moved(self, request: SetupScene.Request) -> SetUpOutcome:
        moves = tuple(move_from_msg(move) for move in request.moves)
        return SetUpOutcome(*self._backend.set_up(scene_from_msg(request.target), moves))

    def _set_up_scene(self, request: SetupScene.Request, response: Any) -> Any:
        response.seconds, asked = math.nan, time.monotonic()
        try:
            outcome = reset_robot(self._backend) if request.robot_alone else self._moved(request)
            self._forget_contacts(outcome.stamp)
        except BenchFault as error:
            self.get_logger().error(str(error))
            response.fault = fault_to_msg(error.fault, error.detail)
            return response
        except Exception as error:  # of a user's own backend: rclpy would log nothing, and no answer would come
            words = f"the backend '{self._node_parameters.backend}' raised {raised(error)}"
            self.get_logger().error(words)
            response.fault = fault_to_msg(Fault.SETUP_FAILED, words)
            return response
        response.scene = self._answered(outcome.stamp, outcome.scene)
        if self._person:
            person = outcome.by_person or SetByPerson(time.monotonic() - asked)
            response.seconds, response.overruled = person.seconds, list(person.overruled)
            if person.read is not None:
                response.has_read, response.read = True, scene_to_msg(person.read, outcome.stamp)
        return response


def pairs(texts: tuple[str, ...]) -> dict[str, str]:
    """Return name -> value of texts NAME=VALUE."""
    return dict(text.partition("=")[::2] for text in texts)


def main() -> None:
    """Run the node."""
    run_node(SimBridge)
