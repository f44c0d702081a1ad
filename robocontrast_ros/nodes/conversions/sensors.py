"""Messages of a robot's driver, besides images: of a simulated one, and to readings of its state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from geometry_msgs.msg import Transform as TransformMsg
from geometry_msgs.msg import TransformStamped, Twist, Vector3
from nav_msgs.msg import Odometry as OdometryMsg
from sensor_msgs.msg import JointState as JointStateMsg
from std_msgs.msg import Header
from tf2_msgs.msg import TFMessage

from robocontrast_ros.messages.decoding import pose_from_msg
from robocontrast_ros.msg import Contacts as ContactsMsg
from robocontrast_ros.nodes.conversions.domain import header, pose_to_msg
from robocontrast_ros.nodes.conversions.time import seconds
from robocontrast_ros.robots.state_estimation import JointReading, OdometryReading, Reading
from robocontrast_ros.worlds.mujoco.sensors import Contacts, JointState, Odometry, Sensor, Transform


def reading_from_msg(message: Any) -> Reading:
    """Return the reading of a message of the state interface.

    Raises:
        ValueError: an odometry's pose is not valid.
    """
    stamp = seconds(message.header.stamp)
    if isinstance(message, OdometryMsg):
        return OdometryReading(stamp, pose_from_msg(message.pose.pose))
    return JointReading(stamp, tuple(message.name), tuple(message.position))


def sensor_to_msg(sensor: Sensor, stamp: float) -> Any:
    """Return the message that the driver publishes for a sensor at a time [s]."""
    return _CONVERSIONS[type(sensor.value)](sensor.value, header(sensor.frame_id, stamp))


def _joint_state(joints: JointState, header_: Header) -> JointStateMsg:
    return JointStateMsg(
        header=header_,
        name=list(joints.names),
        position=list(joints.positions),
        velocity=list(joints.velocities),
        effort=list(joints.efforts),
    )


def _odometry(odometry: Odometry, header_: Header) -> OdometryMsg:
    """Return the odometry; its covariances are left at zero, which stands for unknown."""
    message = OdometryMsg(header=header_, child_frame_id=odometry.child_frame)
    message.pose.pose = pose_to_msg(odometry.pose)
    message.twist.twist = Twist(linear=Vector3(x=odometry.linear), angular=Vector3(z=odometry.angular))
    return message


def _contacts(contacts: Contacts, header_: Header) -> ContactsMsg:
    return ContactsMsg(header=header_, entities=list(contacts.entities))


def _transform(transform: Transform, header_: Header) -> TFMessage:
    pose = pose_to_msg(transform.pose)
    x, y, z = transform.pose.position
    stamped = TransformStamped(header=header_, child_frame_id=transform.child_frame)
    stamped.transform = TransformMsg(translation=Vector3(x=x, y=y, z=z), rotation=pose.orientation)
    return TFMessage(transforms=[stamped])


_CONVERSIONS: dict[type, Callable[[Any, Header], Any]] = {
    Contacts: _contacts,
    JointState: _joint_state,
    Odometry: _odometry,
    Transform: _transform,
}
