"""An emulated laboratory: the embedded world in real time, behind drivers that may be late, lossy or gone.

A process of its own, ``python emulated_lab.py --ros-args …``; ``laboratory.py`` starts it for a session. It is the
simulator node in real time. What differs: each driver has its rate, cameras are drawn in a thread while the world goes
on, and what the parameters name goes wrong. Where the robot's file names a real driver (``port``), that driver's
interfaces alone move the robot, under the names of the file: ``emulated_controllers.py`` an arm and its hand, the topic
of velocities a base.
"""

from __future__ import annotations

import copy
import heapq
import itertools
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from emulated_controllers import EmulatedControllers, Fingers, interfaces_of
from pydantic import Field
from rclpy.node import Node

from robocontrast_ros.configuration import record
from robocontrast_ros.domain import nanoseconds
from robocontrast_ros.graph.parameters.simulator import SimulatorParameters
from robocontrast_ros.images.rendering import Renderer
from robocontrast_ros.nodes.conversions.domain import message_class
from robocontrast_ros.nodes.conversions.driver import array_to_image, sensor_to_msg
from robocontrast_ros.nodes.conversions.simulation import camera_info_to_msg
from robocontrast_ros.nodes.runtime.main import run_node
from robocontrast_ros.nodes.runtime.qos import LOCKSTEP
from robocontrast_ros.nodes.simulator.cameras import CameraPublishers
from robocontrast_ros.nodes.simulator_node import Simulator
from robocontrast_ros.robots.commands import GripperCommand, JointTrajectoryCommand
from robocontrast_ros.robots.drivers import DRIVER_PORTS
from robocontrast_ros.system.scheduling import run_process_sooner
from robocontrast_ros.worlds.mujoco.sensors import Contacts, JointState, Sensor
from robocontrast_ros.worlds.mujoco.world import World


@record
class LabParameters(SimulatorParameters):
    """Parameters of the laboratory."""

    driver: bool = Field(default=True, description="Whether the robot's driver runs: publishes and takes commands.")
    state_rate: float = Field(default=100.0, gt=0.0, le=1000.0, description="Of the driver's sensors [Hz].")
    state_latency: float = Field(default=0.0, ge=0.0, description="From a sensor's stamp to its publication [s].")
    state_jitter: float = Field(default=0.0, ge=0.0, description="Greatest further latency, uniform [s].")
    state_drop: float = Field(default=0.0, ge=0.0, le=1.0, description="Share of the state's messages that are lost.")
    joint_order: Literal["profile", "reversed"] = Field(
        default="profile", description="Order of the joints in a message."
    )
    command_latency: float = Field(default=0.0, ge=0.0, description="From a command's arrival to its effect [s].")
    command_jitter: float = Field(default=0.0, ge=0.0, description="Greatest further latency, uniform [s].")
    command_drop: float = Field(default=0.0, ge=0.0, le=1.0, description="Share of the commands that are lost.")
    camera_latency: float = Field(default=0.0, ge=0.0, description="From an image's stamp to its publication [s].")
    clock_offset: float = Field(default=0.0, description="What the robot's clock is ahead of the system clock [s].")
    clock_jump: float = Field(default=0.0, description="By which the robot's clock jumps ahead later [s].")
    clock_jump_after: float = Field(default=10.0, ge=0.0, description="When it does, after the start [s].")
    seed: int = Field(default=0, ge=0, description="Of latencies and losses.")
    report: str = Field(default="", description="File for what it did, as JSON, at its end; empty for none.")


class Later:
    """Calls that are due later; whoever calls ``now`` makes those that are due."""

    def __init__(self) -> None:
        self._calls: list[tuple[float, int, Callable[[], None]]] = []
        self._count = itertools.count()
        self._lock = threading.Lock()

    def call(self, delay: float, action: Callable[[], None]) -> None:
        """Have something called after a delay [s]; at once where there is none."""
        if delay <= 0.0:
            action()
            return
        with self._lock:
            heapq.heappush(self._calls, (time.monotonic() + delay, next(self._count), action))

    def now(self) -> None:
        """Make the calls that are due."""
        while True:
            with self._lock:
                if not self._calls or self._calls[0][0] > time.monotonic():
                    return
                _, _, action = heapq.heappop(self._calls)
            action()


