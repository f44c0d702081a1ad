"""The messages that a graph would publish of a trial in the embedded world, passed to a recorder during the trial."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import (
    Intervention,
    JointTracking,
    Pose,
    Progress,
    RobotState,
    Scene,
    Trial,
    TrialResult,
)
from robocontrast_ros.episodes.bench import Recording
from robocontrast_ros.episodes.ports import Images, RobotPort, Surroundings
from robocontrast_ros.policies.protocol import Observation
from robocontrast_ros.robots.commands import RobotCommand
from robocontrast_ros.robots.kinds import stop_command
from robocontrast_ros.robots.profile_base import RobotProfile
from robocontrast_ros.robots.state_estimation import Reading
from robocontrast_ros.worlds.mujoco.sensors import CameraInfo, Sensor
from robocontrast_ros.worlds.mujoco.world import World


class TakenImage(NamedTuple):
    """A camera's image.

    Attributes:
        info: the camera's intrinsics.
        pixels: uint8 of shape (height, width, 3), RGB.
    """

    info: CameraInfo
    pixels: NDArray[np.uint8]


class TrialRecording(Protocol):
    """Takes the data that are published during one trial, in this order; stamps are in nanoseconds.

    All methods may raise BenchFault, RECORDER_LOST.
    """

    def sensors(self, stamp: int, sensors: Iterable[Sensor]) -> None:
        """Take the clock and the data of the robot's driver at the end of a control period."""

    def images(self, stamp: int, images: Mapping[str, TakenImage]) -> None:
        """Take an image of each camera, by its name."""

    def shown(self, observation: Observation, images: Images) -> None:
        """Take the filtered observation, without images, and the filtered images, if filters change them."""

    def intervened(self, stamp: int, interventions: Sequence[Intervention]) -> None:
        """Take the safety filter's changes of a command, which answers the observation of a time."""

    def scene(self, stamp: int, scene: Scene) -> None:
        """Take the ground truth."""

    def joint_tracking(self, stamp: int, joints: JointTracking) -> None:
        """Take the arm's joints, and where they were commanded to be."""

    def tool_pose(self, stamp: int, pose: Pose) -> None:
        """Take the robot's own estimate of its pose."""

    def progress(self, progress: Progress) -> None:
        """Take the score of a control step."""

    def command(self, command: RobotCommand, stamp: int) -> None:
        """Take a command, which answers the observation of a time."""

    def end(self, result: TrialResult, stamp: int) -> Recording:
        """Take the scores, at the time of the last scored scene, and end the recording; return its description."""

    def close(self) -> None:
        """End the recording in its present state, unless it has been ended."""


class TrialRecorder(Protocol):
    """Records trials, one after the other.

    Attributes:
        every_step: whether images are taken at every control step, or for every request to the policy.
    """

    every_step: bool

    def keep(self, stamp: int, sensors: Iterable[Sensor]) -> None:
        """Take the data that the robot's driver publishes once: they belong to every recording."""

    def begin(self, trial: Trial, attempt: int, policy: str, start_scene: Scene, start: int) -> TrialRecording:
        """Begin the recording of a trial.

        Args:
            trial: the trial.
            attempt: number of its executions that were begun before.
            policy: name of the serving policy.
            start_scene: the scene that the trial starts in.
            start: time of that scene [ns].

        Raises:
            BenchFault: RECORDER_LOST: the recording cannot be begun.
        """


@dataclass(frozen=True)
class EpisodePorts:
    """The ports of an episode that are recorded.

    Attributes:
        robot: the robot.
        surroundings: the surroundings.
        step: lets one control period pass.
    """

    robot: RobotPort
    surroundings: Surroundings
    step: Callable[[], None]


def recorded(
    ports: EpisodePorts, world: World, recording: TrialRecording, every_step: bool, period: float
) -> EpisodePorts:
    """Return ports that do the same as the given ones, and record it.

    Args:
        ports: ports of an episode in the world.
        world: the world, recorded as its simulator would publish it.
        recording: takes the data.
        every_step: whether images are taken at every control step, or for every request to the policy.
        period: period of a control step [s].
    """
    cameras = _Cameras(world, recording)

    def step() -> None:
        ports.step()
        recording.sensors(world.time_ns, world.sensors())
        if every_step:
            cameras.take()

    return EpisodePorts(
        _RecordedRobot(ports.robot, world.profile, recording, period),
        _RecordedSurroundings(ports.surroundings, recording, cameras, every_step),
        step,
    )


class _Cameras:
    def __init__(self, world: World, recording: TrialRecording) -> None:
        self._world, self._recording = world, recording
        self.latest: dict[str, NDArray[np.uint8]] = {}

    def take(self) -> None:
        cameras = self._world.cameras
        taken = {camera.name: TakenImage(cameras.info(camera.name), cameras.render(camera.name)) for camera in cameras}
        self._recording.images(self._world.time_ns, taken)
        self.latest = {name: image.pixels for name, image in taken.items()}


class _RecordedRobot:
    def __init__(self, robot: RobotPort, profile: RobotProfile, recording: TrialRecording, period: float) -> None:
        self._robot, self._profile, self._recording, self._period = robot, profile, recording, period
        self.homes, self.prepare = robot.homes, robot.prepare

    def state(self, after: int) -> Reading:
        return self._robot.state(after)

    def command(self, command: RobotCommand, stamp: int) -> None:
        self._robot.command(command, stamp)
        self._recording.command(command, stamp)

    def hold(self, command: RobotCommand, stamp: int) -> None:
        self._robot.hold(command, stamp)
        self._recording.command(command, stamp)

    def way(self, start: Pose | None, after: int) -> Sequence[RobotCommand]:
        return self._robot.way(start, after)

    def stop(self) -> None:
        reading = self._robot.state(-1)
        self.command(stop_command(self._profile, reading, self._period), reading.stamp)


class _RecordedSurroundings:
    def __init__(
        self, surroundings: Surroundings, recording: TrialRecording, cameras: _Cameras, every_step: bool
    ) -> None:
        self._surroundings, self._recording = surroundings, recording
        self._cameras, self._every_step = cameras, every_step
        self.movable = surroundings.movable

    def move_cameras(self, offsets: Mapping[str, Pose]) -> None:
        self._surroundings.move_cameras(offsets)

    def located(self, state: RobotState, targets: Mapping[str, float]) -> None:
        stamp = state.stamp
        self._surroundings.located(state, targets)
        self._recording.scene(stamp, self._surroundings.scene(stamp))
        self._recording.joint_tracking(stamp, JointTracking.of(state, targets))
        self._recording.tool_pose(stamp, state.pose)

    def scene(self, stamp: int) -> Scene:
        return self._surroundings.scene(stamp)

    def images(self, stamp: int) -> Images:
        if not self._every_step:
            self._cameras.take()
        return self._cameras.latest

    def shown(self, observation: Observation, images: Images) -> None:
        self._recording.shown(observation, images)

    def intervened(self, stamp: int, interventions: Sequence[Intervention]) -> None:
        self._recording.intervened(stamp, interventions)

    @property
    def person_near(self) -> bool:
        return self._surroundings.person_near

    def progress(self, stamp: int) -> Progress:
        progress = self._surroundings.progress(stamp)
        self._recording.progress(progress)
        return progress
