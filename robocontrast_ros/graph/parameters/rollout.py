"""Parameters of the nodes that have a port to the robot's driver: rollout, and watchdog."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field
from typing_extensions import Self

from robocontrast_ros.bags.recorder_lag import SMALLEST_DEPTH, history_depth
from robocontrast_ros.configuration import record
from robocontrast_ros.graph.names import LEADER, WATCHDOG
from robocontrast_ros.graph.parameters.led import LedParameters
from robocontrast_ros.policies.serving.runner import LOAD_TIMEOUT
from robocontrast_ros.robots.speed_scaling import SpeedScalingRule

if TYPE_CHECKING:
    from robocontrast_ros.sessions.resolving import ResolvedSession


@record
class PortParameters(LedParameters):
    """Parameters of each node that has a port to the robot's driver."""

    robot: Path = Field(description="Parameter file of the robot.")
    world_resets_robot: bool = Field(
        default=True,
        description="Whether the set-up of a scene brings the robot to its start; otherwise an arm is sent there.",
    )
    control_period: float = Field(gt=0.0, description="Time of one control step [s].")
    clear_height: float = Field(
        default=0.0,
        ge=0.0,
        description="Height above which nothing stands in a scene: on its way to the start and home an arm passes "
        "above it [m]; 0 for half the height of its workspace.",
    )
    sensor_timeout: float = Field(
        default=10.0, gt=0.0, description="Wait for the sensors and the score of a control step [s]."
    )
    heartbeat_limit: float = Field(
        default=0.06,
        gt=0.0,
        description="Silence of rollout or watchdog after which the other of the two stops the robot [s].",
    )


def _port(session: ResolvedSession) -> dict[str, Any]:
    """Return the parameters of a session's port: rollout and watchdog must have the same."""
    period = 1.0 / session.task.control_rate
    return {
        "robot": session.robot_file,
        "world_resets_robot": session.world.features.resets_robot,
        "control_period": period,
        "clear_height": session.task.scenes.clear_height,
        "sensor_timeout": session.parameters.timeouts.sensors,
        "heartbeat_limit": session.parameters.watchdog.rollout * period,
        "leader": LEADER,
    }


