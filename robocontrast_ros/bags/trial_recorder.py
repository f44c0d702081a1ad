"""Record the trials of one process as the graph's recorder would: the same messages, written without DDS."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from robocontrast_ros.bags.errors import BagError
from robocontrast_ros.bags.messages import Messages
from robocontrast_ros.bags.writer import BagTopic, BagWriter, Compression, MetadataFormat
from robocontrast_ros.domain import Fault, Intervention, JointTracking, Pose, Progress, Scene, Trial, TrialResult
from robocontrast_ros.episodes.bench import BenchFault, Recording, bag_name
from robocontrast_ros.episodes.ports import Images
from robocontrast_ros.messages.encoding import Encoder, TrialContext
from robocontrast_ros.messages.topics import JOINT_TRACKING, SAFETY, SHOWN, Topic
from robocontrast_ros.policies.protocol import Observation
from robocontrast_ros.robots.commands import RobotCommand
from robocontrast_ros.robots.profile_base import RobotProfile
from robocontrast_ros.worlds.driver_messages import DriverEncoder
from robocontrast_ros.worlds.mujoco.sensors import Sensor
from robocontrast_ros.worlds.recording import TakenImage

FLUSH_PERIOD = 1_000_000_000
"""Time after which written messages survive the process, as in the graph [ns]."""


class TrialRecorder:
    """The ``worlds.recording.TrialRecorder`` that writes bags.

    Nothing waits in a queue: the trial continues when a message is written, so none can be lost.

    Attributes:
        images: whether images are recorded.
        every_step: whether they are taken at every control step.
    """

    def __init__(
        self,
        run: Path,
        topics: Sequence[Topic],
        profile: RobotProfile,
        context: TrialContext,
        every_step: bool = True,
        compression: Compression = "zstd",
        metadata: MetadataFormat = "jazzy",
    ) -> None:
        """Take the content of the bags.

        Args:
            run: the run folder.
            topics: the recorded topics; images on others are left out.
            profile: the robot.
            context: the part of every Trial message besides the trial.
            every_step: whether images are taken at every control step, or when the policy is asked.
            compression: compression of the bags.
            metadata: form of the bags' ``metadata.yaml``.
        """
        latched = {"trial", *(topic.name for topic in profile.simulated_topics)}
        self._topics = {t.name: BagTopic(f"/{t.name.lstrip('/')}", t.type_name, t.name in latched) for t in topics}
        self._run, self._profile, self._context = run, profile, context
        self._compression, self._metadata = compression, metadata
        self._messages = Messages()
        self._kept: list[tuple[str, bytes]] = []
        self.images = any(camera.image_topic in self._topics for camera in profile.cameras)
        self.every_step = every_step and self.images

    def keep(self, stamp: int, sensors: Iterable[Sensor]) -> None:
        """Put the messages that the robot's driver publishes once, at a time [ns], at the beginning of every bag."""
        encode = DriverEncoder(self._messages.make).sensor
        self._kept += [
            (sensor.topic, self._messages.cdr(encode(sensor, stamp)))
            for sensor in sensors
            if sensor.topic in self._topics
        ]

    def begin(self, trial: Trial, attempt: int, policy: str, start_scene: Scene, start: int) -> TrialBag:
        """Open the bag of a trial; it begins with the messages that were published once, and the trial."""
        name = bag_name(trial.trial_id, attempt)
        with _recorder_lost():
            writer = BagWriter(self._run / name, list(self._topics.values()), self._compression, self._metadata)
        bag = TrialBag(name, writer, self._topics, self._messages, self._profile)
        for topic, cdr in self._kept:
            bag.write(topic, cdr)
        bag.trial(trial, replace(self._context, policy=policy), start_scene, start)
        return bag


