"""An arm as data: kinematics, limits, tool, base pose, and its driver's interfaces."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, SerializeAsAny, model_validator

from robocontrast_ros.configuration import record
from robocontrast_ros.domain import Pose
from robocontrast_ros.domain.channels import GRIPPER_OBSERVATIONS
from robocontrast_ros.messages.topics import Topic
from robocontrast_ros.robots.drivers import ArmDriver, DriverRecord
from robocontrast_ros.robots.end_effectors.base import EndEffector
from robocontrast_ros.robots.end_effectors.loading import read_end_effector
from robocontrast_ros.robots.profile_base import (
    CommandInterface,
    RobotProfile,
    Shape,
    StateInterface,
    Triple,
)
from robocontrast_ros.robots.safety_limits import ArmSafety, reads


@record
class Joint:
    """A revolute joint."""

    name: str = Field(min_length=1, description="Name of the joint in the driver's joint_states.")
    lower: float = Field(description="Lower position limit [rad].")
    upper: float = Field(description="Upper position limit [rad].")
    velocity: float = Field(gt=0.0, description="Greatest speed [rad/s].")
    effort: float = Field(gt=0.0, description="Greatest torque [Nm].")

    def __post_init__(self) -> None:
        if not self.lower < self.upper:
            raise ValueError(f"`lower` < `upper` for joint '{self.name}' (got {self.lower} and {self.upper})")


@record
class DenavitHartenberg:
    """One row of the table of Denavit-Hartenberg parameters."""

    a: float = Field(description="Distance along x [m].")
    d: float = Field(description="Distance along z [m].")
    alpha: float = Field(description="Angle about x [rad].")


@record
class Link:
    """A moving link, in the frame of the joint at the same place in the list."""

    mass: float = Field(gt=0.0, description="Mass [kg].")
    shapes: tuple[Shape, ...] = Field(default=(), description="For display and collisions.")


@record
class Workspace:
    """Bounds of the tool's tip, in the frame `world`."""

    x: tuple[float, float] = Field(description="Least and greatest x [m].")
    y: tuple[float, float] = Field(description="Least and greatest y [m].")
    z: tuple[float, float] = Field(description="Least and greatest z [m].")

    def __post_init__(self) -> None:
        for axis in "xyz":
            lower, upper = getattr(self, axis)
            if not lower < upper:
                raise ValueError(f"`{axis}` as [least, greatest] (got [{lower}, {upper}])")

    def clamp(self, position: Triple) -> Triple:
        """Return the nearest point inside [m]."""
        x, y, z = (
            min(max(value, lower), upper)
            for value, (lower, upper) in zip(position, (self.x, self.y, self.z), strict=True)
        )
        return x, y, z


@record
class Servo:
    """Gains of the embedded simulator's joint servos, which replace the real controller's."""

    stiffness: tuple[float, ...] = Field(description="One gain a joint [Nm/rad].")
    damping: tuple[float, ...] = Field(description="One gain a joint [Nms/rad].")
    armature: float = Field(default=0.1, ge=0.0, description="Reflected rotor inertia of each joint [kg m^2].")


@record
class TrajectoryInterface(CommandInterface):
    """The topic of a driver's joint trajectories of one point."""

    type: Literal["trajectory_msgs/msg/JointTrajectory"] = Field(description="Type of the commands.")
    horizon: float | None = Field(default=None, description="Ignored; the next release refuses it.")


@record
class GripperInterface(CommandInterface):
    """The topic of the position of a hand's driven joint, as ros2_control's forward controllers take it."""

    type: Literal["std_msgs/msg/Float64MultiArray"] = Field(description="Type of the commands: one number.")


@record
class JointStateInterface(StateInterface):
    """The topic of a driver's joint states."""

    type: Literal["sensor_msgs/msg/JointState"] = Field(description="Type of the state.")


