"""What the rollout reads from its ROS parameters."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from robocontrast_ros.bags.recorder_lag import SMALLEST_DEPTH
from robocontrast_ros.configuration import record
from robocontrast_ros.nodes.runtime.parameters import LedParameters
from robocontrast_ros.policies.serving.runner import LOAD_TIMEOUT
from robocontrast_ros.robots.speed_scaling import SpeedScalingRule


@record
class PortParameters(LedParameters):
    """Parameters of each node that has a port to the robot's driver."""

    robot: Path = Field(description="Parameter file of the robot.")
    world_resets_robot: bool = Field(
        default=True,
        description="Whether setting a scene up brings the robot to its start; else an arm is sent there.",
    )
    control_period: float = Field(gt=0.0, description="Time of one control step [s].")
    sensor_timeout: float = Field(
        default=10.0, gt=0.0, description="Wait for the sensors and the score of a control step [s]."
    )
    heartbeat_limit: float = Field(
        default=0.06,
        gt=0.0,
        description="Silence between the rollout and the watchdog after which the other one stops the robot [s].",
    )


@record
class RolloutParameters(PortParameters):
    """Parameters of the rollout."""

    policy_server: str = Field(default="policy_server", description="Name of the policy server's node.")
    pacing: str = Field(
        default="lockstep",
        description="How time passes: `lockstep`, by StepSimulation, `wall_clock`, or a plug-in's name.",
    )
    streams: bool = Field(default=True, description="Whether the scene of every control step is published.")
    step_simulation: str = Field(default="simulator/step_simulation", description="StepSimulation service.")
    capture_images: str = Field(
        default="",
        description="CaptureImages service, asked before the policy is; empty where images come at every step.",
    )
    move_cameras: str = Field(default="", description="MoveCameras service; empty where the world cannot move cameras.")
    cameras: tuple[str, ...] = Field(
        default=(), description="Cameras that it can move, as the robot's profile names them."
    )
    image_cameras: tuple[str, ...] = Field(default=(), description="Cameras of the session.")
    image_widths: tuple[int, ...] = Field(default=(), description="Columns of the images of each [pixel].")
    image_heights: tuple[int, ...] = Field(default=(), description="Rows of the images of each [pixel].")
    steps_per_control: int = Field(ge=1, description="Physics steps in one control period, in lockstep.")
    publishes_unstepped: bool = Field(
        default=False,
        description="Whether the simulator publishes, too, when it is asked for no steps: the other nodes are then "
        "discovered before any time has passed.",
    )
    policy_timeout: float = Field(
        default=15.0, gt=0.0, description="Silence after which the policy server counts as gone [s]."
    )
    load_timeout: float = Field(
        default=LOAD_TIMEOUT,
        gt=0.0,
        description="Additional time of a reset, because a policy that hung is loaded again [s].",
    )
    sources: tuple[str, ...] = Field(
        default=("simulator", "sim_bridge"),
        description="Nodes that publish images and the scene: after a policy swap that needs more of them, the first "
        "episode begins when they have discovered the new subscriptions.",
    )
    simulator_timeout: float = Field(
        default=30.0, gt=0.0, description="Silence after which the simulator counts as gone [s]."
    )
    startup_timeout: float = Field(default=90.0, gt=0.0, description="Time for the other nodes to come up [s].")
    recorder: str = Field(default="recorder", description="Name of the recorder's node.")
    recording_timeout: float = Field(
        default=30.0, gt=0.0, description="Wait for a recorder that is too far behind, wall clock [s]."
    )
    image_depth: int = Field(
        default=SMALLEST_DEPTH,
        ge=1,
        description="Images that a camera's publisher keeps for subscribers that are behind: the recorder may be "
        "behind by half of them.",
    )
    speed_scaling: SpeedScalingRule = Field(
        default="void_when_lowered",
        description="Which trials are void where the robot's driver says that something outside slows the robot: "
        "`void_when_lowered`, `void_below_full` or `mark`, none.",
    )
    watchdog: str = Field(
        default="",
        description="Name of the watchdog's node, without which the robot is not moved; empty in lockstep.",
    )
