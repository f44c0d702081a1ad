"""A base on two driven wheels as data: dimensions, limits, the camera on its mast, and its driver's interfaces."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import BeforeValidator, Field
from transforms3d.quaternions import axangle2quat, qmult, rotate_vector

from robocontrast_ros.configuration import record
from robocontrast_ros.domain import Pose
from robocontrast_ros.messages.topics import TF_MESSAGE, Topic
from robocontrast_ros.robots.drivers import BaseDriver, DriverRecord
from robocontrast_ros.robots.profile_base import CommandInterface, RobotProfile, Shape, StateInterface, Triple
from robocontrast_ros.robots.safety_limits import BaseSafety, reads

OPTICAL = (0.5, -0.5, 0.5, -0.5)
"""Orientation (w, x, y, z) of an optical frame (x right, y down, z forward) in one with x forward, y left, z up
(REP-103)."""


@record
class Wheels:
    """The two driven wheels; the base frame is on the floor, midway between them."""

    left: str = Field(min_length=1, description="Name of the left wheel's joint in the driver's joint_states.")
    right: str = Field(min_length=1, description="Name of the right wheel's joint.")
    radius: float = Field(gt=0.0, description="Radius of a wheel [m].")
    separation: float = Field(gt=0.0, description="Between the middles of the wheels [m].")
    width: float = Field(gt=0.0, description="Width of a wheel [m].")
    mass: float = Field(gt=0.0, description="Mass of a wheel [kg].")
    friction: float = Field(gt=0.0, description="Coefficient of friction on the floor.")
    torque: float = Field(gt=0.0, description="Greatest torque of a wheel's motor, after its gear [Nm].")
    gain: float = Field(gt=0.0, description="Gain of the wheels' speed controllers [Nm s/rad].")
    inertia: float = Field(ge=0.0, description="Inertia of motor and gear as the wheel sees it [kg m^2].")
    ticks: float = Field(gt=0.0, description="Ticks of the encoder in one turn of a wheel.")


@record
class Caster:
    """A wheel without a motor: in the simulator, a ball without friction."""

    position: tuple[float, float] = Field(description="x and y in the base frame [m].")
    radius: float = Field(gt=0.0, description="Radius [m].")
    clearance: float = Field(default=0.0, ge=0.0, description="How far above the floor it hangs [m].")


@record
class Body:
    """Everything on the wheels, as one rigid body in the base frame."""

    radius: float = Field(gt=0.0, description="Radius of the circle that contains the robot seen from above [m].")
    mass: float = Field(gt=0.0, description="Mass [kg].")
    center_of_mass: Triple = Field(description="Centre of mass [m].")
    inertia: Triple = Field(description="Moments of inertia about the centre of mass, x, y, z [kg m^2].")
    shapes: tuple[Shape, ...] = Field(min_length=1, description="For display and collisions.")


@record
class DriveLimits:
    """Limits of the driver, to which it clips commands."""

    linear_speed: float = Field(gt=0.0, description="Greatest speed, forwards and backwards [m/s].")
    angular_speed: float = Field(gt=0.0, description="Greatest turning speed [rad/s].")
    linear_acceleration: float = Field(gt=0.0, description="Greatest linear acceleration [m/s^2].")
    linear_deceleration: float = Field(gt=0.0, description="Greatest linear deceleration [m/s^2].")
    angular_acceleration: float = Field(gt=0.0, description="Greatest angular acceleration [rad/s^2].")
    angular_deceleration: float = Field(gt=0.0, description="Greatest angular deceleration [rad/s^2].")


@record
class CameraMount:
    """A camera on a fixed pan and tilt unit: base -> pan axis -> tilt axis -> lens."""

    camera: str = Field(min_length=1, description="Name of the camera among `cameras`.")
    pan_axis: Triple = Field(description="Where the pan axis is, in the base frame [m].")
    tilt_axis: Triple = Field(description="Where the tilt axis is, in the frame that pan turns [m].")
    lens: Triple = Field(description="Where the lens is, in the frame that tilt turns [m].")
    pan: float = Field(default=0.0, ge=-math.pi, le=math.pi, description="Held pan angle, to the left [rad].")
    tilt: float = Field(default=0.0, ge=-math.pi / 2, le=math.pi / 2, description="Held tilt angle, downwards [rad].")
    horizontal_view: float = Field(gt=0.0, lt=math.pi, description="Horizontal field of view [rad].")
    width: int = Field(gt=0, description="Columns of the driver's images [pixel].")
    height: int = Field(gt=0, description="Rows of the driver's images [pixel].")

    @property
    def optical_pose(self) -> Pose:
        """Pose of the camera's optical frame (REP-103: x right, y down, z forward) in the base frame."""
        pan = axangle2quat((0.0, 0.0, 1.0), self.pan, is_normalized=True)
        tilt = qmult(pan, axangle2quat((0.0, 1.0, 0.0), self.tilt, is_normalized=True))
        arm, lens = rotate_vector(self.tilt_axis, pan), rotate_vector(self.lens, tilt)
        x, y, z = (np.asarray(self.pan_axis) + arm + lens).tolist()
        w, qx, qy, qz = qmult(tilt, OPTICAL).tolist()
        return Pose((x, y, z), (qx, qy, qz, w))

    @property
    def vertical_view(self) -> float:
        """Vertical field of view of the driver's images [rad]."""
        return 2 * math.atan(math.tan(self.horizontal_view / 2) * self.height / self.width)


