"""Parameters of the second_simulator node."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field
from typing_extensions import Self

from robocontrast_ros.configuration import record
from robocontrast_ros.graph.names import LEADER
from robocontrast_ros.graph.parameters.led import LedParameters

if TYPE_CHECKING:
    from robocontrast_ros.runs.run_folder import RunFolder
    from robocontrast_ros.sessions.resolving import ResolvedSession


@record
class SecondSimulatorParameters(LedParameters):
    """Parameters of the simulator of another engine than MuJoCo."""

    engine: str = Field(default="dart", min_length=1, description="Name of the engine, or `module:Class`.")
    robot: Path = Field(description="Parameter file of the robot: an arm.")
    models: Path = Field(
        description="Folder of the models of `robocontrast export TASK --format sdf`: objects, world and robot."
    )
    start_joints: tuple[float, ...] = Field(
        default=(), description="Joint positions of the arm after a reset [rad]; empty for its home posture."
    )
    physics_step: float = Field(default=0.002, gt=0.0, le=0.01, description="Simulated time of one step [s].")
    publish_period: float = Field(
        default=0.01,
        gt=0.0,
        le=1.0,
        description="Time from one publication of the sensors to the next while it plays [s].",
    )

    @classmethod
    def of(cls, session: ResolvedSession, run: RunFolder) -> Self:
        """Return the parameters of the simulator of a session whose models are in its run folder."""
        # The node imports this module, and no MuJoCo.
        from robocontrast_ros.worlds.engines.starting import start_joints

        return cls(
            engine=session.world.features.engine,
            robot=session.robot_file,
            models=run.models,
            start_joints=start_joints(session.robot, session.task),
            physics_step=session.task.scenes.physics_step,
            leader=LEADER,
        )
