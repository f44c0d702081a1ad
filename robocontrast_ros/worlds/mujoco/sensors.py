"""Records of the data, besides images, that the drivers of a simulated robot and of its cameras publish."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from robocontrast_ros.domain import Pose

if TYPE_CHECKING:
    from robocontrast_ros.robots.description import Transform


@dataclass(frozen=True)
class JointState:
    """The robot's joints, in the order of its profile.

    Attributes:
        names: names of the joints.
        positions: positions [rad].
        velocities: velocities [rad/s].
        efforts: torques of the servos [Nm].
    """

    names: tuple[str, ...]
    positions: tuple[float, ...]
    velocities: tuple[float, ...]
    efforts: tuple[float, ...]


@dataclass(frozen=True)
class Odometry:
    """Odometry of a base since its driver was started.

    Attributes:
        child_frame: the base frame.
        pose: pose of the base frame in the odometry frame.
        linear: speed ahead [m/s].
        angular: turning speed, to the left [rad/s].
    """

    child_frame: str
    pose: Pose
    linear: float
    angular: float


@dataclass(frozen=True)
class Transforms:
    """One message of tf: poses of frames in others."""

    transforms: tuple[Transform, ...]


@dataclass(frozen=True)
class Description:
    """A robot's description, as in `robot_description`.

    Attributes:
        urdf: the document.
    """

    urdf: str


@dataclass(frozen=True)
class Contacts:
    """The contacts of the robot since the previous sensors.

    Attributes:
        entities: names of the entities that it touched, sorted; the floor is not an entity.
        carried: names of the movable entities that touched a movable one that the robot also touched then, sorted.
    """

    entities: tuple[str, ...]
    carried: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sensor:
    """One message that the driver publishes.

    Attributes:
        topic: topic of the message.
        frame_id: frame of the message's header, if it has one.
        value: the published value.
    """

    topic: str
    frame_id: str
    value: JointState | Odometry | Transforms | Description | Contacts


@dataclass(frozen=True)
class CameraInfo:
    """A pinhole camera without distortion, in its optical frame (REP-105: x right, y down, z forward).

    Attributes:
        width: width [pixel].
        height: height [pixel].
        k: intrinsic matrix, row-major, 9 numbers [pixel].
    """

    width: int
    height: int
    k: tuple[float, ...]
