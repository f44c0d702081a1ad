"""simulator: the embedded MuJoCo world as a ROS 2 simulator with the topics of the robot's driver."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pydantic import Field
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rosgraph_msgs.msg import Clock as ClockMsg
from sensor_msgs.msg import CameraInfo, Image
from simulation_interfaces.msg import Result, SimulationState, SimulatorFeatures, Spawnable
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

from robocontrast_ros.configuration import ConfigurationError, record
from robocontrast_ros.nodes.conversions import simulation as convert
from robocontrast_ros.nodes.conversions.commands import command_from_msg, command_message_type
from robocontrast_ros.nodes.conversions.domain import header
from robocontrast_ros.nodes.conversions.observation import array_to_image
from robocontrast_ros.nodes.conversions.sensors import sensor_message_type, sensor_to_msg
from robocontrast_ros.nodes.conversions.simulation import Refusal, result_of
from robocontrast_ros.nodes.conversions.time import time_to_msg
from robocontrast_ros.nodes.runtime.main import run_node
from robocontrast_ros.nodes.runtime.parameters import LedParameters, declare_record
from robocontrast_ros.nodes.runtime.qos import LATCHED, LOCKSTEP, RECORDED, recorded
from robocontrast_ros.nodes.simulation_version import check_installed
from robocontrast_ros.robots.kinematics import Unreachable
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.robots.profile_base import CameraInterface
from robocontrast_ros.srv import CaptureImages
from robocontrast_ros.worlds.mujoco import (
    Camera,
    InvalidModel,
    RenderingUnavailable,
    ResetScope,
    ResourceNotFound,
    Sensor,
    SimulationDiverged,
    World,
)

PLAYING_PERIOD = 0.01
"""How often the world catches up with the wall clock while it is playing [s]."""

LONGEST_CATCH_UP = 0.1
"""How much it catches up at once, when the machine is too slow for real time [s]."""

DRAWING_DELAY = 0.0005
"""How long the images of a control step wait for who asks for the entities' states [s].

