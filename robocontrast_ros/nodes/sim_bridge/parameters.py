"""Parameters of the sim_bridge node."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from robocontrast_ros.configuration import record
from robocontrast_ros.nodes.runtime.parameters import LedParameters
from robocontrast_ros.nodes.sim_bridge.simulation_client import SimulationServices


@record
class SimBridgeParameters(LedParameters, SimulationServices):
    """Parameters of the bridge to a simulator."""

    task: Path = Field(description="Parameter file of the task, which names the movable objects' models.")
    frame_id: str = Field(default="world", description="The simulator's world frame.")
    robot: str = Field(
        default="",
        description="Entity of a mobile robot, whose pose is part of the scene; empty for a fixed robot.",
    )
    clock_topic: str = Field(
        default="clock",
        description="Simulated time; `/clock` where a simulator in another namespace publishes it.",
    )
    contacts_topic: str = Field(
        default="", description="Contacts of each control step; empty for a robot that reports none."
    )
    scene_period: float = Field(
        default=0.1, gt=0.0, description="Least simulated time between two published scenes [s]."
    )
    settle_steps: int = Field(
        default=50,
        ge=1,
        le=100000,
        description="Physics steps after objects were placed, before they are read.",
    )
    tolerance: float = Field(
        default=0.01, gt=0.0, description="How far an object may settle from where it was put [m]."
    )
    timeout: float = Field(default=30.0, gt=0.0, description="Limit of each call of the simulator [s].")
    sensor_timeout: float = Field(
        default=10.0, gt=0.0, description="Wait for the contacts of the scene that was set up [s]."
    )
    startup_timeout: float = Field(default=60.0, gt=0.0, description="Time for the simulator to come up [s].")
