"""second_simulator: the world of another physics engine as a ROS 2 simulator with the topics of the robot's driver."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from simulation_interfaces.msg import Result, SimulatorFeatures
from simulation_interfaces.srv import (
    GetSimulationState,
    GetSimulatorFeatures,
    ResetSimulation,
    SetSimulationState,
    StepSimulation,
)

from robocontrast_ros.configuration import ConfigurationError, load_plugin
from robocontrast_ros.graph.parameters.second_simulator import SecondSimulatorParameters
from robocontrast_ros.nodes.conversions.domain import message_class
from robocontrast_ros.nodes.conversions.driver import clock_to_msg, command_from_msg, sensor_to_msg
from robocontrast_ros.nodes.conversions.simulation import FEATURES, Refusal, result_of
from robocontrast_ros.nodes.runtime.intra_process import subscribe_openly, take_arrived
from robocontrast_ros.nodes.runtime.main import run_node
from robocontrast_ros.nodes.runtime.parameters import declare_record
from robocontrast_ros.nodes.runtime.qos import LOCKSTEP, RECORDED
from robocontrast_ros.nodes.simulator.entities import EntityServices
from robocontrast_ros.nodes.simulator.state import PlayControl
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.worlds.engines.world import EngineWorld
from robocontrast_ros.worlds.mujoco.entities import InvalidModel, ResetScope, ResourceNotFound
from robocontrast_ros.worlds.mujoco.sensors import Sensor

FORMATS = {".sdf": "sdf"}
"""Suffix of a spawnable file -> its format."""


class SecondSimulator(Node):
    """Serves simulation_interfaces relative to its name, begins PAUSED, and publishes `clock`.

    It imports no MuJoCo.

    Attributes:
        exit_code: set when a request ends the simulator.
        failed: whether an answer failed with an error that the request did not cause.
    """

    parameters_type: ClassVar[type[SecondSimulatorParameters]] = SecondSimulatorParameters

    def __init__(self) -> None:
        """Declare the parameters and compose the world."""
        super().__init__("second_simulator")
        parameters = declare_record(self, self.parameters_type)
        profile, source = load_profile(parameters.robot), f"parameters of node '{self.get_name()}'"
        engine = load_plugin("engines", parameters.engine, source, "engine")
        models = parameters.models.resolve()
        try:
            self._world = EngineWorld(engine, profile, models, parameters.physics_step, parameters.start_joints)
        except (ResourceNotFound, InvalidModel) as error:
            cure = f"Write them: robocontrast export TASK --robot {profile.name} --format sdf --to {models}"
            expected = f"a folder with the models of a task ({error})"
            raise ConfigurationError(source, "models", str(models), expected, cure) from None
        self.exit_code: int | None = None
        self.failed = False
        self._time = self.create_publisher(Clock, "clock", RECORDED)
        self._sensors = {
            topic: self.create_publisher(message_class(kind), topic, RECORDED) for topic, kind in profile.driver_topics
        }
        self._commands = [
            subscribe_openly(self, message_class(kind), topic, self._on_command, LOCKSTEP)
            for topic, kind in profile.command_topics
        ]
        control = PlayControl(
            self, self._world, self._publish, parameters.publish_period, False, take_commands=self._take_commands
        )
        self._control = control
        spawnables = [str(file) for file in sorted(models.glob("*.sdf"))]
        entities = EntityServices(self._world, spawnables, lambda: self._world.time_ns, tuple(FORMATS))
        self._serve(GetSimulatorFeatures, "get_simulator_features", self._get_simulator_features)
        for name, (kind, answer) in {
            **entities.answers(),
            "reset_simulation": (ResetSimulation, self._reset_simulation),
            "step_simulation": (StepSimulation, self._step_simulation),
            "get_simulation_state": (GetSimulationState, control.get),
            "set_simulation_state": (SetSimulationState, control.set),
        }.items():
            self._serve(kind, name, _serving(answer))

    def _serve(self, kind: type, name: str, answer: Callable[[Any, Any], Any]) -> None:
        """Serve a service relative to the node's name; commands that have arrived take effect before it."""

        def served(request: Any, response: Any) -> Any:
            self._take_commands()
            try:
                return answer(request, response)
            except Exception as error:
                self.failed = True
                self.get_logger().fatal(f"{name}: {type(error).__name__}: {error}")
                raise

        self.create_service(kind, f"~/{name}", served)

    def _get_simulator_features(self, _: Any, response: Any) -> Any:
        response.features = SimulatorFeatures(
            features=list(FEATURES), spawn_formats=sorted(FORMATS.values()), custom_info=self._world.description
        )
        return response

    def _step_simulation(self, request: Any, _: Any) -> None:
        if not self._control.paused:
            raise Refusal(Result.RESULT_INCORRECT_STATE, "StepSimulation: pause the simulation first")
        self._world.step(request.steps)
        self._publish()

    def _reset_simulation(self, request: Any, _: Any) -> None:
        self._world.reset(request.scope)
        if (request.scope or ResetScope.ALL) & ResetScope.TIME:
            self._time.publish(clock_to_msg(self._world.time_ns))

    def _take_commands(self) -> None:
        for commands in self._commands:
            take_arrived(commands)

    def _on_command(self, message: Any) -> None:
        try:
            self._world.apply_command(command_from_msg(message))
        except ValueError as error:
            self.get_logger().error(f"command refused: {error}", throttle_duration_sec=5.0)

    def _publish(self) -> None:
        """Publish the present time and sensors."""
        now = self._world.time_ns
        self._time.publish(clock_to_msg(now))
        self._publish_sensors(self._world.sensors(), now)

    def _publish_sensors(self, sensors: Iterable[Sensor], now: int) -> None:
        for sensor in sensors:
            self._sensors[sensor.topic].publish(sensor_to_msg(sensor, now))


def _serving(answer: Callable[[Any, Any], None]) -> Callable[[Any, Any], Any]:
    """Return a service's callback; a refusal becomes its result."""

    def callback(request: Any, response: Any) -> Any:
        response.result = result_of(lambda: answer(request, response))
        return response

    return callback


def main() -> None:
    """Run the node."""
    run_node(SecondSimulator)


if __name__ == "__main__":
    main()
