"""The common part of the profiles of all kinds of robots: driver's topics, cameras, action spaces."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from robocontrast_ros.configuration import record
from robocontrast_ros.messages.topics import COMPRESSED_IMAGE, IMAGE, ROBOT_DESCRIPTION, TF_MESSAGE, Topic
from robocontrast_ros.robots.action_spaces import ActionSpaces
from robocontrast_ros.robots.drivers import (
    COMMANDED,
    DRIVER_PORTS,
    SIMULATED_PORT,
    DriverRecord,
    DriverSettings,
    check_settings,
)

Triple = tuple[float, float, float]
Rgb = tuple[float, float, float]


@record
class Shape:
    """A primitive that represents a piece of a link, between two points of the link's frame."""

    type: Literal["capsule", "cylinder", "box"] = Field(
        description="Kind of primitive; a box has `start` as its centre and `end` as its half sizes."
    )
    start: Triple = Field(description="One end, or the centre of a box [m].")
    end: Triple = Field(description="Other end, or the half sizes of a box [m].")
    radius: float = Field(default=0.0, ge=0.0, description="Radius of a capsule or cylinder [m].")
    color: Rgb = Field(default=(0.9, 0.9, 0.9), description="Red, green and blue in [0, 1].")

    def __post_init__(self) -> None:
        if self.type != "box" and self.radius <= 0.0:
            raise ValueError(f"a `radius` above 0 m for a {self.type}")


@record
class CommandInterface:
    """The topic of commands to the driver; each kind of robot has its own type."""

    topic: str = Field(min_length=1, description="Topic of the commands.")
    type: str = Field(description="Type of the commands.")


@record
class StateInterface:
    """The topic of the robot's state from the driver; each kind of robot has its own type."""

    topic: str = Field(min_length=1, description="Topic of the state.")
    type: str = Field(description="Type of the state.")
    staleness: float = Field(
        default=0.2,
        gt=0.0,
        description="On the wall clock: greatest age of a state that is used, beyond its least delay of the last half "
        "minute [s]. If the state is older, rollout waits for a newer one.",
    )


@record
class CameraInterface:
    """One camera's topics."""

    name: str = Field(min_length=1, description="Name in observations, and in the embedded world.")
    image_topic: str = Field(min_length=1, description="sensor_msgs/msg/Image; see `transport`.")
    info_topic: str = Field(min_length=1, description="sensor_msgs/msg/CameraInfo.")
    frame_id: str = Field(min_length=1, description="Optical frame (REP-105).")
    transport: Literal["raw", "compressed"] = Field(
        default="raw",
        description="`raw`: images of `image_topic`; `compressed`: sensor_msgs/msg/CompressedImage of "
        "`<image_topic>/compressed`, as image_transport names it.",
    )

    staleness: float | None = Field(
        default=None,
        gt=0.0,
        description="On the wall clock: greatest age of an image, compared with the robot's state [s]; null for half a "
        "control period. If the image is older, rollout waits for a newer one. The camera's clock may be ahead "
        "of the state's by as much, or by 0.1 s if that is more.",
    )

    @property
    def images(self) -> Topic:
        """The topic of the images."""
        if self.transport == "compressed":
            return Topic(f"{self.image_topic}/compressed", COMPRESSED_IMAGE)
        return Topic(self.image_topic, IMAGE)


@record
class RobotProfile:
    """The keys that every config/robots/<name>.yaml has; each kind of robot adds its own."""

    KNOWN_SPACES: ClassVar[tuple[str, ...]] = ()
    """Action spaces that a robot of this kind can offer."""
    DRIVER: ClassVar[DriverRecord] = DriverSettings
    """Record of the key `driver` of a robot of this kind."""

    type: str = Field(description="Kind of robot, which decides the further keys of the file.")
    name: str = Field(min_length=1, description="Name of the robot, and of its entity in the simulator.")
    description: str = Field(default="", description="One line for tables.")
    world_frame: str = Field(default="world", description="Frame of poses, workspace and actions.")
    action_spaces: ActionSpaces = Field(description="Action spaces that the robot offers.")
    command: CommandInterface = Field(description="Where the driver takes commands.")
    state: StateInterface = Field(description="Where the driver publishes the robot's state.")
    cameras: tuple[CameraInterface, ...] = Field(default=(), description="Cameras of the robot, or about it.")
    transforms_topic: str = Field(default="tf", min_length=1, description="Frames that move.")
    static_transforms_topic: str = Field(
        default="tf_static", min_length=1, description="Frames that do not move, latched."
    )
    port: str = Field(
        default=SIMULATED_PORT,
        description="Port that talks to the driver: `topics`, by the topics above, or another port's name.",
    )
    driver: DriverSettings | None = Field(default=None, description="Settings of ports other than `topics`.")

    def __post_init__(self) -> None:
        names = tuple(camera.name for camera in self.cameras)
        if len(set(names)) != len(names):
            raise ValueError(f"each camera name once, not {', '.join(names)}")
        check_settings(self.port, self.driver, self.DRIVER)
        for space in self.action_spaces.offered:
            if space not in self.KNOWN_SPACES:
                raise ValueError(
                    f"`action_spaces` that a {self.type} can take: {', '.join(self.KNOWN_SPACES)}, not {space}"
                )

    @property
    def mobile(self) -> bool:
        """Whether the robot drives around, so that its start pose is part of the scene."""
        return False

    @property
    def own_cameras(self) -> tuple[str, ...]:
        """Names of the cameras that the robot carries; the others stand in the world."""
        return ()

    @property
    def reports_contacts(self) -> bool:
        """Whether the driver publishes contacts, on its ``contacts_topic``."""
        return False

    @property
    def observed_joints(self) -> int:
        """Number of joints whose positions a policy sees."""
        return 0

    @property
    def observations(self) -> tuple[str, ...]:
        """Names of the observation channels (``domain.channels.OBSERVATIONS``) that a policy sees."""
        return ("tool_pose",)

    def command_topic(self, interface: CommandInterface) -> str:
        """Return the topic of commands: to the driver, or for the record if the port has other means."""
        return f"{COMMANDED}/{interface.topic}" if self.port in DRIVER_PORTS else interface.topic

    @property
    def command_topics(self) -> tuple[Topic, ...]:
        """The topics of commands."""
        return (Topic(self.command_topic(self.command), self.command.type),)

    @property
    def driver_topics(self) -> tuple[Topic, ...]:
        """Topics that the driver publishes at every step besides images; the state is the first."""
        return (Topic(self.state.topic, self.state.type),)

    @property
    def joint_speeds(self) -> dict[str, float]:
        """Greatest speed of each joint, by name [rad/s or m/s], as far as it is known."""
        return {}

    @property
    def latched_topics(self) -> tuple[Topic, ...]:
        """Topics that the driver publishes once, also for late subscribers."""
        return ()

    @property
    def simulated_topics(self) -> tuple[Topic, ...]:
        """Topics that the embedded simulator publishes once: the robot's description, and the fixed frames."""
        return (ROBOT_DESCRIPTION, Topic(self.static_transforms_topic, TF_MESSAGE))