@record
class HandCamera:
    """A camera that moves with the tool: it looks at a point, and the y axis of `tool` points right in its images."""

    camera: str = Field(min_length=1, description="Name of the camera among `cameras`.")
    lens: Triple = Field(description="Where the lens is, in the frame `tool` [m].")
    target: Triple = Field(description="What it looks at, in the frame `tool` [m].")
    horizontal_view: float = Field(gt=0.0, lt=math.pi, description="Horizontal field of view [rad].")
    width: int = Field(gt=0, description="Columns of the driver's images [pixel].")
    height: int = Field(gt=0, description="Rows of the driver's images [pixel].")

    def __post_init__(self) -> None:
        if math.dist(self.lens[::2], self.target[::2]) == 0.0:
            raise ValueError("`lens` and `target` at different places, not beside each other along y")

    @property
    def vertical_view(self) -> float:
        """Vertical field of view [rad]."""
        return 2 * math.atan(math.tan(self.horizontal_view / 2) * self.height / self.width)


@record
class ManipulatorProfile(RobotProfile):
    """An arm with a fixed base, and its end effector."""

    KNOWN_SPACES: ClassVar[tuple[str, ...]] = (
        *("planar_delta", "joint_positions", "joint_velocities", "tool_delta", "tool_pose"),
    )
    DRIVER: ClassVar[DriverRecord] = ArmDriver

    type: Literal["manipulator"] = Field(description="Kind of robot.")
    base_frame: str = Field(min_length=1, description="Frame of the first row of the kinematics.")
    tool_frame: str = Field(min_length=1, description="Name of the end effector's frame, z pointing out of it.")
    base_position: Triple = Field(description="Where the base frame is in the world [m].")
    base_yaw: float = Field(default=0.0, description="Turn of the base frame about the world's z [rad].")
    convention: Literal["modified", "standard"] = Field(
        description="Denavit-Hartenberg convention: modified (Craig) or standard (distal)."
    )
    kinematics: tuple[DenavitHartenberg, ...] = Field(
        min_length=1, description="One row a joint; a further last row, if any, is the flange."
    )
    joints: tuple[Joint, ...] = Field(min_length=1, description="The joints from the base to the flange.")
    home: tuple[float, ...] = Field(description="Preferred posture, one position a joint [rad].")
    base: tuple[Shape, ...] = Field(default=(), description="Shapes of the fixed base.")
    links: tuple[Link, ...] = Field(description="One link a joint.")
    end_effector: Annotated[SerializeAsAny[EndEffector], BeforeValidator(read_end_effector)] = Field(
        description="A rod or a hand: name or path of a file of config/grippers/, or its keys."
    )
    mount: HandCamera | None = Field(default=None, description="The camera on the hand, if there is one.")
    servo: Servo = Field(description="Joint servos in the embedded simulator.")
    workspace: Workspace = Field(description="Bounds of the tool's tip.")
    safety: Annotated[ArmSafety, BeforeValidator(reads(ArmSafety))] = Field(
        default=ArmSafety(),
        description="Limits of what is commanded: name or path of a file of config/safety/, or its keys.",
    )
    command: TrajectoryInterface = Field(description="Where the driver takes commands.")
    driver: ArmDriver | None = Field(default=None, description="Settings of ports other than `topics`.")
    gripper_command: GripperInterface | None = Field(
        default=None, description="Where the hand's driver takes commands; only for a robot with a hand."
    )
    state: JointStateInterface = Field(
        description="Where the driver publishes the joints: the arm's, then those of a hand."
    )
    contacts_topic: str = Field(
        default="",
        description="robocontrast_ros/msg/Contacts: the entities that arm and hand touch; empty if no node publishes "
        "them.",
    )

    @model_validator(mode="before")
    @classmethod
    def _with_end_effector(cls, data: Any) -> Any:
        """Read the key `pusher` of older files as `end_effector`; the next release refuses it."""
        if isinstance(data, dict) and isinstance(data.get("pusher"), dict) and "end_effector" not in data:
            data = {"end_effector": {"type": "rod", **data["pusher"]}, **data}
            del data["pusher"]
        return data

    def __post_init__(self) -> None:
        super().__post_init__()
        count = len(self.joints)
        for name, values in (
            ("home", self.home),
            ("links", self.links),
            ("servo.stiffness", self.servo.stiffness),
            ("servo.damping", self.servo.damping),
        ):
            if len(values) != count:
                raise ValueError(f"`{name}` to have one entry a joint: {count}, not {len(values)}")
        if len(self.kinematics) not in (count, count + 1):
            raise ValueError(
                f"`kinematics` to have one row a joint, and at most one for the flange: {count} or "
                f"{count + 1}, not {len(self.kinematics)}"
            )
        for joint, position in zip(self.joints, self.home, strict=True):
            if not joint.lower <= position <= joint.upper:
                raise ValueError(
                    f"`home` within the limits [{joint.lower}, {joint.upper}] of '{joint.name}', not {position}"
                )
        if self.mount is not None and self.mount.camera not in (names := [camera.name for camera in self.cameras]):
            raise ValueError(f"`mount.camera` among `cameras` ({', '.join(names)}), not '{self.mount.camera}'")
        names = (*self.joint_names, *self.hand_joint_names)
        if len(set(names)) != len(names):
            raise ValueError(f"each joint name once, not {', '.join(names)}")
        if (self.gripper_command is None) is self.has_hand:
            what = "where the hand's driver takes commands" if self.has_hand else "nothing, for a rod takes no commands"
            raise ValueError(f"`gripper_command`: {what}")
        planar = self.action_spaces.planar_delta
        if planar is not None and not self.workspace.z[0] <= planar.height <= self.workspace.z[1]:
            raise ValueError(
                f"`action_spaces.planar_delta.height` within `workspace.z` {list(self.workspace.z)}, "
                f"not {planar.height}"
            )

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, from the base to the flange."""
        return tuple(joint.name for joint in self.joints)

    @cached_property
    def hand_joint_names(self) -> tuple[str, ...]:
        """Names of the hand's joints, the driven one first; none without a hand."""
        return tuple(joint.name for joint in self.end_effector.joints)

    @property
    def has_hand(self) -> bool:
        """Whether the end effector opens and closes."""
        return bool(self.end_effector.joints)

    @property
    def observations(self) -> tuple[str, ...]:
        """Joints and tool, and the hand if there is one."""
        return ("joint_positions", "tool_pose", *(GRIPPER_OBSERVATIONS if self.has_hand else ()))

    @property
    def own_cameras(self) -> tuple[str, ...]:
        """The camera on the hand, if there is one."""
        return () if self.mount is None else (self.mount.camera,)

    @property
    def reports_contacts(self) -> bool:
        """Whether the driver has a topic for contacts."""
        return bool(self.contacts_topic)

    @property
    def command_topics(self) -> tuple[Topic, ...]:
        """The topics of commands to the arm, and to the hand if there is one."""
        interfaces = filter(None, (self.command, self.gripper_command))
        return tuple(Topic(self.command_topic(interface), interface.type) for interface in interfaces)

    @property
    def driver_topics(self) -> tuple[Topic, ...]:
        """The topics of the joints, and of the contacts if they are reported."""
        contacts = Topic(self.contacts_topic, "robocontrast_ros/msg/Contacts")
        return (*super().driver_topics, *((contacts,) if self.contacts_topic else ()))

    @property
    def joint_speeds(self) -> dict[str, float]:
        """Greatest speed of each joint of the arm and the hand, by name [rad/s or m/s]."""
        hand = dict.fromkeys(self.hand_joint_names, self.end_effector.drive_speed)
        return {joint.name: joint.velocity for joint in self.joints} | hand

    @property
    def floor(self) -> float:
        """Least height of any part of the arm [m]: the tool's lowest, less the reach beyond the tool."""
        return self.workspace.z[0] - self.end_effector.overhang

    @property
    def observed_joints(self) -> int:
        """Number of the arm's joints."""
        return len(self.joints)

    @property
    def base_pose(self) -> Pose:
        """Pose of the base frame in the world."""
        x, y, z = self.base_position
        return Pose.planar(x, y, self.base_yaw, z)
