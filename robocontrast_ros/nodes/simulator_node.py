"""simulator: the embedded MuJoCo world as a ROS 2 simulator with the topics of the robot's driver."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from rclpy.node import Node
from rosgraph_msgs.msg import Clock as ClockMsg
from simulation_interfaces.msg import Result, SimulatorFeatures
from simulation_interfaces.srv import (
    GetSimulationState,
    GetSimulatorFeatures,
    ResetSimulation,
    SetSimulationState,
    StepSimulation,
)
from tf2_msgs.msg import TFMessage

from robocontrast_ros.domain import Fault, Pose
from robocontrast_ros.graph.parameters.simulator import SimulatorParameters
from robocontrast_ros.images.rendering import Camera
from robocontrast_ros.messages.decoding import pose_from_msg
from robocontrast_ros.messages.topics import TF_MESSAGE, Topic
from robocontrast_ros.nodes.conversions.domain import fault_to_msg, message_class
from robocontrast_ros.nodes.conversions.driver import clock_to_msg, command_from_msg, sensor_to_msg
from robocontrast_ros.nodes.conversions.simulation import FEATURES, FORMATS, Refusal, result_of
from robocontrast_ros.nodes.runtime.channel import Channel
from robocontrast_ros.nodes.runtime.intra_process import (
    HandingPublisher,
    hands_over,
    publish_waiting,
    serve,
    serve_reading,
    subscribe_openly,
    take_arrived,
)
from robocontrast_ros.nodes.runtime.main import run_node
from robocontrast_ros.nodes.runtime.parameters import declare_record
from robocontrast_ros.nodes.runtime.qos import LATCHED, LOCKSTEP, RECORDED
from robocontrast_ros.nodes.simulator.cameras import CameraPublishers
from robocontrast_ros.nodes.simulator.entities import EntityServices
from robocontrast_ros.nodes.simulator.state import PlayControl
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.srv import CaptureImages, MoveCameras
from robocontrast_ros.worlds.mujoco.entities import ResetScope
from robocontrast_ros.worlds.mujoco.sensors import Sensor, Transforms
from robocontrast_ros.worlds.mujoco.world import start_world
from robocontrast_ros.worlds.table_camera import Tags, load_tags, standard_tags

Done = TypeVar("Done")

MOVING = ("step_simulation", "reset_simulation")
"""Services that first let earlier commands take effect."""

UNHURRIED = ("get_entities_states",)
"""Services that change nothing, and are answered before images are drawn."""


class Simulator(Node):
    """Serves simulation_interfaces relative to its name.

    It starts PAUSED, to be moved by StepSimulation, and publishes `clock`; or, in real time, PLAYING: then its stamps
    are of the system clock, as those of a real robot's drivers.

    Nodes of its own process may call its services in their threads: each call has the world alone, and OpenGL, which
    needs one thread, has a thread of its own.

    Attributes:
        exit_code: set when a request ends the simulator.
        failed: whether an answer failed with an error that the request did not cause.
    """

    parameters_type: ClassVar[type[SimulatorParameters]] = SimulatorParameters
    cameras_type: ClassVar[type[CameraPublishers]] = CameraPublishers

    def __init__(self) -> None:
        """Declare the parameters, compose the world and draw a first image of each camera."""
        super().__init__("simulator")
        self._given = parameters = declare_record(self, self.parameters_type)
        profile = load_profile(parameters.robot)
        sizes = zip(parameters.cameras, parameters.camera_widths, parameters.camera_heights, strict=True)
        self._thread = ThreadPoolExecutor(1, "drawing") if hands_over() else None
        self._world = self._drawing(
            lambda: start_world(
                profile,
                parameters.world,
                parameters.start_position or None,
                [Camera(*size) for size in sizes],
                parameters.physics_step,
                f"parameters of node '{self.get_name()}'",
                _tags(parameters),
            )
        )
        self.exit_code: int | None = None
        self.failed = False
        self._alone = threading.RLock()
        self._real_time = parameters.real_time
        self._clock_publisher = None if self._real_time else HandingPublisher(self, ClockMsg, "clock", RECORDED)
        self._sensors = {
            **{topic: HandingPublisher(self, message_class(k), topic, RECORDED) for topic, k in profile.driver_topics},
            **{topic: self.create_publisher(message_class(k), topic, LATCHED) for topic, k in profile.simulated_topics},
        }
        # The links' frames, as from a driver's robot_state_publisher; a base's driver publishes them with its odometry.
        transforms = Topic(profile.transforms_topic, TF_MESSAGE)
        silent = transforms not in profile.driver_topics
        self._frames = self.create_publisher(TFMessage, transforms.name, RECORDED) if silent else None
        self._cameras = self.cameras_type(self, self._world, parameters.camera_period, self._now)
        self._cameras.thread = self._thread
        # Messages of this process that come back would wake the node's thread at each control step.
        self._unserved = Channel(self) if hands_over() else None
        listener = self if self._unserved is None else self._unserved.node
        self._commands = [
            subscribe_openly(listener, message_class(kind), topic, self._on_command, LOCKSTEP)
            for topic, kind in profile.command_topics
        ]
        self._control = PlayControl(
            self,
            self._world,
            self._on_played,
            parameters.publish_period,
            self._real_time,
            self._alone,
            self._take_commands,
        )
        self._publish_sensors(self._world.latched_sensors())
        self._serve(GetSimulatorFeatures, "get_simulator_features", self._get_simulator_features)
        for name, (kind, answer) in {
            **EntityServices(self._world, parameters.spawnables, self._now).answers(),
            "reset_simulation": (ResetSimulation, self._reset_simulation),
            "step_simulation": (StepSimulation, self._step_simulation),
            "get_simulation_state": (GetSimulationState, self._control.get),
            "set_simulation_state": (SetSimulationState, self._control.set),
        }.items():
            self._serve(kind, name, self._serving(answer, name not in UNHURRIED))
        serve_reading(self, "~/get_entities_states", self._poses)
        self._serve(CaptureImages, "capture_images", self._capture_images)
        self._serve(MoveCameras, "move_cameras", self._move_cameras)

    def on_end(self) -> None:
        """Free the renderer before the process ends."""
        with self._alone:
            self._drawing(self._world.close)
        if self._unserved is not None:
            self._unserved.close()

    def _drawing(self, work: Callable[[], Done]) -> Done:
        """Return the result of a function that may use OpenGL."""
        return work() if self._thread is None else self._thread.submit(work).result()

    def _serve(self, kind: type, name: str, answer: Callable[[Any, Any], Any]) -> None:
        """Serve a service relative to the node's name; its answer has the world alone."""

        def alone(request: Any, response: Any) -> Any:
            with self._alone:
                if name in MOVING:
                    self._take_commands()
                try:
                    return answer(request, response)
                except Exception as error:
                    self.failed = True
                    self.get_logger().fatal(f"{name}: {type(error).__name__}: {error}")
                    raise

        serve(self, kind, f"~/{name}", alone)

    def _serving(self, answer: Callable[[Any, Any], None], draws: bool) -> Callable[[Any, Any], Any]:
        """Return a service's callback; if ``draws``, it first draws the images that are due."""

        def callback(request: Any, response: Any) -> Any:
            if draws:
                self._cameras.draw_due()
            response.result = result_of(lambda: answer(request, response))
            return response

        return callback

    def _poses(self) -> tuple[int, dict[str, Pose]]:
        """Return the time [ns] and every entity's pose, the part of GetEntitiesStates for each control step."""
        with self._alone:
            return self._now(), self._world.poses()

    def _step_simulation(self, request: Any, _: Any) -> None:
        if not self._control.paused:
            raise Refusal(Result.RESULT_INCORRECT_STATE, "StepSimulation: pause the simulation first")
        self._world.step(request.steps)
        self._publish()
        self._cameras.draw_soon()
        if hands_over():
            # OpenGL draws meanwhile; before the next step there is nothing else to do.
            publish_waiting()
            self._take_commands()

    def _reset_simulation(self, request: Any, _: Any) -> None:
        self._world.reset(request.scope)
        if (request.scope or ResetScope.ALL) & ResetScope.TIME:
            self._cameras.reset()
            self._publish_clock()

    def _get_simulator_features(self, _: Any, response: Any) -> Any:
        response.features = SimulatorFeatures(
            features=list(FEATURES),
            spawn_formats=sorted(set(FORMATS.values())),
            custom_info=self._drawing(lambda: self._world.description),
        )
        return response

    def _capture_images(self, _: Any, response: Any) -> Any:
        self._cameras.draw_due()
        response.cameras = self._cameras.draw()
        return response

    def _move_cameras(self, request: Any, response: Any) -> Any:
        self._cameras.draw_due()
        offsets = map(pose_from_msg, request.offsets)
        try:
            self._world.cameras.move(dict(zip(request.cameras, offsets, strict=True)))
        except ValueError as error:
            response.fault = fault_to_msg(Fault.SETUP_FAILED, str(error))
        return response

    def _take_commands(self) -> None:
        """Apply the commands that have arrived: they were sent before the world is moved."""
        for commands in self._commands:
            take_arrived(commands)

    def _on_command(self, message: Any) -> None:
        try:
            with self._alone:
                self._world.apply_command(command_from_msg(message))
        except ValueError as error:
            self.get_logger().error(f"command refused: {error}", throttle_duration_sec=5.0)

    def _on_played(self) -> None:
        self._publish()
        self._cameras.draw_due()

    def _publish(self) -> None:
        """Check whether images of this time are due, and publish the present time and sensors."""
        self._cameras.time_passed()
        self._publish_clock()
        self._publish_sensors(self._world.sensors())
        self._publish_frames()

    def _publish_frames(self) -> None:
        # They take time, mostly have no subscriber, and are not recorded, because they follow from the joint states.
        if self._frames is not None and self._frames.get_subscription_count():
            sensor = Sensor(self._frames.topic, "", Transforms(self._world.moving_frames()))
            self._frames.publish(sensor_to_msg(sensor, self._now()))

    def _publish_sensors(self, sensors: Iterable[Sensor]) -> None:
        for sensor in sensors:
            self._sensors[sensor.topic].publish(sensor_to_msg(sensor, self._now()))

    def _publish_clock(self) -> None:
        if self._clock_publisher is not None:
            self._clock_publisher.publish(clock_to_msg(self._world.time_ns))

    def _now(self) -> int:
        """Return the time of the world's present state, for stamps [ns]."""
        return self._control.now if self._real_time else self._world.time_ns


def _tags(parameters: SimulatorParameters) -> Tags | None:
    """Return the tags on objects of a library; None if they have none."""
    if not parameters.tags:
        return None
    return load_tags(Path(parameters.tags_file)) if parameters.tags_file else standard_tags(parameters.spawnables)


def main() -> None:
    """Run the node."""
    run_node(Simulator)


if __name__ == "__main__":
    main()
