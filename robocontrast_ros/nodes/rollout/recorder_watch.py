"""Counts of published messages since a trial's recording began, and the wait for a recorder that is too far behind."""

from __future__ import annotations

from collections.abc import Iterable

from rclpy.node import Node

from robocontrast_ros.bags.recorder_lag import RecorderLag
from robocontrast_ros.graph.parameters.rollout import RolloutParameters
from robocontrast_ros.messages.topics import JOINT_TRACKING, SAFETY, SHOWN
from robocontrast_ros.msg import RecordingStatus
from robocontrast_ros.nodes.runtime.qos import LATCHED
from robocontrast_ros.robots.profile_base import RobotProfile


class RecorderWatch:
    """Counts the messages of each recorded topic, as far as the rollout knows of them.

    In lockstep it knows the number of messages on each topic of a control step. On the wall clock it knows its own
    messages, the scenes that are read for them, and the scorer's answers, but not the rates of drivers.

    Attributes:
        published: messages by topic, since ``begin``.
    """

    def __init__(self, node: Node, profile: RobotProfile, parameters: RolloutParameters, lockstep: bool) -> None:
        """Subscribe to the recorder's status, and begin without a bag."""
        images = (topic for camera in profile.cameras for topic in (camera.images.name, camera.info_topic))
        self._images = tuple(images) if lockstep else ()
        self._steps: tuple[str, ...] = ("tool_pose", "progress", *(("scene",) if parameters.streams else ()))
        if parameters.tracks_joints:
            self._steps += (JOINT_TRACKING.name,)
        if lockstep:
            self._steps += ("clock", *(topic for topic, _ in profile.driver_topics))
        # If images are not requested, they come at every control step.
        self._each_step = self._steps if parameters.capture_images else (*self._steps, *self._images)
        self._commands = tuple(topic for topic, _ in profile.command_topics)
        depths = {camera.images.name: parameters.image_depth for camera in profile.cameras}
        self._lag = RecorderLag(depths, parameters.recording_timeout)
        node.create_subscription(RecordingStatus, f"{parameters.recorder}/status", self._report, LATCHED)
        self.begin("")

    def begin(self, bag: str) -> None:
        """Begin to count for a bag; without a name there is no recorder to wait for."""
        self.published = dict.fromkeys((*self._images, *self._steps, *self._commands, SAFETY.name, SHOWN.name), 0)
        self._lag.begin(bag)

    def step(self) -> None:
        """Count the messages of a control step."""
        self._count(self._each_step)

    def capture(self) -> None:
        """Count the requested images."""
        self._count(self._images)

    def shown(self) -> None:
        """Count a filtered observation, which the policy received in place of the sensors' data."""
        self._count((SHOWN.name,))

    def intervened(self) -> None:
        """Count an intervention of the safety filter."""
        self._count((SAFETY.name,))

    def command(self, topic: str) -> None:
        """Count a message on a command's topic."""
        self._count((topic,))

    def _count(self, topics: Iterable[str]) -> None:
        for topic in topics:
            self.published[topic] += 1

    def wait(self) -> None:
        """Wait while the recorder is too far behind.

        Raises:
            BenchFault: the recorder did not catch up in time.
        """
        self._lag.wait(self.published)

    def _report(self, message: RecordingStatus) -> None:
        self._lag.report(message.bag, {each.topic: each.count for each in message.received})


class Uncounted:
    """Takes the place of a ``RecorderWatch`` if no messages have to be counted."""

    def command(self, topic: str) -> None:
        """Count nothing."""
