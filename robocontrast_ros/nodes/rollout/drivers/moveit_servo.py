"""The tool's velocity for MoveIt Servo, from the joint positions that a controller commands."""

from __future__ import annotations

import math

from geometry_msgs.msg import TwistStamped
from transforms3d.quaternions import rotate_vector

from robocontrast_ros.domain import Pose
from robocontrast_ros.domain.rotations import between, turned
from robocontrast_ros.nodes.rollout.drivers.arm import ArmRobot
from robocontrast_ros.nodes.rollout.drivers.controllers import ControllerParameters
from robocontrast_ros.nodes.rollout.drivers.faults import (
    Kind,
    absence,
    await_subscriber,
    interface,
    require_subscriber,
    robot_fault,
)
from robocontrast_ros.nodes.rollout.drivers.stream import Stream
from robocontrast_ros.nodes.runtime.channel import NoAnswer, first_call
from robocontrast_ros.nodes.runtime.qos import RECORDED
from robocontrast_ros.robots.commands import JointTrajectoryCommand, RobotCommand
from robocontrast_ros.robots.kinematics import Kinematics
from robocontrast_ros.robots.manipulator import ManipulatorProfile

GAIN = 2.0
"""Additional speed of the tool for each metre (or radian) of its error [1/s]."""

SETTLE = 0.5
"""Time for which velocities make up for lag after the end of a motion, unless the next begins [s]."""

ZEROS = 5
"""Number of times that a stop is sent; after that Servo halts by itself, because no command is new enough."""