To draw takes longer than anything else in a control step; meanwhile the scene can be scored. No image is of a later
time than it would be without the delay: every other request has the images taken first.
"""

UNHURRIED = (GetEntitiesStates,)
"""Services that change nothing, and are answered before images are taken."""

VALID_NAMESPACE = re.compile(r"(/?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*)?")


@record
class SimulatorParameters(LedParameters):
    """Parameters of the simulator."""

    robot: Path = Field(description="Parameter file of the robot.")
    world: str = Field(description="URI of the world's MJCF file.")
    start_position: tuple[float, ...] = Field(
        default=(),
        description="Where the robot (its tool, or its base) starts, world frame [m]; when empty, an arm is at "
        "home and a base where the world says.",
    )
    physics_step: float = Field(default=0.002, gt=0.0, le=0.01, description="Simulated time of one step [s].")
    spawnables: tuple[str, ...] = Field(default=(), description="URIs that GetSpawnables answers with.")
    cameras: tuple[str, ...] = Field(
        default=(), description="Cameras to render, as the robot's profile names them."
    )
    camera_widths: tuple[int, ...] = Field(default=(), description="Columns of each camera's images [pixel].")
    camera_heights: tuple[int, ...] = Field(default=(), description="Rows of each camera's images [pixel].")
    camera_period: float = Field(
        default=0.1,
        ge=0.0,
        description="Least simulated time between two images of a camera [s]; 0 for images only when asked.",
    )

    def __post_init__(self) -> None:
        if len(self.start_position) not in (0, 3):
            raise ValueError(f"`start_position` with 3 numbers, or none, not {len(self.start_position)}")
        if not len(self.cameras) == len(self.camera_widths) == len(self.camera_heights):
            raise ValueError("`cameras`, `camera_widths` and `camera_heights` of the same length")
        if any(not 1 <= size <= 8192 for size in (*self.camera_widths, *self.camera_heights)):
            raise ValueError("`camera_widths` and `camera_heights` between 1 and 8192 pixels")


class Simulator(Node):
    """Serves simulation_interfaces relative to its name; starts PAUSED, to be moved by StepSimulation."""

    def __init__(self) -> None:
        """Declare the parameters, compose the world and draw a first image of each camera."""
        super().__init__("simulator")
        self._node_parameters = parameters = declare_record(self, SimulatorParameters)
        check_installed()
        self._profile = load_profile(parameters.robot)
        self._cameras = self._choose_cameras()
        self._world = self._make_world()
        self.exit_code: int | None = None
        self._state = SimulationState.STATE_PAUSED
        self._last_image = float("-inf")
        self._state_messages = convert.EntityStateMessages()
        self._clock_publisher = self.create_publisher(ClockMsg, "clock", RECORDED)
        self._sensors = {
            topic: self.create_publisher(sensor_message_type(kind), topic, quality)
            for topics, quality in (
                (self._profile.driver_topics, RECORDED),
                (self._profile.latched_topics, LATCHED),
            )
            for topic, kind in topics
        }
        sizes = dict(zip(parameters.cameras, self._image_sizes(), strict=True))
        self._images = {
            c.name: self.create_publisher(Image, c.image_topic, recorded(sizes[c.name]))
            for c in self._cameras
        }
        self._infos = {
            c.name: self.create_publisher(CameraInfo, c.info_topic, RECORDED) for c in self._cameras
        }
        command = self._profile.command
        self._commands = self.create_subscription(
            command_message_type(command.type), command.topic, self._on_command, LOCKSTEP
        )
        self._wall = Clock(clock_type=ClockType.STEADY_TIME)
        self._played_until = 0.0
        self._player = self.create_timer(PLAYING_PERIOD, self._play, clock=self._wall)
        self._player.cancel()
        self._images_due = False
        self._drawer = self.create_timer(DRAWING_DELAY, self._draw_due_images, clock=self._wall)
        self._drawer.cancel()
        self._publish_sensors(self._world.latched_sensors())
        for kind, name, callback in (
            (GetSimulatorFeatures, "get_simulator_features", self._get_simulator_features),
            (GetEntities, "get_entities", self._get_entities),
            (GetEntityState, "get_entity_state", self._get_entity_state),
            (GetEntitiesStates, "get_entities_states", self._get_entities_states),
            (GetEntityInfo, "get_entity_info", self._get_entity_info),
            (GetEntityBounds, "get_entity_bounds", self._get_entity_bounds),
            (SetEntityState, "set_entity_state", self._set_entity_state),
            (SpawnEntity, "spawn_entity", self._spawn_entity),
            (DeleteEntity, "delete_entity", self._delete_entity),
            (GetSpawnables, "get_spawnables", self._get_spawnables),
            (ResetSimulation, "reset_simulation", self._reset_simulation),
            (StepSimulation, "step_simulation", self._step_simulation),
            (GetSimulationState, "get_simulation_state", self._get_simulation_state),
            (SetSimulationState, "set_simulation_state", self._set_simulation_state),
            (CaptureImages, "capture_images", self._capture_images),
        ):
            self.create_service(kind, f"~/{name}", callback if kind in UNHURRIED else self._drawn(callback))

    def on_end(self) -> None:
        """Free the renderer before the process ends."""
        self._world.close()

    # -- moving the world -------------------------------------------------------------------------

    def _step_simulation(self, request: StepSimulation.Request, response: Any) -> Any:
        response.result = result_of(lambda: self._step(request.steps))
        return response

    def _step(self, steps: int) -> None:
        if self._state != SimulationState.STATE_PAUSED:
            raise Refusal(Result.RESULT_INCORRECT_STATE, "StepSimulation: pause the simulation first")
        self._take_commands()
        self._world.step(steps)
        self._publish()
        if self._images_due:
            self._drawer.reset()

    def _drawn(self, callback: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        """Return a service's callback before which the images of the present time are taken."""

        def answer(request: Any, response: Any) -> Any:
            self._draw_due_images()
            return callback(request, response)

        return answer

    def _draw_due_images(self) -> None:
        self._drawer.cancel()
        if self._images_due:
            self._take_images()

    def _take_commands(self) -> None:
        """Apply what has arrived but was not delivered yet: it was sent before this step was asked for."""
        with self._commands.handle:
            while (taken := self._commands.handle.take_message(self._commands.msg_type, False)) is not None:
                self._on_command(taken[0])

    def _on_command(self, message: Any) -> None:
        try:
            self._world.follow(command_from_msg(message))
        except ValueError as error:
            self.get_logger().error(f"command refused: {error}", throttle_duration_sec=5.0)

    def _play(self) -> None:
        now = self._wall.now().nanoseconds * 1e-9
        behind = min(now - self._played_until, LONGEST_CATCH_UP)
        steps = int(behind / self._world.step_duration)
        self._played_until = now - (behind - steps * self._world.step_duration)
        try:
            self._world.step(steps)
        except SimulationDiverged as error:
            self.get_logger().error(str(error))
            self._enter(SimulationState.STATE_PAUSED)
        self._publish()
        self._draw_due_images()

    def _publish(self) -> None:
        """Publish time and sensors as they are now, and see whether images of this time are due."""
        now = self._world.time
        self._clock_publisher.publish(ClockMsg(clock=time_to_msg(now)))
        self._publish_sensors(self._world.sensors())
        period = self._node_parameters.camera_period
        # A nanosecond more or less must not cost an image.
        self._images_due = bool(period) and not 0.0 <= now - self._last_image < 0.999 * period

    def _take_images(self) -> None:
        self._images_due = False
        self._last_image = now = self._world.time
        for camera in self._cameras:
            info = convert.camera_info_to_msg(self._world.camera_info(camera.name), camera.frame_id, now)
            self._infos[camera.name].publish(info)
            image = array_to_image(self._world.render(camera.name), camera.frame_id, now)
            self._images[camera.name].publish(image)

    def _capture_images(self, _: Any, response: Any) -> Any:
        self._take_images()
        response.cameras = len(self._cameras)
        return response

    def _publish_sensors(self, sensors: Iterable[Sensor]) -> None:
        for sensor in sensors:
            self._sensors[sensor.topic].publish(sensor_to_msg(sensor, self._world.time))

    def _reset_simulation(self, request: ResetSimulation.Request, response: Any) -> Any:
        response.result = result_of(lambda: self._world.reset(request.scope))
        if (request.scope or ResetScope.ALL) & ResetScope.TIME:
            self._last_image = float("-inf")
            self._clock_publisher.publish(ClockMsg(clock=time_to_msg(self._world.time)))
        return response

    def _get_simulation_state(self, _: Any, response: Any) -> Any:
        response.state.state = self._state
        response.result.result = Result.RESULT_OK
        return response

    def _set_simulation_state(self, request: SetSimulationState.Request, response: Any) -> Any:
        response.result = result_of(lambda: self._change_state(request.state.state))
        return response

    def _change_state(self, state: int) -> None:
        answers = SetSimulationState.Response
        if state == self._state:
            raise Refusal(answers.ALREADY_IN_TARGET_STATE, f"the simulation is in state {state} already")
        if state not in (
            SimulationState.STATE_STOPPED,
            SimulationState.STATE_PLAYING,
            SimulationState.STATE_PAUSED,
            SimulationState.STATE_QUITTING,
        ):
            raise Refusal(answers.INCORRECT_TRANSITION, f"state {state} cannot be asked for")
        if state == SimulationState.STATE_STOPPED:
            self._world.reset(ResetScope.ALL)
        self._enter(state)

    def _enter(self, state: int) -> None:
        self._state = state
        self._player.cancel()
        if state == SimulationState.STATE_PLAYING:
            self._played_until = self._wall.now().nanoseconds * 1e-9
            self._player.reset()
        elif state == SimulationState.STATE_QUITTING:
            # The process ends when this callback has answered.
            self.exit_code = 0

    # -- entities ---------------------------------------------------------------------------------

    def _get_simulator_features(self, _: Any, response: Any) -> Any:
        response.features = SimulatorFeatures(
            features=list(convert.FEATURES),
            spawn_formats=sorted(set(convert.FORMATS.values())),
            custom_info=self._world.description,
        )
        return response

    def _get_entities(self, request: GetEntities.Request, response: Any) -> Any:
        def answer() -> None:
            response.entities = convert.select(self._world, request.filters)

        response.result = result_of(answer)
        return response

    def _get_entity_state(self, request: GetEntityState.Request, response: Any) -> Any:
        def answer() -> None:
            response.state = self._state_of(request.entity)

        response.result = result_of(answer)
        return response

    def _get_entities_states(self, request: GetEntitiesStates.Request, response: Any) -> Any:
        def answer() -> None:
            response.entities = convert.select(self._world, request.filters)
            now = header(self._profile.world_frame, self._world.time)
            response.states = [
                self._state_messages.fill(name, self._world.entity_state(name), now)
                for name in response.entities
            ]

        response.result = result_of(answer)
        return response

    def _state_of(self, name: str) -> Any:
        return convert.entity_state_to_msg(
            self._world.entity_state(name), self._profile.world_frame, self._world.time
        )

    def _get_entity_info(self, request: GetEntityInfo.Request, response: Any) -> Any:
        def answer() -> None:
            name = request.entity
            response.info = convert.entity_info_to_msg(self._world.category(name), self._world.source(name))

        response.result = result_of(answer)
        return response

    def _get_entity_bounds(self, request: GetEntityBounds.Request, response: Any) -> Any:
        def answer() -> None:
            response.bounds = convert.bounds_to_msg(self._world.bounds(request.entity))

        response.result = result_of(answer)
        return response

    def _set_entity_state(self, request: SetEntityState.Request, response: Any) -> Any:
        def answer() -> None:
            state = convert.entity_state_from_msg(request.state, self._profile.world_frame)
            self._world.set_entity_state(request.entity, state)

        response.result = result_of(answer)
        return response

    def _spawn_entity(self, request: SpawnEntity.Request, response: Any) -> Any:
        def answer() -> None:
            self._check_spawn(request)
            wanted = request.name or ("entity" if request.allow_renaming else "")
            name = convert.free_name(wanted, self._world.entities()) if request.allow_renaming else wanted
            pose = convert.initial_pose_from_msg(request.initial_pose, self._profile.world_frame)
            self._world.spawn(name, pose, uri=request.uri, resource=request.resource_string)
            response.entity_name = name

        response.result = result_of(answer)
        return response

    @staticmethod
    def _check_spawn(request: SpawnEntity.Request) -> None:
        answers = SpawnEntity.Response
        if not request.uri and not request.resource_string:
            raise Refusal(answers.NO_RESOURCE, "give the model's `uri`, or its text as `resource_string`")
        if request.uri and Path(request.uri).suffix.lower() not in convert.FORMATS:
            raise Refusal(
                answers.UNSUPPORTED_FORMAT,
                f"uri: got '{request.uri}', expected an MJCF file: {', '.join(convert.FORMATS)}",
            )
        if not VALID_NAMESPACE.fullmatch(request.entity_namespace):
            raise Refusal(answers.NAMESPACE_INVALID, f"'{request.entity_namespace}' is no ROS namespace")

    def _delete_entity(self, request: DeleteEntity.Request, response: Any) -> Any:
        response.result = result_of(lambda: self._world.delete(request.entity))
        return response

    def _get_spawnables(self, request: GetSpawnables.Request, response: Any) -> Any:
        def answer() -> None:
            if request.sources:
                raise Refusal(
                    Result.RESULT_OPERATION_FAILED, "no other sources are searched; leave `sources` empty"
                )
            response.spawnables = [Spawnable(uri=uri) for uri in self._node_parameters.spawnables]

        response.result = result_of(answer)
        return response

    # -- start ------------------------------------------------------------------------------------

    def _choose_cameras(self) -> tuple[CameraInterface, ...]:
        offered = {camera.name: camera for camera in self._profile.cameras}
        for name in self._node_parameters.cameras:
            if name not in offered:
                raise ConfigurationError.unknown(
                    self._source(), "cameras", name, offered, f"camera of '{self._profile.name}'"
                )
        return tuple(offered[name] for name in self._node_parameters.cameras)

    def _image_sizes(self) -> list[int]:
        """Return how large the images of each camera are [byte]."""
        parameters = self._node_parameters
        sizes = zip(parameters.camera_widths, parameters.camera_heights, strict=True)
        return [3 * width * height for width, height in sizes]

    def _make_world(self) -> World:
        parameters = self._node_parameters
        cameras = tuple(
            Camera(name, width, height)
            for name, width, height in zip(
                parameters.cameras, parameters.camera_widths, parameters.camera_heights, strict=True
            )
        )
        start = parameters.start_position or None
        try:
            world = World(self._profile, parameters.world, start, cameras, parameters.physics_step)
        except (ResourceNotFound, InvalidModel) as error:
            raise ConfigurationError(
                self._source(), "world", parameters.world, f"a world model ({error})"
            ) from None
        except Unreachable as error:
            raise ConfigurationError(
                self._source(), "start_position", start, f"a place that the tool reaches ({error})"
            ) from None
        try:
            # The first image takes seconds, which nobody should wait for in the middle of a trial.
            for camera in cameras:
                world.render(camera.name)
        except RenderingUnavailable as error:
            raise ConfigurationError(
                self._source(), "cameras", parameters.cameras, f"a machine that can draw images ({error})"
            ) from None
        return world

    def _source(self) -> str:
        return f"parameters of node '{self.get_name()}'"


def main() -> None:
    """Run the node."""
    run_node(Simulator)


if __name__ == "__main__":
    main()
