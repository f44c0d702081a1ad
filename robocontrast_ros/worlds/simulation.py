"""The standard services of a simulator as plain calls, and the features that it may have."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from enum import IntEnum
from typing import Protocol

from robocontrast_ros.domain import Pose


class Feature(IntEnum):
    """Features of a simulator: the constants of simulation_interfaces/SimulatorFeatures that we use."""

    SPAWNING = 0
    DELETING = 1
    ENTITY_BOUNDS = 5
    ENTITY_STATE_GETTING = 10
    ENTITY_STATE_SETTING = 11
    SIMULATION_RESET = 20
    SIMULATION_RESET_STATE = 22
    SIMULATION_STATE_SETTING = 25
    SIMULATION_STATE_PAUSE = 26
    STEP_SIMULATION_SINGLE = 31
    STEP_SIMULATION_MULTIPLE = 32


REQUIRED = (Feature.ENTITY_STATE_GETTING, Feature.ENTITY_STATE_SETTING, Feature.STEP_SIMULATION_SINGLE)
"""Features without which no scene can be set up; the others are used if they are available."""

TO_PAUSE = (Feature.SIMULATION_STATE_SETTING, Feature.SIMULATION_STATE_PAUSE)
"""Features that are also required of a simulator that runs on the wall clock."""


FORMATS = {
    ".xml": "mjcf",
    ".mjcf": "mjcf",
    **dict.fromkeys((".yaml", ".yml"), "yaml"),
    ".sdf": "sdf",
    ".urdf": "urdf",
    **dict.fromkeys((".usd", ".usda", ".usdc", ".usdz"), "usd"),
}
"""Suffix of a spawnable file -> its format, as `spawn_formats` of simulators name it."""


class SimulationError(Exception):
    """The simulator answered a request with an error; the message is the error's text."""


class Simulation(Protocol):
    """The standard services as plain calls. Each raises SimulationError on a refusal, BenchFault on silence.

    Attributes:
        description: the simulator's own description of its engine and renderer; known once its features are known.
        formats: formats that it spawns, such as ``sdf``, known once its features are known; empty if it does not say.
    """

    description: str
    formats: frozenset[str]

    def features(self) -> frozenset[int]:
        """Return the numbers of the simulator's features."""

    def poses(self) -> tuple[int, dict[str, Pose]]:
        """Return the time [ns] and every entity's pose in the world frame."""

    def request_poses(self, then: Callable[[int, dict[str, Pose]], None]) -> None:
        """Request the poses without waiting; ``then`` receives time [ns] and poses when they are known."""

    def set_pose(self, entity: str, pose: Pose) -> None:
        """Put an entity, at rest, at a pose in the world frame."""

    def at_once(self) -> AbstractContextManager[None]:
        """Return a context in which entities are spawned and deleted, and at whose end all of it may take effect.

        A refusal may also come at the end.
        """

    def spawn(self, entity: str, uri: str, pose: Pose) -> None:
        """Spawn an entity."""

    def delete(self, entity: str) -> None:
        """Delete an entity."""

    def reset_state(self) -> None:
        """Put the robot, and everything else, back to its place at the beginning; time goes on."""

    def step(self, steps: int) -> None:
        """Let that many physics steps pass."""

    def bounds(self, entity: str) -> tuple[float, float] | None:
        """Return length and width of an entity that is not turned, from above [m]; None if it has no extent."""

    def play(self, playing: bool) -> None:
        """Let the world run by itself, or pause it, unless it already does so."""
