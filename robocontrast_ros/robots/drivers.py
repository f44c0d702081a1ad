"""The key `driver` of a robot's file, for its real driver: a record for each port but `topics`.

The same file serves simulation with `port: topics`, which reads none of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from robocontrast_ros.configuration import record

DRIVER_PORTS = ("cmd_vel", "follow_joint_trajectory", "moveit_servo", "streaming")
"""The ports that talk to a real driver by other means than the topic `command`; each has settings of its name.

Their commands are also published for the record, on topics under ``COMMANDED``.
"""

SIMULATED_PORT = "topics"
"""The port of a simulated robot: it commands the driver by the topic `command` alone, and reads no settings."""

COMMANDED = "commanded"
"""Namespace of the copies of commands, which no driver takes."""


@record
class UniversalRobots:
    """ur_robot_driver's own state: nothing is commanded unless the robot runs, and its safety is normal."""

    status: str = Field(
        default="io_and_status_controller",
        min_length=1,
        description="Controller that publishes `robot_mode`, `safety_mode` and `robot_program_running`.",
    )


@record
class FrankaRecovery:
    """franka_ros2's recovery from errors, such as a reflex after a collision."""

    recover: bool = Field(
        default=False,
        description="Whether the port recovers from an error before the first motion of a trial; otherwise a person "
        "must do it.",
    )
    error_recovery: str = Field(
        default="action_server/error_recovery", min_length=1, description="franka_msgs/action/ErrorRecovery."
    )


@record
class FrankaGripper:
    """The Franka Hand by franka_gripper's actions `move`, `grasp` and `homing`."""

    type: Literal["franka"] = Field(description="Kind of driver.")
    node: str = Field(default="franka_gripper", min_length=1, description="Node that serves the actions.")
    speed: float = Field(default=0.1, gt=0.0, description="Of the width between the fingers [m/s].")
    force: float = Field(default=20.0, gt=0.0, description="Of a grasp [N].")
    homing: bool = Field(default=False, description="Whether the hand is homed before the first motion of a session.")


@record
class GripperAction:
    """A hand by control_msgs/action/GripperCommand, such as robotiq_gripper_controller/gripper_cmd."""

    type: Literal["gripper_command"] = Field(description="Kind of driver.")
    action: str = Field(min_length=1, description="Name of the action.")
    max_effort: float = Field(default=0.0, ge=0.0, description="Greatest force [N]; 0 for the driver's own.")


@record
class FollowJointTrajectory:
    """A joint_trajectory_controller, by its action `<controller>/follow_joint_trajectory`."""

    controller: str = Field(min_length=1, description="Name of the controller.")


@record
class Streaming:
    """A forward_command_controller, by its topic `<controller>/commands`, which jumps to each position that it gets."""

    controller: str = Field(min_length=1, description="Name of the controller.")
    interface: Literal["position", "velocity"] = Field(
        default="position",
        description="Quantity that the controller commands; compared with its parameter `interface_name`.",
    )
    rate: float = Field(default=100.0, ge=20.0, le=1000.0, description="Of the stream between control steps [Hz].")


@record
class MoveItServo:
    """MoveIt Servo, by the tool's velocity on `<node>/delta_twist_cmds`."""

    node: str = Field(default="servo_node", min_length=1, description="Name of Servo's node.")
    frame: str = Field(min_length=1, description="Its planning frame, in which the robot's base stands still.")
    frame_yaw: float = Field(
        default=0.0, description="Turn of `base_frame` about the z axis of `frame` [rad]; pi for a UR's base_link."
    )
    units: Literal["speed_units", "unitless"] = Field(
        default="speed_units", description="Its `command_in_type`: m/s and rad/s, or shares of the two scales."
    )
    linear_scale: float = Field(default=0.4, gt=0.0, description="Its `scale.linear` [m/s], where `unitless`.")
    rotational_scale: float = Field(
        default=0.8, gt=0.0, description="Its `scale.rotational` [rad/s], where `unitless`."
    )
    api: Literal["services", "start_servo"] = Field(
        default="services",
        description="`services`: switch_command_type and pause_servo, from Jazzy on. `start_servo`: Humble.",
    )
    rate: float = Field(
        default=50.0,
        ge=20.0,
        le=500.0,
        description="How often a velocity is repeated [Hz]; older than 0.1 s is dropped.",
    )


@record
class CmdVel:
    """A base, by its topic `command`, repeated, and its pose from a localiser if one runs."""

    rate: float = Field(default=10.0, ge=1.0, le=100.0, description="How often a velocity is repeated [Hz].")
    map_frame: str = Field(
        default="map", min_length=1, description="Frame in which a localiser reports the pose of the base."
    )
    localiser_timeout: float = Field(
        default=5.0, gt=0.0, description="Age of its newest transform beyond which it counts as lost [s]."
    )
    map_pose: tuple[float, float, float] = Field(
        default=(0.0, 0.0, 0.0), description="Of `map_frame` in the world frame: x and y [m], yaw [rad]."
    )
    start_tolerance: float = Field(
        default=0.2,
        gt=0.0,
        description="Greatest distance from its start at which a localised base may begin a trial [m].",
    )
    start_turn_tolerance: float = Field(
        default=0.2, gt=0.0, description="Greatest difference from its heading at the start [rad]."
    )


