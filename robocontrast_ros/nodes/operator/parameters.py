"""Parameters of the operator node."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from robocontrast_ros.configuration import record
from robocontrast_ros.nodes.runtime.parameters import LedParameters


@record
class OperatorNodeParameters(LedParameters):
    """Parameters of the console of the person at the robot."""

    run: Path = Field(description="The run folder, whose session's key `operator` says the rest.")
    episode_manager: str = Field(default="episode_manager", description="Name of the node that runs the session.")
    sim_bridge: str = Field(default="sim_bridge", description="Name of the node that tells the scene as it stands.")
    watchdog: str = Field(default="watchdog", description="Name of the watchdog's node, which stops the robot.")
