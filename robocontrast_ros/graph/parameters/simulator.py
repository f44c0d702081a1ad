"""Parameters of the simulator node."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field
from typing_extensions import Self

from robocontrast_ros.configuration import record
from robocontrast_ros.domain import whole_of
from robocontrast_ros.graph.names import LEADER
from robocontrast_ros.graph.parameters.led import LedParameters

if TYPE_CHECKING:
    from robocontrast_ros.sessions.resolving import ResolvedSession


@record
class SimulatorParameters(LedParameters):
    """Parameters of the simulator."""

    robot: Path = Field(description="Parameter file of the robot.")
    world: str = Field(description="URI of the world's MJCF file.")
    start_position: tuple[float, ...] = Field(
        default=(),
        description="Start of an arm's tool or of a base, world frame [m]; empty for an arm's home posture or a base's "
        "start in the world model.",
    )
    physics_step: float = Field(default=0.002, gt=0.0, le=0.01, description="Simulated time of one step [s].")
    spawnables: tuple[str, ...] = Field(default=(), description="URIs in the answer of GetSpawnables.")
    cameras: tuple[str, ...] = Field(default=(), description="Cameras to render, as the robot's profile names them.")
    camera_widths: tuple[int, ...] = Field(default=(), description="Columns of each camera's images [pixel].")
    camera_heights: tuple[int, ...] = Field(default=(), description="Rows of each camera's images [pixel].")
    camera_period: float = Field(
        default=0.1,
        ge=0.0,
        description="Least simulated time between two images of a camera [s]; 0 for images on request only.",
    )

    tags: bool = Field(
        default=False, description="Whether objects of a library carry the tags that `print-tags --objects` prints."
    )
    tags_file: str = Field(
        default="", description="File of the tags that objects carry instead, in the format of `operator.tags`."
    )
    real_time: bool = Field(
        default=False,
        description="Whether the simulator runs from the start, stamps with the system clock and publishes no `clock`, "
        "like the drivers of a real robot; otherwise it waits to be stepped.",
    )
    publish_period: float = Field(
        default=0.01,
        gt=0.0,
        le=1.0,
        description="Time from one publication of the sensors to the next while it plays [s].",
    )

    def __post_init__(self) -> None:
        if len(self.start_position) not in (0, 3):
            raise ValueError(f"`start_position` with 3 numbers, or none, not {len(self.start_position)}")
        if not len(self.cameras) == len(self.camera_widths) == len(self.camera_heights):
            raise ValueError("`cameras`, `camera_widths` and `camera_heights` of the same length")
        if any(not 1 <= size <= 8192 for size in (*self.camera_widths, *self.camera_heights)):
            raise ValueError("`camera_widths` and `camera_heights` between 1 and 8192 pixels")

    @classmethod
    def of(cls, session: ResolvedSession) -> Self:
        """Return the parameters of the simulator of a session."""
        task, features = session.task, session.world.features
        # An arm that is not reset begins at rest, and commands send it to its start.
        start = {} if features.resets_robot else {"start_position": ()}
        return cls(
            **{**world_parameters(session), **start},
            spawnables=tuple(sorted(uri for model, uri in task.scenes.models.items() if not whole_of(model))),
            camera_period=0.0 if session.images_when_asked else 1.0 / task.control_rate,
            real_time=not session.world.lockstep,
            tags=features.camera,
            tags_file=session.parameters.operator.tags,
            leader=LEADER,
        )


def world_parameters(session: ResolvedSession) -> dict[str, Any]:
    """Return the simulator's parameters of a session's robot, world and cameras."""
    scenes, cameras = session.task.scenes, session.parameters.cameras
    return {
        "robot": str(session.robot_file),
        "world": scenes.world,
        "start_position": [float(value) for value in scenes.start_position or ()],
        "physics_step": scenes.physics_step,
        "cameras": [camera.name for camera in cameras],
        "camera_widths": [camera.width for camera in cameras],
        "camera_heights": [camera.height for camera in cameras],
    }
