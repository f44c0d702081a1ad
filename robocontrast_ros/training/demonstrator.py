"""An oracle's robot in the embedded world, its noise, and the parameters common to all demonstrations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from robocontrast_ros.configuration import ConfigurationError, load_record, record, resolve_uri
from robocontrast_ros.domain import RobotState
from robocontrast_ros.domain.products import norm
from robocontrast_ros.images.rendering import Camera
from robocontrast_ros.policies.baselines.tabletop.oracle import TabletopOracleParameters
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


@record
class HandNoise:
    """Keys of the noise in what a hand executes."""

    noise: float = Field(ge=0, description="greatest standard deviation of each executed coordinate [m]")
    turn_noise: float = Field(ge=0, description="the same of the executed turn [rad]")
    drift_turn: float = Field(ge=0, description="largest turn of a drifting step [rad]")


class Drift:
    """The executed actions of one episode: the oracle's or drifts, with noise."""

    def __init__(self, parameters: Any, rng: np.random.Generator, turns: tuple[int, ...]) -> None:
        """Begin.

        Args:
            parameters: a record with ``DemonstrationKeys`` and ``HandNoise``.
            rng: of noise and drifts.
            turns: elements of an action that turn the hand.
        """
        self._p, self._rng, self._turns = parameters, rng, list(turns)
        # Some episodes have little noise, because a policy also has to be exact.
        self._share = rng.uniform()
        self._drift, self._left = np.zeros(3 + len(turns)), 0

    def executed(self, label: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the action that is executed in place of the label, shape (7,)."""
        p, rng, turns = self._p, self._rng, self._turns
        action = label.copy()
        if self._left == 0 and rng.random() < p.drift_chance:
            self._left = int(rng.integers(1, p.drift_steps + 1))
            direction = rng.normal(size=3)
            shift = direction / float(norm(direction)) * rng.uniform(0.0, p.drift_length)
            self._drift = np.array([*shift, *rng.uniform(-p.drift_turn, p.drift_turn, len(turns))])
        if self._left > 0:
            self._left -= 1
            action[:3], action[turns] = self._drift[:3], self._drift[3:]
        action[:3] += rng.normal(0.0, p.noise, 3) * self._share
        action[turns] += rng.normal(0.0, p.turn_noise, len(turns)) * self._share
        return action


def read_oracle(parameters: Any) -> tuple[TabletopOracleParameters, Path]:
    """Return the parameters of the oracle of an arm with a hand, and its task's file.

    Args:
        parameters: a record whose ``oracle`` is the URI of its file.

    Raises:
        ConfigurationError: its file does not fit.
    """
    file = resolve_uri(parameters.oracle)
    oracle = load_record(TabletopOracleParameters, file)
    return oracle, resolve_uri(oracle.task, file.parent)


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

    def _columns(self, episodes: Sequence[dict[str, Any]], steps: Sequence[dict[str, Any]]) -> dict[str, NDArray[Any]]:
        """Return the columns of a shard, in single precision, from its rows: of episodes, and of steps.

        Raises:
            ConfigurationError: there is no episode.
        """
        if not episodes:
            expected = "a limit within which some of the oracle's episodes succeed"
            raise ConfigurationError("demonstrations", "step_limit", self._p.step_limit, expected)
        columns = {key: np.array([row[key] for row in rows]) for rows in (episodes, steps) for key in rows[0]}
        return {key: v.astype(np.float32) if v.dtype == np.float64 else v for key, v in columns.items()}
