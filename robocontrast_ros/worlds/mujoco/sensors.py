"""What the driver of a simulated robot, and those of its cameras, publish besides images, as records."""

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
        names: of the joints.
        positions: [rad].
        velocities: [rad/s].
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
        pose: of the base frame in the odometry frame.
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
    """A robot's description, as `robot_description` has it.

    Attributes:
        urdf: the document.
    """

    urdf: str


@dataclass(frozen=True)
class Contacts:
    """What the robot touched since the previous sensors.

    Attributes:
        entities: their names, sorted; the floor is none.
        carried: names of movable entities that touched a movable one which the robot touched then too, sorted.
    """

    entities: tuple[str, ...]
    carried: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sensor:
    """One thing that the driver publishes.

    Attributes:
        topic: of the message.
        frame_id: frame of the message's header, where it has one.
        value: what is published.
    """

    topic: str
    frame_id: str
    value: JointState | Odometry | Transforms | Description | Contacts


@dataclass(frozen=True)
class CameraInfo:
    """A pinhole camera without distortion, in its optical frame (REP-105: x right, y down, z forward).

    Attributes:
        width: [pixel].
        height: [pixel].
        k: intrinsic matrix, row-major, 9 numbers [pixel].
    """

    width: int
    height: int
    k: tuple[float, ...]