@record
class TwistInterface(CommandInterface):
    """The topic of a driver's velocity commands, in the base frame."""

    type: Literal["geometry_msgs/msg/Twist"] = Field(description="Type of the commands.")
    timeout: float = Field(gt=0.0, description="The driver stops the base after this long without a command [s].")


@record
class OdometryInterface(StateInterface):
    """The topic of a driver's odometry."""

    type: Literal["nav_msgs/msg/Odometry"] = Field(description="Type of the state.")


@record
class DifferentialDriveProfile(RobotProfile):
    """A base that drives on two wheels."""

    KNOWN_SPACES: ClassVar[tuple[str, ...]] = ("discrete_navigation",)
    DRIVER: ClassVar[DriverRecord] = BaseDriver

    type: Literal["differential_drive"] = Field(description="Kind of robot.")
    base_frame: str = Field(min_length=1, description="Frame on the floor, midway between the wheels, x ahead.")
    odom_frame: str = Field(min_length=1, description="Frame that the driver's odometry starts from.")
    wheels: Wheels = Field(description="The driven wheels.")
    casters: tuple[Caster, ...] = Field(min_length=1, description="The other wheels.")
    body: Body = Field(description="Everything on the wheels.")
    limits: DriveLimits = Field(description="Greatest speeds and accelerations.")
    safety: Annotated[BaseSafety, BeforeValidator(reads(BaseSafety))] = Field(
        default=BaseSafety(),
        description="Limits of what is commanded: name or path of a file of config/safety/, or its keys.",
    )
    gyro_resolution: float = Field(ge=0.0, description="Resolution of the gyro's heading [rad]; 0 for exact.")
    mount: CameraMount = Field(description="The camera on the mast.")
    command: TwistInterface = Field(description="Where the driver takes commands.")
    driver: BaseDriver | None = Field(default=None, description="Settings of ports other than `topics`.")
    state: OdometryInterface = Field(description="Where the driver publishes odometry.")
    joint_states_topic: str = Field(min_length=1, description="sensor_msgs/msg/JointState of the wheels.")
    contacts_topic: str = Field(
        description="robocontrast_ros/msg/Contacts: the entities that the robot touches; empty if no node publishes "
        "them."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        names = [camera.name for camera in self.cameras]
        if self.mount.camera not in names:
            raise ValueError(f"`mount.camera` among `cameras` ({', '.join(names)}), not '{self.mount.camera}'")
        if self.wheels.left == self.wheels.right:
            raise ValueError(f"another name for the right wheel's joint than '{self.wheels.left}'")
        if self.wheels.separation / 2 >= self.body.radius:
            raise ValueError(
                f"`wheels.separation` below twice `body.radius` ({2 * self.body.radius:g} m), "
                f"not {self.wheels.separation:g}"
            )
        space = self.action_spaces.discrete_navigation
        for speed, limit in (("forward_speed", "linear_speed"), ("turn_speed", "angular_speed")):
            if space is not None and getattr(space, speed) > getattr(self.limits, limit):
                raise ValueError(
                    f"`action_spaces.discrete_navigation.{speed}` within `limits.{limit}` "
                    f"({getattr(self.limits, limit):g}), not {getattr(space, speed):g}"
                )

    @property
    def mobile(self) -> bool:
        """True."""
        return True

    @property
    def own_cameras(self) -> tuple[str, ...]:
        """The camera on the mast."""
        return (self.mount.camera,)

    @property
    def reports_contacts(self) -> bool:
        """Whether the driver has a topic for contacts."""
        return bool(self.contacts_topic)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the wheels' joints: left, right."""
        return (self.wheels.left, self.wheels.right)

    @property
    def joint_speeds(self) -> dict[str, float]:
        """Greatest speed of each wheel, by its joint's name [rad/s]: at full speed ahead and full turn at once."""
        speed = self.limits.linear_speed + self.limits.angular_speed * self.wheels.separation / 2
        return dict.fromkeys(self.joint_names, speed / self.wheels.radius)

    @property
    def driver_topics(self) -> tuple[Topic, ...]:
        """Topics that the driver publishes at every step besides images; odometry is the first."""
        contacts = Topic(self.contacts_topic, "robocontrast_ros/msg/Contacts")
        return (
            Topic(self.state.topic, self.state.type),
            Topic(self.joint_states_topic, "sensor_msgs/msg/JointState"),
            *((contacts,) if self.contacts_topic else ()),
            Topic(self.transforms_topic, TF_MESSAGE),
        )

    @property
    def latched_topics(self) -> tuple[Topic, ...]:
        """Topics that the driver publishes once, also for late subscribers."""
        return (Topic(self.static_transforms_topic, TF_MESSAGE),)