class LabCameras(CameraPublishers):
    """Cameras that take pictures of a copy of the world, in a thread, while the world goes on.

    Attributes:
        taken: pictures of each camera.
        missed: how often it was time for one while the last was still being drawn.
    """

    def __init__(self, node: Node, world: World, period: float, now: Callable[[], int]) -> None:
        super().__init__(node, world, period, now)
        self._node, self._period, self._due_at = node, nanoseconds(period), 0
        self._order: Any = None
        self._ordered = threading.Condition()
        self.taken = self.missed = 0
        self._thread = threading.Thread(target=self._work, name="cameras", daemon=True)
        self._closed = False
        if self._cameras:
            self._thread.start()

    def close(self) -> None:
        """End the thread, which frees its renderer."""
        with self._ordered:
            self._closed = True
            self._ordered.notify()
        if self._cameras:
            self._thread.join(timeout=10.0)

    def time_passed(self) -> None:
        """Have a picture of each camera taken, if it is time."""
        now = self._now()
        if not self._cameras or not self._period or now < self._due_at:
            return
        # On average at the cameras' rate, whatever the period in which the world goes on.
        self._due_at = max(self._due_at + self._period, now)
        with self._ordered:
            if self._order is not None:
                self.missed += 1
                return
            cameras = self._world.cameras
            names = [camera.name for camera in cameras]
            # A copy of the data shares the model, of which there is a new one whenever objects come or go.
            indices, infos = [cameras._index(n) for n in names], [cameras.info(n) for n in names]
            self._order = (now, cameras._model, copy.copy(cameras._data), indices, infos)
            self._ordered.notify()

    def draw_due(self) -> None:
        """Do nothing: the thread draws."""

    def draw(self) -> int:
        """Do nothing: the thread draws."""
        return 0

    def _work(self) -> None:
        renderer = Renderer(tuple(self._world.cameras))
        node, later = self._node, self._node.later
        latency = node.given.camera_latency
        while True:
            with self._ordered:
                self._ordered.wait_for(lambda: self._order is not None or self._closed)
                if self._closed:
                    renderer.close()
                    return
                now, model, data, indices, infos = self._order
            for (camera, info_publisher, publisher), index, info in zip(self._cameras, indices, infos, strict=True):
                pixels = renderer.render(model, data, camera.name, index)
                messages = camera_info_to_msg(info, camera.frame_id, now), array_to_image(pixels, camera.frame_id, now)
                for each, message in zip((info_publisher, publisher), messages, strict=True):
                    later.call(latency, lambda each=each, message=message: each.publish(message))
            self.taken += 1
            with self._ordered:
                self._order = None


class WorldJoints:
    """The joints of an arm in the world, and the driven one of its hand."""

    def __init__(self, world: World) -> None:
        """Take the world, which is used from one thread."""
        self._world, self._joints = world, world.profile.joints
        self._names = world.profile.joint_names

    def positions(self) -> tuple[float, ...]:
        """Return where the arm's joints are [rad]."""
        return self._world.joint_state().positions[: len(self._names)]

    def follow(self, target: Sequence[float], duration: float) -> None:
        """Have them go to positions [rad] within a time [s], and stand where the first of them comes to its limit."""
        share = 1.0
        for joint, here, there in zip(self._joints, self.positions(), target, strict=True):
            limit = min(max(there, joint.lower), joint.upper)
            if there not in (here, limit):
                share = min(share, max((limit - here) / (there - here), 0.0))
        if share < 1.0:
            target = [h + share * (t - h) for h, t in zip(self.positions(), target, strict=True)]
        self._world.apply_command(JointTrajectoryCommand(self._names, tuple(target), share * duration))

    def finger(self) -> float:
        """Return where the driven joint of the hand is [m or rad]."""
        return self._world.joint_state().positions[len(self._names)]

    def grip(self, position: float) -> None:
        """Have the driven joint of the hand go to a position [m or rad]."""
        self._world.apply_command(GripperCommand(position))