@record
class OutsideLimit:
    """A topic that reports a limit of the robot's speed, or a hold, from outside of the session."""

    topic: str = Field(min_length=1, description="Its name.")
    type: str = Field(pattern=r"^\w+/msg/\w+$", description="Of its messages, for instance std_msgs/msg/Float64.")
    field: str = Field(
        default="data", min_length=1, description="Number in the message, with dots where it is in another message."
    )
    full: float | None = Field(
        default=None,
        gt=0.0,
        allow_inf_nan=False,
        description="Value of the number at full speed, if it is a share of full speed: 100.0 for percent, 1.0 for a "
        "fraction.",
    )
    free: tuple[int, ...] = Field(
        default=(),
        description="Values of the number with which the robot is free to move, if it is a mode; false is 0, true is "
        "1.",
    )
    cure: str = Field(min_length=1, description="What a person does about it.")

    def __post_init__(self) -> None:
        """Require one way to read the number."""
        if (self.full is None) == (not self.free):
            raise ValueError("`full`, of a share of full speed, or `free`, of a mode")


@record
class DriverSettings:
    """The settings of all drivers."""

    answer_timeout: float = Field(default=5.0, gt=0.0, description="Wait for an answer of the driver [s].")
    clock_tolerance: float | None = Field(
        default=1.0,
        gt=0.0,
        description="How far the stamps of state and images may be from this machine's clock [s]; null with simulated "
        "time.",
    )
    limits: tuple[OutsideLimit, ...] = Field(
        default=(),
        description="Messages in which the driver reports that something outside, such as a slider, slows or holds the "
        "robot.",
    )
    settings: Mapping[str, Any] = Field(default_factory=dict, description="Of a port of your own.")


@record
class ArmDriver(DriverSettings):
    """The driver of an arm, and of its hand."""

    controller_manager: str = Field(
        default="controller_manager",
        description="Node that lists the active controllers and switches controllers; empty if there is none.",
    )
    restore_controllers: bool = Field(
        default=False, description="Whether controllers that were deactivated are activated again at the end."
    )
    wrench: str = Field(
        default="",
        description="Topic of the force at the tool (geometry_msgs/WrenchStamped), for `safety.force`; empty for none.",
    )
    wrench_staleness: float = Field(
        default=0.1,
        gt=0.0,
        description="How much older than the robot's state the force may be; its clock may be ahead by as much [s].",
    )
    universal_robots: UniversalRobots | None = Field(default=None, description="For ur_robot_driver.")
    franka: FrankaRecovery | None = Field(default=None, description="For franka_ros2.")
    hand: FrankaGripper | GripperAction | None = Field(
        default=None,
        discriminator="type",
        description="The hand's actions; without, its commands go to the topic `gripper_command`.",
    )
    follow_joint_trajectory: FollowJointTrajectory | None = Field(default=None, description="For that port.")
    streaming: Streaming | None = Field(default=None, description="For that port.")
    moveit_servo: MoveItServo | None = Field(default=None, description="For that port.")


@record
class BaseDriver(DriverSettings):
    """The driver of a base."""

    cmd_vel: CmdVel | None = Field(default=None, description="For that port.")


DriverRecord = type[DriverSettings]
"""The record of the key `driver` of one kind of robot."""


def check_settings(port: str, driver: DriverSettings | None, known: DriverRecord) -> None:
    """Refuse a port that is for another kind of robot, or lacks its settings.

    Raises:
        ValueError: with the expected settings.
    """
    if port not in DRIVER_PORTS:
        return
    fitting = [name for name in DRIVER_PORTS if name in known.__dataclass_fields__]
    if port not in fitting:
        raise ValueError(f"`port` for a robot of this kind: topics, {', '.join(fitting)}, or a plug-in's; not {port}")
    if getattr(driver, port, None) is None:
        raise ValueError(f"`driver.{port}`, the settings of `port: {port}`")


def driver_packages(port: str, driver: DriverSettings | None) -> dict[str, str]:
    """Return the ROS packages that a port needs for its robot alone: package -> key of the robot's file that names it.

    A limit (``driver.limits``) whose package is absent counts as unknown.
    """
    if not isinstance(driver, ArmDriver) or port not in DRIVER_PORTS:
        return {}
    servo, franka = driver.moveit_servo, driver.franka
    controlled = port in ("follow_joint_trajectory", "streaming") and driver.controller_manager
    needed = (
        ("control_msgs", "port", port == "follow_joint_trajectory"),
        ("control_msgs", "driver.hand", isinstance(driver.hand, GripperAction)),
        ("controller_manager_msgs", "driver.controller_manager", controlled),
        ("franka_msgs", "driver.franka.recover", franka is not None and franka.recover),
        ("franka_msgs", "driver.hand", isinstance(driver.hand, FrankaGripper)),
        ("moveit_msgs", "port", port == "moveit_servo" and servo is not None and servo.api == "services"),
        ("ur_dashboard_msgs", "driver.universal_robots", driver.universal_robots is not None),
    )
    return {package: key for package, key, wanted in reversed(needed) if wanted}