@record
class RolloutParameters(PortParameters):
    """Parameters of the rollout."""

    policy_server: str = Field(default="policy_server", description="Name of the policy server's node.")
    pacing: str = Field(
        default="lockstep",
        description="How time passes: `lockstep`, by StepSimulation, `wall_clock`, or a plug-in's name.",
    )
    streams: bool = Field(default=True, description="Whether the scene of every control step is published.")
    follows_pose: bool = Field(
        default=False, description="Whether the scene of a control step is published for its `tool_pose`."
    )
    clock_topic: str = Field(
        default="",
        description="Clock of a simulator of others, which shows that steps were made; empty for our own.",
    )
    physics_step: float = Field(default=0.002, gt=0.0, description="Time of one physics step, in lockstep [s].")
    tracks_joints: bool = Field(
        default=False, description="Whether `joint_tracking` is published, because a score of the session needs it."
    )
    step_simulation: str = Field(default="simulator/step_simulation", description="StepSimulation service.")
    capture_images: str = Field(
        default="",
        description="CaptureImages service, called before each request to the policy; empty if images come at every "
        "step.",
    )
    move_cameras: str = Field(default="", description="MoveCameras service; empty if the world cannot move cameras.")
    cameras: tuple[str, ...] = Field(
        default=(), description="Cameras that the world can move, by their names in the robot's profile."
    )
    image_cameras: tuple[str, ...] = Field(default=(), description="Cameras of the session.")
    image_widths: tuple[int, ...] = Field(default=(), description="Columns of the images of each [pixel].")
    image_heights: tuple[int, ...] = Field(default=(), description="Rows of the images of each [pixel].")
    steps_per_control: int = Field(ge=1, description="Physics steps in one control period, in lockstep.")
    publishes_unstepped: bool = Field(
        default=False,
        description="Whether the simulator also publishes after a request for 0 steps; nodes then discover each other "
        "before any time has passed.",
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
        description="Nodes that publish images and the scene. If a new policy needs more of these topics, its first "
        "episode waits until these nodes have discovered the new subscriptions.",
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
        description="Number of images that a camera's publisher keeps for slow subscribers; the recorder may be "
        "behind by half of them.",
    )
    speed_scaling: SpeedScalingRule = Field(
        default="void_when_lowered",
        description="Trials that are void if the robot's driver reports that something outside slows the robot: "
        "`void_when_lowered`, `void_below_full`, or `mark` for none.",
    )
    watchdog: str = Field(
        default="",
        description="Name of the watchdog's node, without which the robot is not moved; empty in lockstep.",
    )

    @classmethod
    def of(cls, session: ResolvedSession) -> Self:
        """Return the parameters of the rollout of a session."""
        # Rollout imports this module, and does not need these imports.
        from robocontrast_ros.sessions.fitting import steps_per_control

        parameters, features, timeouts = session.parameters, session.world.features, session.parameters.timeouts
        cameras, simulator = parameters.cameras, session.simulator
        return cls(
            **_port(session),
            policy_server=parameters.policy_server.node,
            pacing=parameters.world.pacing,
            streams=session.world.streams,
            follows_pose=session.world.follows_pose,
            clock_topic="" if features.embedded or not session.world.lockstep else "clock",
            physics_step=session.task.scenes.physics_step,
            tracks_joints=session.tracks_joints,
            step_simulation=f"{simulator}/step_simulation",
            capture_images="simulator/capture_images" if session.images_when_asked else "",
            move_cameras=f"{simulator}/move_cameras" if features.moves_cameras else "",
            cameras=tuple(camera.name for camera in cameras) if features.moves_cameras else (),
            image_cameras=tuple(camera.name for camera in cameras),
            image_widths=tuple(camera.width for camera in cameras),
            image_heights=tuple(camera.height for camera in cameras),
            steps_per_control=steps_per_control(session.task, str(session.task_file)),
            # The number of attempts depends on the machine; stamps must not.
            publishes_unstepped=features.embedded,
            # The policy server answers within the policy's time limit; after that, it counts as lost.
            policy_timeout=timeouts.policy + 5.0,
            load_timeout=2.0 * timeouts.load,
            sources=("simulator", "sim_bridge") if features.embedded else ("sim_bridge",),
            simulator_timeout=timeouts.sensors,
            startup_timeout=timeouts.start_up,
            recording_timeout=timeouts.recording,
            image_depth=history_depth(max((3 * camera.width * camera.height for camera in cameras), default=0)),
            speed_scaling=parameters.speed_scaling,
            watchdog="" if session.world.lockstep else WATCHDOG,
        )


@record
class WatchdogParameters(PortParameters):
    """Parameters of the watchdog: those of the robot's port, and its own limits."""

    loop_limit: float = Field(
        default=1.0, gt=0.0, description="Standstill of the control loop after which the robot is stopped [s]."
    )
    policy_limit: float = Field(
        default=16.0, gt=0.0, description="Wait for the policy's answer after which the robot is stopped [s]."
    )
    state_limit: float = Field(
        default=0.5, gt=0.0, description="Silence of the robot's state after which a moving robot is stopped [s]."
    )
    camera_limit: float = Field(
        default=1.0, gt=0.0, description="Silence of a camera's info after which a moving robot is stopped [s]."
    )
    watched_cameras: tuple[str, ...] = Field(
        default=(), description="Cameras whose silence stops the robot, as the robot's profile names them."
    )

    @classmethod
    def of(cls, session: ResolvedSession) -> Self:
        """Return the parameters of the watchdog of a session."""
        limits = session.parameters.watchdog
        return cls(
            **_port(session),
            loop_limit=limits.loop,
            # A second after the rollout itself reports the policy server as lost.
            policy_limit=session.parameters.timeouts.policy + 6.0,
            state_limit=limits.state,
            camera_limit=limits.cameras,
            # Cameras that take images only for the policy are silent whenever it is not asked.
            watched_cameras=()
            if session.images_when_asked
            else tuple(camera.name for camera in session.parameters.cameras),
        )
