"""An oracle's robot in the embedded world, and the parameters common to the demonstrations of all oracles."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from robocontrast_ros.configuration import record
from robocontrast_ros.domain import RobotState
from robocontrast_ros.images.rendering import Camera
from robocontrast_ros.robots.kinds import make_controller
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.worlds.in_process import WorldSimulation
from robocontrast_ros.worlds.mujoco.world import World
from robocontrast_ros.worlds.simulated_scene import SimulatedScene


@record
class DemonstrationKeys:
    """Keys of the demonstrations of every oracle."""

    oracle: str = Field(description="URI of the oracle's parameter file; it names the task")
    seed: int = Field(ge=0, description="of what is drawn, and of noise; evaluations must use other seeds")
    physics_step: float = Field(gt=0, le=0.005, description="simulated time of one physics step [s]")
    step_limit: int = Field(gt=0, description="control steps after which an episode ends")
    drift_chance: float = Field(ge=0, le=1, description="chance, each step, that a drift begins")
    drift_steps: int = Field(gt=0, description="longest drift [control steps]")
    drift_length: float = Field(ge=0, description="longest displacement of a drifting step [m]")


class Demonstrator:
    """A robot in a world, moved by the displacements of an oracle, each of one control period."""

    def __init__(
        self, parameters: Any, robot: str, task: Any, oracle: Any, rest: float, cameras: tuple[Camera, ...] = ()
    ) -> None:
        """Make the world.

        Args:
            parameters: a record with ``DemonstrationKeys``.
            robot: name of its profile.
            task: the task whose scenes are set up.
            oracle: the policy whose action space the robot has.
            rest: share of a control period that goes by after a set-up.
            cameras: the cameras that are drawn.
        """
        self._p, self._task, self._oracle = parameters, task, oracle
        scenes, period, profile = task.scenes, 1.0 / task.control_rate, load_profile(robot)
        self._world = World(profile, scenes.world, scenes.start_position, cameras, parameters.physics_step)
        self._steps = round(period / self._world.step_duration)
        settle = round(rest * self._steps)
        self._scene = SimulatedScene(WorldSimulation(self._world), scenes.models, settle, tolerance=0.01)
        self._controller = make_controller(profile, oracle.describe().action_space, period)

    def _execute(self, action: NDArray[np.float64], robot: RobotState) -> None:
        """Carry out a displacement, which takes one control period."""
        self._controller.begin(action, robot)
        control = self._controller.step(robot)
        assert control is not None
        self._world.apply_command(control.command)
        self._world.step(self._steps)
