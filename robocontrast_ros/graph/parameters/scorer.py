"""Parameters of the scorer node."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field
from typing_extensions import Self

from robocontrast_ros.configuration import record
from robocontrast_ros.graph.names import LEADER
from robocontrast_ros.graph.parameters.led import LedParameters

if TYPE_CHECKING:
    from robocontrast_ros.sessions.resolving import ResolvedSession


@record
class ScorerParameters(LedParameters):
    """Parameters of the scorer."""

    task: Path = Field(description="Parameter file of the task, which makes the goals.")
    scores: tuple[str, ...] = Field(
        default=(), description="Scores beside the task's own: names, or `module:Class` of a user's own."
    )
    judge: str = Field(
        default="true_scene", description="Judge of success and progress: `true_scene`, `outside`, or a plug-in's name."
    )

    @classmethod
    def of(cls, session: ResolvedSession) -> Self:
        """Return the parameters of the scorer of a session."""
        parameters = session.parameters
        return cls(task=session.task_file, scores=parameters.scores, judge=parameters.world.judge, leader=LEADER)