class MoveItServoRobot(ArmRobot):
    """The port `moveit_servo`: the flange follows its pose at the commanded joint positions, by forward kinematics.

    Servo solves for the joints itself, so an arm of seven joints may not turn its elbow as commanded.
    """

    _profile: ManipulatorProfile

    def _connect(self) -> None:
        super()._connect()
        self._settings = settings = self._profile.driver.moveit_servo
        self._twists = f"{settings.node}/delta_twist_cmds"
        self._publisher = self._node.create_publisher(TwistStamped, self._twists, RECORDED)
        self._parameters_of = ControllerParameters(self._node, settings.node, self._timeout)
        if settings.api == "services":
            kind, pause = interface("moveit_msgs/srv/ServoCommandType"), interface("std_srvs/srv/SetBool")
            self._starts = (
                (self._node.create_client(kind, f"{settings.node}/switch_command_type"), kind.Request(command_type=1)),
                (self._node.create_client(pause, f"{settings.node}/pause_servo"), pause.Request(data=False)),
            )
        else:
            kind = interface("std_srvs/srv/Trigger")
            self._starts = ((self._node.create_client(kind, f"{settings.node}/start_servo"), kind.Request()),)
        self._kinematics = Kinematics(self._profile)
        # From `world`, the frame of poses, to the planning frame.
        self._yaw = settings.frame_yaw - self._profile.base_yaw
        self._in_flange = self._profile.end_effector.tool_pose
        self._at: tuple[float, ...] | None = None
        self._stream = Stream(settings.rate, self._trouble)

    def stop_sending(self) -> None:
        """Stop the repeated messages between two control steps."""
        self._stream.play(None)
        self._at = None

    def close(self) -> None:
        """End the stream, and release the driver."""
        self._stream.close()
        super().close()

    def _check_driver(self) -> None:
        await_subscriber(self._node, self._twists, self._timeout)
        self._check_parameters()
        for client, _ in self._starts:
            if not client.wait_for_service(timeout_sec=self._timeout):
                name = client.srv_name.removeprefix(self._node.get_namespace()).strip("/")
                raise robot_fault(
                    f"{absence(self._node, name, Kind.SERVICE)}. `driver.moveit_servo.api` is '{self._settings.api}': "
                    "`services` from Jazzy on, `start_servo` on Humble"
                )

    def _start_driver(self) -> None:
        for client, request in self._starts:
            try:
                answer = first_call(client, request, self._timeout)
            except NoAnswer as error:
                raise robot_fault(f"{error}; restart Servo") from None
            if not answer.success:
                said = getattr(answer, "message", "") or "it says no more; its log does"
                raise robot_fault(f"'{client.srv_name}' refused: {said}")
        self._at = None

    def _check_parameters(self) -> None:
        units, timeout = self._parameters_of.read(
            "moveit_servo.command_in_type", "moveit_servo.incoming_command_timeout"
        )
        if units is not None and units != self._settings.units:
            raise robot_fault(
                f"Servo takes `command_in_type: {units}`, `driver.moveit_servo.units` is '{self._settings.units}': "
                "the arm would move at another speed; set both alike"
            )
        if timeout is not None and timeout * self._settings.rate < 2.0:
            raise robot_fault(
                f"Servo drops commands older than {timeout:g} s (`incoming_command_timeout`), and they are repeated at "
                f"{self._settings.rate:g} Hz (`driver.moveit_servo.rate`): raise the rate"
            )

    def _move(self, command: JointTrajectoryCommand) -> None:
        there = dict(zip(command.names, command.positions, strict=True))
        target, duration = tuple(there[name] for name in self._profile.joint_names), command.duration
        start = self._at or self._measured(self._profile.joint_names) or target
        step, zeros = 1.0 / self._settings.rate, 0

        def along(elapsed: float) -> tuple[float, ...]:
            share = min(elapsed / duration, 1.0) if duration > 0.0 else 1.0
            return tuple(a + share * (b - a) for a, b in zip(start, target, strict=True))

        def tick(elapsed: float) -> bool:
            nonlocal zeros
            if elapsed >= duration + SETTLE:
                self._at = None
                self._publish((0.0,) * 3, (0.0,) * 3)
                zeros += 1
                return zeros < ZEROS
            self._at = along(elapsed)
            wanted, soon = self._flange(self._at), self._flange(along(elapsed + step))
            here = self._flange(self._measured(self._profile.joint_names) or self._at)
            self._publish(
                [
                    (c - b) / step + GAIN * (b - a)
                    for a, b, c in zip(here.position, wanted.position, soon.position, strict=True)
                ],
                [
                    ahead / step + GAIN * off
                    for ahead, off in zip(
                        between(wanted.orientation, soon.orientation),
                        between(here.orientation, wanted.orientation),
                        strict=True,
                    )
                ],
            )
            return True

        self._stream.play(tick)

    def _halt(self, command: RobotCommand | None) -> None:
        self._at, zeros = None, 0

        def tick(_: float) -> bool:
            nonlocal zeros
            self._publish((0.0,) * 3, (0.0,) * 3)
            zeros += 1
            return zeros < ZEROS

        self._stream.play(tick)
        require_subscriber(self._publisher, self._twists)

    def _flange(self, joints: tuple[float, ...]) -> Pose:
        """Return the pose of the flange in the world, the end of Servo's move group."""
        tool, (x, y, z, w) = self._kinematics.tool_pose(joints), self._in_flange.orientation
        orientation = turned((-x, -y, -z, w), tool.orientation)
        qx, qy, qz, qw = orientation
        offset = rotate_vector(self._in_flange.position, (qw, qx, qy, qz))
        position = tuple(float(a - b) for a, b in zip(tool.position, offset, strict=True))
        return Pose(position, orientation)

    def _publish(self, linear: list[float], angular: list[float]) -> None:
        """Publish a velocity in the world, stamped now, because Servo drops messages older than 0.1 s."""
        settings, twist = self._settings, TwistStamped()
        unitless = settings.units == "unitless"
        twist.header.stamp = self._node.get_clock().now().to_msg()
        twist.header.frame_id = settings.frame
        for vector, values, scale in (
            (twist.twist.linear, linear, settings.linear_scale),
            (twist.twist.angular, angular, settings.rotational_scale),
        ):
            x, y = _turned(values[0], values[1], self._yaw)
            if unitless:
                # Shares beyond 1 are refused as a whole.
                longest = max(math.dist((x, y, values[2]), (0.0, 0.0, 0.0)), scale)
                x, y, values = x / longest, y / longest, (0.0, 0.0, values[2] / longest)
            vector.x, vector.y, vector.z = x, y, float(values[2])
        self._publisher.publish(twist)


def _turned(x: float, y: float, angle: float) -> tuple[float, float]:
    return x * math.cos(angle) - y * math.sin(angle), x * math.sin(angle) + y * math.cos(angle)
