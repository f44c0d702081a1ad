"""Parameters of the sim_bridge node."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field
from typing_extensions import Self

from robocontrast_ros.configuration import load_record, record
from robocontrast_ros.console.tolerances import PERSON
from robocontrast_ros.graph.names import LEADER, OPERATOR
from robocontrast_ros.graph.parameters.led import LedParameters
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.sessions.schema import SessionParameters
from robocontrast_ros.strategies.effort import Tolerances
from robocontrast_ros.tasks.protocol import Task

if TYPE_CHECKING:
    from robocontrast_ros.sessions.resolving import ResolvedSession


@record
class SimulationServices:
    """Names of the simulator's services: `/gzserver/…` for Gazebo, `/…` for Isaac Sim 6."""

    get_simulator_features: str = Field(
        default="simulator/get_simulator_features", description="GetSimulatorFeatures service."
    )
    get_entities: str = Field(
        default="simulator/get_entities", description="GetEntities service, without GetEntitiesStates."
    )
    get_entity_state: str = Field(
        default="simulator/get_entity_state", description="GetEntityState service, without GetEntitiesStates."
    )
    get_entity_bounds: str = Field(
        default="simulator/get_entity_bounds", description="GetEntityBounds service, if the simulator has it."
    )
    get_entities_states: str = Field(default="simulator/get_entities_states", description="GetEntitiesStates service.")
    set_entity_state: str = Field(default="simulator/set_entity_state", description="SetEntityState service.")
    spawn_entity: str = Field(default="simulator/spawn_entity", description="SpawnEntity service.")
    delete_entity: str = Field(default="simulator/delete_entity", description="DeleteEntity service.")
    reset_simulation: str = Field(default="simulator/reset_simulation", description="ResetSimulation service.")
    step_simulation: str = Field(default="simulator/step_simulation", description="StepSimulation service.")
    set_simulation_state: str = Field(
        default="simulator/set_simulation_state",
        description="SetSimulationState service: required on the wall clock, else used if it is there.",
    )


@record
class SimBridgeParameters(LedParameters, SimulationServices):
    """Parameters of the bridge to a simulator."""

    task: Path = Field(description="Parameter file of the task, which names the movable objects' models.")
    robot: Path = Field(
        description="Parameter file of the robot, which names the world's frame. The scene includes the pose of a "
        "mobile robot, whose entity has the robot's name."
    )
    backend: str = Field(
        default="simulation_interfaces",
        description="Backend that sets scenes up: `embedded` or `simulation_interfaces`, by the services below, or a "
        "plug-in's name.",
    )
    stream: bool = Field(
        default=True,
        description="Whether the scene is published at every control step; otherwise only after a request.",
    )
    plays: bool = Field(
        default=False,
        description="Whether the world runs by itself. If so, a simulator is paused during set-up.",
    )
    follows_pose: bool = Field(
        default=False,
        description="Whether the scene of a control step is read when `tool_pose` arrives, and gets its stamp; "
        "otherwise it is read on `clock`. A simulator of others stamps its states with 0 or another time.",
    )
    resets_robot: bool = Field(default=True, description="Whether a set-up brings the robot to its start.")
    resources: tuple[str, ...] = Field(
        default=(), description="MODEL=URI of the file that the simulator spawns; `*` and {name} for all other models."
    )
    entities: tuple[str, ...] = Field(
        default=(), description="NAME=ENTITY of an object or the robot; `*` and {name} for all others."
    )
    clock_topic: str = Field(
        default="clock",
        description="Simulated time; `/clock` if a simulator in another namespace publishes it.",
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
        default=0.01,
        gt=0.0,
        description="Greatest distance between the place where an object was put and the place where it settled [m].",
    )
    operator: str = Field(default="operator", description="Name of the console's node, for a backend that has one.")
    run: str = Field(
        default="",
        description="The run folder; the key `operator` of its session has the tolerances of a person's set-up. Empty "
        "for the default tolerances.",
    )
    timeout: float = Field(default=30.0, gt=0.0, description="Limit of each call of the simulator [s].")
    sensor_timeout: float = Field(
        default=10.0, gt=0.0, description="Wait for the contacts of the scene that was set up [s]."
    )
    startup_timeout: float = Field(default=60.0, gt=0.0, description="Time for the simulator to come up [s].")

    @classmethod
    def of(cls, session: ResolvedSession, run: RunFolder) -> Self:
        """Return the parameters of the bridge of a session."""
        world, named, timeouts = session.world, session.parameters.world, session.parameters.timeouts
        prefix = session.simulator
        resources = {"*": str(run.models / "{name}.sdf")} if world.features.engine else named.resources
        return cls(
            **{service.name: f"{prefix}/{service.name}" for service in fields(SimulationServices)},
            task=session.task_file,
            robot=session.robot_file,
            backend=named.backend,
            stream=world.streams,
            plays=not world.lockstep,
            follows_pose=world.follows_pose,
            resets_robot=world.features.resets_robot,
            resources=tuple(f"{model}={uri}" for model, uri in resources.items()),
            entities=tuple(f"{name}={entity}" for name, entity in named.entities.items()),
            contacts_topic=session.robot.contacts_topic if session.robot.reports_contacts else "",
            scene_period=1.0 / session.task.control_rate,
            operator=OPERATOR,
            run=str(run.path) if world.features.person else "",
            timeout=timeouts.set_up,
            sensor_timeout=timeouts.sensors,
            startup_timeout=timeouts.start_up,
            leader=LEADER,
        )

    def set_up_tolerances(self, task: Task) -> Tolerances:
        """Return the tolerances of the poses in which a person leaves a task's objects.

        Raises:
            ConfigurationError: `run` is no run folder, or its session cannot be read.
        """
        if not self.run:
            return Tolerances(PERSON)
        session = load_record(SessionParameters, RunFolder.open(Path(self.run)).session_file)
        return session.operator.set_up_tolerances(task)