class TrialBag:
    """The ``worlds.recording.TrialRecording`` into one bag."""

    def __init__(
        self,
        name: str,
        writer: BagWriter,
        topics: Mapping[str, BagTopic],
        messages: Messages,
        profile: RobotProfile,
    ) -> None:
        """Take the bag.

        Args:
            name: name of the bag, relative to the run folder.
            writer: writer of the bag.
            topics: name by which a topic is counted -> its topic in the bag.
            messages: makes and serialises them.
            profile: the robot.
        """
        self._name, self._writer, self._topics, self._messages = name, writer, topics, messages
        self._domain, self._driver = Encoder(messages.make), DriverEncoder(messages.make)
        self._frame, self._profile = profile.world_frame, profile
        self._cameras = {camera.name: camera for camera in profile.cameras if camera.image_topic in topics}
        self._latest = self._flushed = 0

    def trial(self, trial: Trial, context: TrialContext, start_scene: Scene, start: int) -> None:
        """Write the trial, and the scene that it starts in at a time [ns]."""
        self._write("trial", self._domain.trial(trial, context, start_scene, start))

    def sensors(self, stamp: int, sensors: Iterable[Sensor]) -> None:
        """Write the clock and the messages of the robot's driver."""
        self._write("clock", self._driver.clock(stamp))
        for sensor in sensors:
            self._write(sensor.topic, self._driver.sensor(sensor, stamp))

    def images(self, stamp: int, images: Mapping[str, TakenImage]) -> None:
        """Write an image of each camera that is recorded, and its intrinsics."""
        for name, camera in self._cameras.items():
            info, pixels = images[name]
            self._write(camera.info_topic, self._driver.camera_info(info, camera.frame_id, stamp))
            self._write(camera.image_topic, self._driver.image(pixels, camera.frame_id, stamp))

    def shown(self, observation: Observation, images: Images) -> None:
        """Write the policy's observation, if that is recorded."""
        if SHOWN.name in self._topics:
            frames = {camera.name: camera.frame_id for camera in self._profile.cameras}
            packed = {n: self._driver.image(image, frames[n], observation.stamp) for n, image in images.items()}
            self._write(SHOWN.name, self._driver.observation(observation, self._frame, packed))

    def intervened(self, stamp: int, interventions: Sequence[Intervention]) -> None:
        """Write the intervention of the safety filter in a command."""
        for each in interventions:
            self._write(SAFETY.name, self._domain.intervention(each, stamp))

    def scene(self, stamp: int, scene: Scene) -> None:
        """Write the ground truth."""
        self._write("scene", self._domain.scene(scene, stamp))

    def joint_tracking(self, stamp: int, joints: JointTracking) -> None:
        """Write the arm's joints, if they are recorded."""
        if JOINT_TRACKING.name in self._topics:
            self._write(JOINT_TRACKING.name, self._domain.joint_tracking(joints, self._frame, stamp))

    def tool_pose(self, stamp: int, pose: Pose) -> None:
        """Write the robot's own estimate of its pose."""
        self._write("tool_pose", self._domain.tool_pose(pose, self._frame, stamp))

    def progress(self, progress: Progress) -> None:
        """Write the score of a control step."""
        self._write("progress", self._domain.progress(progress, self._frame))

    def command(self, command: RobotCommand, stamp: int) -> None:
        """Write a command."""
        for topic, message in self._driver.command(self._profile, command, stamp):
            self._write(topic, message)

    def end(self, result: TrialResult, stamp: int) -> Recording:
        """Write the scores, close the bag and return its content."""
        self._write("trial_result", self._domain.result(result, stamp))
        self.close()
        counts = self._writer.counts()
        return Recording(self._name, tuple((name, counts[topic.name]) for name, topic in sorted(self._topics.items())))

    def close(self) -> None:
        """Close the bag as it is, unless it is closed."""
        with _recorder_lost():
            self._writer.close()

    def write(self, topic: str, cdr: bytes) -> None:
        """Write a message that is serialised already."""
        # Readers sort by this time, and two messages may be made within one tick of the clock.
        now = self._latest = max(time.time_ns(), self._latest + 1)
        with _recorder_lost():
            self._writer.write(self._topics[topic].name, now, cdr)
            if now - self._flushed >= FLUSH_PERIOD:
                self._writer.flush()
                self._flushed = now

    def _write(self, topic: str, message: Any) -> None:
        self.write(topic, self._messages.cdr(message))


@contextmanager
def _recorder_lost() -> Iterator[None]:
    try:
        yield
    except BagError as error:
        raise BenchFault(Fault.RECORDER_LOST, str(error)) from None