class EmulatedLab(Simulator):
    """The drivers of one robot and its cameras, over a world in real time."""

    parameters_type: ClassVar[type[LabParameters]] = LabParameters
    cameras_type: ClassVar[type[LabCameras]] = LabCameras

    def __init__(self) -> None:
        self.later, self._published, self._began = Later(), Counter(), time.monotonic()
        self._state_due = 0
        super().__init__()
        # It stands for hardware and for a computer of the robot's own, which what runs here does not slow.
        run_process_sooner()
        self._began = time.monotonic()
        self._random = np.random.default_rng(self.given.seed)
        self._taken: Counter[str] = Counter()
        self._controllers: EmulatedControllers | None = None
        if self._world.profile.port in DRIVER_PORTS:
            self._serve_real_driver()

    def _serve_real_driver(self) -> None:
        """Serve what the robot's file names, and take no commands from the copies that are published for the bag."""
        while self._commands:
            self.destroy_subscription(self._commands.pop())
        profile, given = self._world.profile, self.given
        if not given.driver:
            return
        if profile.mobile:
            kind, topic = message_class(profile.command.type), profile.command.topic
            self._commands = [self.create_subscription(kind, topic, self._on_command, LOCKSTEP)]
            return
        joints, names = WorldJoints(self._world), profile.joint_names
        self._controllers = EmulatedControllers(
            self,
            names,
            joints.positions,
            joints.follow,
            states_topic="",
            order=names[::-1] if given.joint_order == "reversed" else None,
            interfaces=interfaces_of(profile),
            fingers=Fingers(profile.end_effector, joints.finger, joints.grip) if profile.has_hand else None,
        )
        self._controllers.misbehaviour.latency = given.command_latency

    @property
    def given(self) -> LabParameters:
        """The parameters."""
        return self._given

    def on_end(self) -> None:
        """End the cameras, and say what the laboratory did."""
        self._cameras.close()
        if self._controllers is not None:
            self._controllers.close()
            seen = self._controllers.seen
            self._taken.update(goals=len(seen.goals), streamed=len(seen.streamed), hand=len(seen.hand))
        super().on_end()
        if self.given.report:
            control, cameras = self._control, self._cameras
            passed = control.played + control.lost
            found = {
                "real_time_factor": control.played / passed if passed else 1.0,
                "played": control.played,
                "published": dict(self._published),
                "taken": dict(self._taken),
                "seconds": time.monotonic() - self._began,
                "images": cameras.taken,
                "images_missed": cameras.missed,
            }
            Path(self.given.report).write_text(json.dumps(found))

    def _now(self) -> int:
        """Return a time as a driver has it that reads a clock: periods alone would leave its last digits alike."""
        return super()._now() + time.monotonic_ns() % 1_000

    def _publish(self) -> None:
        self.later.now()
        now = self._now()
        due = now >= self._state_due
        if due:
            # On average at the driver's rate, whatever the period in which the world goes on.
            self._state_due = max(self._state_due + nanoseconds(1.0 / self.given.state_rate), now)
        for sensor in self._world.sensors():
            # What was touched would be lost with a message that is left out.
            if due or isinstance(sensor.value, Contacts):
                self._publish_late(sensor, now)
        self._cameras.time_passed()

    def _publish_late(self, sensor: Sensor, now: int) -> None:
        given = self.given
        if not given.driver or self._happens(given.state_drop):
            return
        if isinstance(sensor.value, JointState) and given.joint_order == "reversed":
            joints = sensor.value
            turned = JointState(*(getattr(joints, field.name)[::-1] for field in fields(joints)))
            sensor = replace(sensor, value=turned)
        jumped = time.monotonic() - self._began >= given.clock_jump_after
        ahead = given.clock_offset + (given.clock_jump if jumped else 0.0)
        message = sensor_to_msg(sensor, now + nanoseconds(ahead))
        self._published[sensor.topic] += 1
        publisher = self._sensors[sensor.topic]
        self.later.call(self._delay(given.state_latency, given.state_jitter), lambda: publisher.publish(message))

    def _on_command(self, message: Any) -> None:
        given = self.given
        if given.driver and not self._happens(given.command_drop):
            carry_out = super()._on_command
            self._taken["commands"] += 1
            self.later.call(self._delay(given.command_latency, given.command_jitter), lambda: carry_out(message))

    def _happens(self, share: float) -> bool:
        return share > 0.0 and self._random.random() < share

    def _delay(self, fixed: float, jitter: float) -> float:
        return fixed + (jitter * self._random.random() if jitter else 0.0)


if __name__ == "__main__":
    run_node(EmulatedLab)
