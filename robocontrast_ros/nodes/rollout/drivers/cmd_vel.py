"""A base that is driven by its velocity topic, with its pose from a localiser if one runs, else from odometry."""

from __future__ import annotations

import time

from robocontrast_ros.domain import Pose, seconds
from robocontrast_ros.nodes.conversions.domain import message_class
from robocontrast_ros.nodes.conversions.driver import command_to_msgs
from robocontrast_ros.nodes.rollout.drivers.faults import await_subscriber, require_subscriber
from robocontrast_ros.nodes.rollout.drivers.robot import DriverRobot
from robocontrast_ros.nodes.rollout.drivers.stream import Stream
from robocontrast_ros.nodes.rollout.drivers.transforms import Transforms
from robocontrast_ros.nodes.runtime.qos import RECORDED
from robocontrast_ros.objects.frames import compose
from robocontrast_ros.robots.commands import RobotCommand, TwistCommand
from robocontrast_ros.robots.differential_drive import DifferentialDriveProfile
from robocontrast_ros.robots.state_estimation import OdometryReading, Reading

PERIODS = 2.0
"""Control periods for which a velocity is repeated, unless the next comes; then the base is stopped."""

ZEROS = 3
"""Number of times that a stop is sent, because one may be lost."""


class CmdVelRobot(DriverRobot):
    """The port `cmd_vel`.

    Attributes:
        pose_source: the source of the base's pose, in words.
    """

    _profile: DifferentialDriveProfile

    def _connect(self) -> None:
        super()._connect()
        self._settings = self._profile.driver.cmd_vel
        self._publisher = self._node.create_publisher(
            message_class(self._profile.command.type), self._profile.command.topic, RECORDED
        )
        self._transforms = Transforms(self._node, self._profile.transforms_topic, self._profile.static_transforms_topic)
        self._stream = Stream(self._settings.rate, self._trouble)
        self._localised: bool | None = None

    @property
    def pose_source(self) -> str:
        """The source of the base's pose, in words."""
        if self._localised is None:
            return ""
        odometry = f"odometry ({self.topic})"
        return (
            f"{self._settings.map_frame} -> {self._profile.base_frame} by tf and {odometry}"
            if self._localised
            else odometry
        )

    def state(self, after: int) -> Reading:
        """Return the odometry, or the pose in the world, by `map_pose`, if a localiser runs.

        The choice does not change within an episode, because the pose would jump.
        """
        reading = super().state(after)
        frame = self._settings.map_frame
        # The localiser corrects odometry slowly, so its newest correction is valid for the reading.
        found = self._transforms.find(frame, self._profile.odom_frame)
        if self._localised is None or not self._ready:
            before, self._localised = self._localised, found is not None
            if before is not self._localised:
                self._node.get_logger().info(f"the pose of the base is from {self.pose_source}")
        if not self._localised:
            return reading
        if found is None:
            raise self._unready(f"the transform {frame} -> {self._profile.odom_frame} is gone: restart the localiser")
        correction, stamp = found
        age = seconds(time.time_ns() - stamp) if stamp is not None and self._driver.clock_tolerance is not None else 0.0
        if age > self._settings.localiser_timeout:
            raise self._unready(
                f"the localiser's newest transform {frame} -> {self._profile.odom_frame} is {age:.1f} s old, more than "
                f"`driver.cmd_vel.localiser_timeout` ({self._settings.localiser_timeout:g} s): restart it"
            )
        in_map = compose(correction, reading.pose)
        return OdometryReading(reading.stamp, compose(Pose.planar(*self._settings.map_pose), in_map), localised=True)

    def stop_sending(self) -> None:
        """Stop the repeated messages between two control steps."""
        self._stream.play(None)

    def close(self) -> None:
        """End the stream."""
        self._stream.close()

    def _check(self) -> None:
        await_subscriber(self._node, self._profile.command.topic, self._timeout)

    def _send(self, command: RobotCommand) -> None:
        self._drive(command, PERIODS * self._parameters.control_period)

    def _halt(self, command: RobotCommand | None) -> None:
        self._drive(TwistCommand(), 0.0)
        require_subscriber(self._publisher, self._profile.command.topic)

    def _drive(self, command: TwistCommand, duration: float) -> None:
        """Publish a velocity at once and repeatedly, then zeros."""
        self._publish(command)
        zeros = 0

        def tick(elapsed: float) -> bool:
            nonlocal zeros
            if elapsed < duration:
                self._publish(command)
                return True
            self._publish(TwistCommand())
            zeros += 1
            return zeros < ZEROS

        self._stream.play(tick)

    def _publish(self, command: TwistCommand) -> None:
        ((_, message),) = command_to_msgs(self._profile, command, 0)
        self._publisher.publish(message)
