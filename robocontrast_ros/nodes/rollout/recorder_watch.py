"""What was published since a trial's recording began, and the wait for a recorder that is too far behind."""

from __future__ import annotations

from collections.abc import Iterable

from rclpy.node import Node

from robocontrast_ros.bags.recorder_lag import RecorderLag
from robocontrast_ros.msg import RecordingStatus
from robocontrast_ros.nodes.rollout.parameters import RolloutParameters
from robocontrast_ros.nodes.runtime.qos import LATCHED
from robocontrast_ros.robots.profile_base import RobotProfile


class RecorderWatch:
    """Counts the messages of each recorded topic, as far as the rollout knows of them.

    Attributes:
        images: the topics with a message for each image.
        steps: the topics with a message for each control step.
        commands: the topic with a message for each command.
        published: messages by topic, since ``begin``.
    """

    def __init__(self, node: Node, profile: RobotProfile, parameters: RolloutParameters) -> None:
        """Subscribe to the recorder's status, and count for no bag."""
        self.images = tuple(t for camera in profile.cameras for t in (camera.image_topic, camera.info_topic))
        drivers = (topic for topic, _ in profile.driver_topics)
        self.steps = ("clock", *drivers, "tool_pose", "scene", "progress")
        self.commands = (profile.command.topic,)
        depths = {camera.image_topic: parameters.image_depth for camera in profile.cameras}
        self._lag = RecorderLag(depths, parameters.recording_timeout)
        node.create_subscription(RecordingStatus, f"{parameters.recorder}/status", self._report, LATCHED)
        self.begin("")

    def begin(self, bag: str) -> None:
        """Count from now on for a bag; without a name there is no recorder to wait for."""
        self.published = dict.fromkeys((*self.images, *self.steps, *self.commands), 0)
        self._lag.begin(bag)

    def count(self, topics: Iterable[str]) -> None:
        """Count one message on each topic."""
        for topic in topics:
            self.published[topic] += 1

    def wait(self) -> None:
        """Wait while the recorder is too far behind.

        Raises:
            BenchFault: it did not catch up in time.
        """
        self._lag.wait(self.published)

    def _report(self, message: RecordingStatus) -> None:
        self._lag.report(message.bag, {each.topic: each.count for each in message.received})
