"""sim_bridge: sets up scenes in a simulator and publishes the ground truth, through standard services."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rosgraph_msgs.msg import Clock

from robocontrast_ros.configuration import load_configured
from robocontrast_ros.domain import Fault, Pose
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.messages.decoding import NANOSECONDS, scene_from_msg, stamp_from_msg
from robocontrast_ros.msg import Contacts
from robocontrast_ros.msg import Scene as SceneMsg
from robocontrast_ros.nodes.conversions.domain import fault_to_msg, scene_to_msg
from robocontrast_ros.nodes.conversions.time import seconds
from robocontrast_ros.nodes.runtime.channel import Channel
from robocontrast_ros.nodes.runtime.intra_process import HandingPublisher
from robocontrast_ros.nodes.runtime.main import run_node
from robocontrast_ros.nodes.runtime.parameters import declare_record
from robocontrast_ros.nodes.runtime.qos import LOCKSTEP, RECORDED
from robocontrast_ros.nodes.sim_bridge.parameters import SimBridgeParameters
from robocontrast_ros.nodes.sim_bridge.simulation_client import RosSimulation
from robocontrast_ros.nodes.simulation_version import check_installed
from robocontrast_ros.srv import GetScene, SetupScene
from robocontrast_ros.worlds.contacts import ContactsJoin, Touching
from robocontrast_ros.worlds.simulated_scene import SimulatedScene
from robocontrast_ros.worlds.timing import Periodic


class SimBridge(Node):
    """Serves SetupScene and GetScene; publishes `scene` once a control period of simulated time."""

    threads = 2

    def __init__(self) -> None:
        """Declare the parameters, wait for the simulator, check its features."""
        super().__init__("sim_bridge")
        self._node_parameters = parameters = declare_record(self, SimBridgeParameters)
        check_installed()
        task = load_configured("tasks", parameters.task)
        self._scene: SimulatedScene | None = None
        self._join = ContactsJoin()
        self._channel = Channel(self)
        self._simulation = RosSimulation(self._channel.node, parameters, parameters.frame_id, parameters.timeout)
        self._publisher = HandingPublisher(self._channel.node, SceneMsg, "scene", RECORDED)
        self._schedule = Periodic(parameters.scene_period)
        self._channel.node.create_subscription(Clock, parameters.clock_topic, self._on_clock, LOCKSTEP)
        if parameters.contacts_topic:
            self._channel.node.create_subscription(Contacts, parameters.contacts_topic, self._on_contacts, LOCKSTEP)
        self._channel.start()
        self._simulation.wait(parameters.startup_timeout)
        self._scene = SimulatedScene(
            self._simulation,
            task.models,
            parameters.settle_steps,
            parameters.tolerance,
            parameters.frame_id,
            parameters.robot,
        )
        group = ReentrantCallbackGroup()
        self.create_service(GetScene, "~/get_scene", self._get_scene, callback_group=group)
        self.create_service(SetupScene, "~/setup_scene", self._set_up_scene, callback_group=group)

    def on_end(self) -> None:
        """Free the channel before the process ends."""
        self._channel.close()

    def _on_clock(self, message: Clock) -> None:
        now = seconds(message.clock)
        if self._scene is not None and self._schedule.due(now):
            self._schedule.done(now)
            self._simulation.request_poses(self._on_poses)

    def _on_poses(self, stamp: float, poses: dict[str, Pose]) -> None:
        if not self._node_parameters.contacts_topic:
            self._publish(stamp, poses, ())
        else:
            self._publish_all(self._join.add_poses(round(stamp * NANOSECONDS), poses))

    def _on_contacts(self, message: Contacts) -> None:
        stamp = stamp_from_msg(message.header.stamp)
        self._publish_all(self._join.add_contacts(stamp, tuple(message.entities)))

    def _publish_all(self, complete: list[Touching]) -> None:
        for touching in complete:
            self._publish(touching.stamp / NANOSECONDS, touching.poses, touching.contacts)

    def _publish(self, stamp: float, poses: Mapping[str, Pose], contacts: tuple[str, ...]) -> None:
        try:
            scene = self._scene.scene(poses, contacts)
        except BenchFault as error:
            self.get_logger().error(str(error), throttle_duration_sec=5.0)
            return
        self._publisher.publish(scene_to_msg(scene, stamp))

    def _forget_contacts(self, stamp: float) -> None:
        """Forget what was touched up to a time [s], once it is known.

        Raises:
            BenchFault: it does not arrive, so that no scene of the trial would be complete.
        """
        topic, timeout = self._node_parameters.contacts_topic, self._node_parameters.sensor_timeout
        if topic and not self._join.forget(round(stamp * NANOSECONDS), timeout):
            raise BenchFault(Fault.SENSOR_LOST, f"nothing on {topic} of {stamp:.3f} s within {timeout:g} s")

    def _get_scene(self, _: Any, response: Any) -> Any:
        try:
            stamp, scene = self._scene.read()
        except BenchFault as error:
            response.fault = fault_to_msg(error.fault, error.detail)
            return response
        response.scene = scene_to_msg(scene, stamp)
        response.world = self._simulation.description
        return response

    def _set_up_scene(self, request: SetupScene.Request, response: Any) -> Any:
        try:
            stamp, scene = self._scene.set_up(scene_from_msg(request.target))
            self._forget_contacts(stamp)
        except BenchFault as error:
            self.get_logger().error(str(error))
            response.fault = fault_to_msg(error.fault, error.detail)
            return response
        response.scene = scene_to_msg(scene, stamp)
        return response


def main() -> None:
    """Run the node."""
    run_node(SimBridge)
