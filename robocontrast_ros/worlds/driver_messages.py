"""Messages of a robot's driver and of the simulator's clock, of any message classes.

It does for records of ``worlds`` and ``robots`` what ``robocontrast_ros.messages.encoding`` does for others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.domain import NANOSECONDS, Scene, nanoseconds
from robocontrast_ros.messages.encoding import Encoder, MakeMessage
from robocontrast_ros.policies.protocol import Observation
from robocontrast_ros.robots.commands import GripperCommand, JointTrajectoryCommand, RobotCommand, TwistCommand
from robocontrast_ros.robots.profile_base import RobotProfile
from robocontrast_ros.worlds.mujoco.sensors import (
    CameraInfo,
    Contacts,
    Description,
    JointState,
    Odometry,
    Sensor,
    Transforms,
)

if TYPE_CHECKING:
    from robocontrast_ros.robots.description import Transform


class DriverEncoder:
    """Makes the messages of a driver; stamps are in nanoseconds."""

    def __init__(self, make: MakeMessage) -> None:
        """Take the function that makes a message."""
        self._make, self._domain = make, Encoder(make)
        self._sensors: dict[type, Callable[[Any, Any], Any]] = {
            Contacts: self._contacts,
            Description: self._description,
            JointState: self._joint_state,
            Odometry: self._odometry,
            Transforms: self._transforms,
        }

    def clock(self, stamp: int) -> Any:
        """Return a time as rosgraph_msgs/Clock."""
        return self._make("rosgraph_msgs/msg/Clock", clock=self._domain.time(stamp))

    def sensor(self, sensor: Sensor, stamp: int) -> Any:
        """Return the message that the driver publishes for a sensor."""
        return self._sensors[type(sensor.value)](sensor.value, self._domain.header(sensor.frame_id, stamp))

    def command(self, robot: RobotProfile, command: RobotCommand, stamp: int) -> Iterator[tuple[str, Any]]:
        """Yield the messages of a command for the driver, each with its topic.

        Args:
            robot: the driver's robot.
            command: the command for the robot.
            stamp: time of the observation that it answers [ns]; only a joint trajectory has a stamp.
        """
        if isinstance(command, TwistCommand):
            yield robot.command_topic(robot.command), self._twist(command.linear, command.angular)
            return
        if isinstance(command, JointTrajectoryCommand):
            yield robot.command_topic(robot.command), self._joint_trajectory(command, stamp)
        position = command.position if isinstance(command, GripperCommand) else command.gripper
        if position is not None:
            yield (
                robot.command_topic(robot.gripper_command),
                self._make("std_msgs/msg/Float64MultiArray", data=[position]),
            )

    def _joint_trajectory(self, command: JointTrajectoryCommand, stamp: int) -> Any:
        duration = nanoseconds(command.duration)
        point = self._make(
            "trajectory_msgs/msg/JointTrajectoryPoint",
            positions=list(command.positions),
            time_from_start=self._make(
                "builtin_interfaces/msg/Duration", sec=duration // NANOSECONDS, nanosec=duration % NANOSECONDS
            ),
        )
        return self._make(
            "trajectory_msgs/msg/JointTrajectory",
            header=self._domain.header("", stamp),
            joint_names=list(command.names),
            points=[point],
        )

    def image(self, pixels: NDArray[np.uint8], frame_id: str, stamp: int) -> Any:
        """Return uint8 pixels of shape (height, width, 3), RGB, as an image of encoding rgb8."""
        return self._domain.image(pixels, frame_id, stamp)

    def observation(self, observation: Observation, frame_id: str, images: Mapping[str, Any]) -> Any:
        """Return the observation of a policy, with images as messages; ``frame_id`` is the frame of its poses."""
        width, closed = observation.gripper_width, observation.gripper_closed
        make, domain, stamp = self._make, self._domain, observation.stamp
        return make(
            "robocontrast_ros/msg/Observation",
            header=domain.header(frame_id, stamp),
            cameras=list(images),
            images=list(images.values()),
            joints=make(
                "sensor_msgs/msg/JointState",
                header=domain.header("", stamp),
                name=list(observation.joint_names),
                position=list(observation.joint_positions),
            ),
            tool_pose=domain.pose(observation.tool_pose),
            gripper_width=math.nan if width is None else width,
            gripper_closed=math.nan if closed is None else closed,
            scene=domain.scene(observation.scene or Scene(frame_id=frame_id), stamp),
        )

    def camera_info(self, info: CameraInfo, frame_id: str, stamp: int) -> Any:
        """Return a camera's intrinsics: no distortion, no rectification."""
        fx, _, cx, _, fy, cy, *_ = info.k
        return self._make(
            "sensor_msgs/msg/CameraInfo",
            header=self._domain.header(frame_id, stamp),
            height=info.height,
            width=info.width,
            distortion_model="plumb_bob",
            d=[0.0] * 5,
            k=list(info.k),
            r=[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
            p=[fx, 0.0, cx, 0.0, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0],
        )

    def _contacts(self, contacts: Contacts, header: Any) -> Any:
        entities, carried = list(contacts.entities), list(contacts.carried)
        return self._make("robocontrast_ros/msg/Contacts", header=header, entities=entities, carried=carried)

    def _joint_state(self, joints: JointState, header: Any) -> Any:
        return self._make(
            "sensor_msgs/msg/JointState",
            header=header,
            name=list(joints.names),
            position=list(joints.positions),
            velocity=list(joints.velocities),
            effort=list(joints.efforts),
        )

    def _odometry(self, odometry: Odometry, header: Any) -> Any:
        """Return the odometry; its covariances stay zero, which means unknown."""
        return self._make(
            "nav_msgs/msg/Odometry",
            header=header,
            child_frame_id=odometry.child_frame,
            pose=self._make("geometry_msgs/msg/PoseWithCovariance", pose=self._domain.pose(odometry.pose)),
            twist=self._make(
                "geometry_msgs/msg/TwistWithCovariance", twist=self._twist(odometry.linear, odometry.angular)
            ),
        )

    def _description(self, description: Description, _: Any) -> Any:
        return self._make("std_msgs/msg/String", data=description.urdf)

    def _transforms(self, transforms: Transforms, header: Any) -> Any:
        """Return the poses, all at the header's time."""
        return self._make(
            "tf2_msgs/msg/TFMessage", transforms=[self._transform(t, header) for t in transforms.transforms]
        )

    def _transform(self, transform: Transform, header: Any) -> Any:
        x, y, z = transform.pose.position
        return self._make(
            "geometry_msgs/msg/TransformStamped",
            header=self._make("std_msgs/msg/Header", stamp=header.stamp, frame_id=transform.frame_id),
            child_frame_id=transform.child_frame,
            transform=self._make(
                "geometry_msgs/msg/Transform",
                translation=self._make("geometry_msgs/msg/Vector3", x=x, y=y, z=z),
                rotation=self._domain.pose(transform.pose).orientation,
            ),
        )

    def _twist(self, linear: float, angular: float) -> Any:
        return self._make(
            "geometry_msgs/msg/Twist",
            linear=self._make("geometry_msgs/msg/Vector3", x=linear),
            angular=self._make("geometry_msgs/msg/Vector3", z=angular),
        )
