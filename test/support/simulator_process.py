"""The simulator in a process of its own, and a node that hears it and calls its services."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import rclpy
import yaml
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CameraInfo, Image
from simulation_interfaces.msg import Result, SimulationState
from simulation_interfaces.srv import (
    DeleteEntity,
    GetEntities,
    GetEntitiesStates,
    GetEntityBounds,
    GetEntityInfo,
    GetEntityState,
    GetSimulationState,
    GetSimulatorFeatures,
    GetSpawnables,
    ResetSimulation,
    SetEntityState,
    SetSimulationState,
    SpawnEntity,
    StepSimulation,
)

from robocontrast_ros.messages.decoding import stamp_from_msg
from robocontrast_ros.nodes.conversions.domain import message_class
from robocontrast_ros.nodes.conversions.driver import command_to_msgs
from robocontrast_ros.nodes.runtime.qos import LATCHED, LOCKSTEP
from robocontrast_ros.nodes.simulation_version import resource_of, set_all
from robocontrast_ros.robots.commands import RobotCommand
from robocontrast_ros.robots.profile import RobotProfile

OK = Result.RESULT_OK
SERVICES = {
    DeleteEntity: "delete_entity",
    GetEntities: "get_entities",
    GetEntitiesStates: "get_entities_states",
    GetEntityBounds: "get_entity_bounds",
    GetEntityInfo: "get_entity_info",
    GetEntityState: "get_entity_state",
    GetSimulationState: "get_simulation_state",
    GetSimulatorFeatures: "get_simulator_features",
    GetSpawnables: "get_spawnables",
    ResetSimulation: "reset_simulation",
    SetEntityState: "set_entity_state",
    SetSimulationState: "set_simulation_state",
    SpawnEntity: "spawn_entity",
    StepSimulation: "step_simulation",
}


def start_process(folder: Path, **parameters: object) -> subprocess.Popen[str]:
    """Start a simulator in the namespace /test."""
    path = folder / "simulator.yaml"
    path.write_text(yaml.safe_dump({"/**": {"ros__parameters": parameters}}))
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "robocontrast_ros.nodes.simulator_node",
            "--ros-args",
            "-r",
            "__ns:=/test",
            "--params-file",
            str(path),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


class SimulatorClient:
    """Hears all that the simulator of a robot publishes, by topic, and calls its services.

    Attributes:
        heard: topic -> the messages of every step; what is latched is in `latched`.
    """

    def __init__(self, profile: RobotProfile) -> None:
        self._context = rclpy.Context()
        rclpy.init(context=self._context)
        self.node = Node("client", namespace="/test", context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        sensors = {topic: message_class(kind) for topic, kind in profile.driver_topics}
        images = {camera.image_topic: Image for camera in profile.cameras}
        infos = {camera.info_topic: CameraInfo for camera in profile.cameras}
        self.heard = self._listen({"clock": Clock, **sensors, **images, **infos}, LOCKSTEP)
        latched = {topic: message_class(kind) for topic, kind in profile.simulated_topics}
        self.latched = self._listen(latched, LATCHED)
        self._profile = profile
        self._commands = {
            topic: self.node.create_publisher(message_class(kind), topic, LOCKSTEP)
            for topic, kind in profile.command_topics
        }
        self._clients = {kind: self.node.create_client(kind, f"simulator/{name}") for kind, name in SERVICES.items()}
        for client in self._clients.values():
            assert client.wait_for_service(240.0), client.srv_name
        self.wait(lambda: all(each.get_subscription_count() == 1 for each in self._commands.values()))
        self.wait(lambda: all(self.node.count_publishers(topic) == 1 for topic in self.heard))

    def _listen(self, topics: Mapping[str, type], quality: object) -> dict[str, list]:
        heard: dict[str, list] = {topic: [] for topic in topics}
        for topic, kind in topics.items():
            self.node.create_subscription(kind, topic, heard[topic].append, quality)
        return heard

    def wait(self, condition: Callable[[], bool], deadline: float = 120.0) -> None:
        end = time.monotonic() + deadline
        while not condition():
            assert time.monotonic() < end, "it did not happen in time"
            self._executor.spin_once(timeout_sec=0.05)

    def call(self, kind: type, **fields: object):
        request = kind.Request(**fields)
        set_all(request)
        future = self._clients[kind].call_async(request)
        self._executor.spin_until_future_complete(future, 120.0)
        assert future.done(), f"{SERVICES[kind]} did not answer"
        return future.result()

    def command(self, command: RobotCommand) -> None:
        for topic, message in command_to_msgs(self._profile, command, 0):
            self._commands[topic].publish(message)

    def step(self, steps: int) -> None:
        assert self.call(StepSimulation, steps=steps).result.result == OK

    def spawn(self, name: str, x: float, y: float, **fields: object):
        """Ask for an object and return the answer, whatever it is."""
        request = SpawnEntity.Request(name=name)
        for key, value in fields.items():
            setattr(resource_of(request) if key in ("uri", "resource_string") else request, key, value)
        request.initial_pose.pose.position.x, request.initial_pose.pose.position.y = x, y
        future = self._clients[SpawnEntity].call_async(request)
        self._executor.spin_until_future_complete(future, 120.0)
        return future.result()

    def start_over(self) -> None:
        """Bring the simulator to where it was at its start, with nothing heard yet."""
        self.call(SetSimulationState, state=SimulationState(state=SimulationState.STATE_PAUSED))
        assert self.call(ResetSimulation, scope=ResetSimulation.Request.SCOPE_ALL).result.result == OK
        self.wait(lambda: bool(self.heard["clock"]) and self.now() == 0)
        for heard in self.heard.values():
            heard.clear()

    def now(self) -> int:
        """Return the time of the last /clock [ns]."""
        return stamp_from_msg(self.heard["clock"][-1].clock)

    def close(self) -> None:
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self._context)
