"""Parameters of the operator node."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field
from typing_extensions import Self

from robocontrast_ros.configuration import record
from robocontrast_ros.graph.names import LEADER
from robocontrast_ros.graph.parameters.led import LedParameters
from robocontrast_ros.runs.run_folder import RunFolder


@record
class OperatorNodeParameters(LedParameters):
    """Parameters of the console of the person at the robot."""

    run: Path = Field(description="The run folder; the key `operator` of its session has all further settings.")
    episode_manager: str = Field(default="episode_manager", description="Name of the node that runs the session.")
    sim_bridge: str = Field(default="sim_bridge", description="Name of the node that reports the present scene.")
    watchdog: str = Field(default="watchdog", description="Name of the watchdog's node, which stops the robot.")

    @classmethod
    def of(cls, run: RunFolder) -> Self:
        """Return the parameters of the console of a session's run."""
        return cls(run=run.path, leader=LEADER)
