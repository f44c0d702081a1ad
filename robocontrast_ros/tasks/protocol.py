"""The interface of a task: an instance sampler, a grammar, goals and a planner."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

import numpy as np

from robocontrast_ros.domain import Instruction, Pose, Scene, TestInstance
from robocontrast_ros.domain.products import norm

Polygon = tuple[tuple[float, float], ...]
"""Corners in order, in the x-y plane of the scene's frame, shape (n, 2) [m]; the last is joined to the first."""


class Goal(Protocol):
    """The expected behaviour b of one test instance, as a predicate over scenes."""

    def satisfied(self, scene: Scene) -> bool:
        """Tell whether the scene fulfils the instruction."""

    def distance(self, scene: Scene) -> float:
        """Return how far the scene is from fulfilling it [m]; 0 exactly when it is satisfied."""


@runtime_checkable
class StagedGoal(Goal, Protocol):
    """A goal whose subgoals have to be reached in order (seed 000, section 6.1).

    Attributes:
        subgoals: in order; the last is reached where the goal itself is satisfied.
        stop_required: whether the trial is a success only if the policy itself stops where the goal is
            satisfied, as in VLN-CE.
        reach: distance within which the robot counts as there [m]; it is also the d_th of nDTW, which is
            the success threshold of Ilharco et al. 2019.
    """

    subgoals: tuple[Goal, ...]
    stop_required: bool
    reach: float


@runtime_checkable
class RegionGoal(Goal, Protocol):
    """A goal, or a subgoal, that can be drawn on a map."""

    def regions(self, scene: Scene) -> tuple[Polygon, ...]:
        """Return the edges of where the robot (or the object that it moves) has to be, one an area."""


@dataclass(frozen=True)
class Backdrop:
    """The background of a map, which never moves.

    Attributes:
        floor: the floor, or the board.
        walls: filled areas that the robot cannot pass.
        up: the direction of the scene's frame that is up on the map.
    """

    floor: Polygon
    walls: tuple[Polygon, ...] = ()
    up: Literal["x", "-x", "y", "-y"] = "y"


@dataclass(frozen=True)
class Plan:
    """The planner's answer for one test instance.

    Attributes:
        path: robot path in the scene's frame, shape (n, 2), or (n, 3) where the task's paths count in space, from the
            start position [m].
        final_scene: the scene when the plan succeeds.
    """

    path: tuple[tuple[float, ...], ...]
    final_scene: Scene

    @property
    def length(self) -> float:
        """Length of the path [m]: the optimal path length l_i of SPL."""
        points = np.asarray(self.path, dtype=float)
        return float(norm(np.diff(points, axis=0)).sum())


class Task(Protocol):
    """A family of test instances: the domain X and its expected behaviours Y (seed 000, section 3).

    A task is made by its entry point from its parameter file: ``Task.from_file(path)``.

    Attributes:
        name: the name in its parameter file.
        families: its families of instructions.
        metric: the M of its evaluations (seed 000, section 3), which summaries and figures show, where the session
            names no other: one of its scores.

    A task may also have

    - ``scores``: names of its scores, in the order of tables; without it, those of ``episodes.scoring.standard``;
    - ``path_dimensions``: 2 where paths count in the x-y plane of the scene's frame, as without it, 3 in space.
    """

    name: str
    families: tuple[str, ...]
    metric: str

    @classmethod
    def from_file(cls, path: Path) -> Task:
        """Return the task that a parameter file describes.

        Raises:
            ConfigurationError: the file does not fit.
        """

    @property
    def world(self) -> str:
        """URI of the world model (MJCF in the embedded simulator) without movable objects."""

    @property
    def models(self) -> dict[str, str]:
        """Model name of each object -> URI of the spawnable resource."""

    @property
    def start_position(self) -> tuple[float, float, float] | None:
        """Where the robot's tool starts, in the scene's frame [m]; None where the scene has the robot's pose."""

    @property
    def physics_step(self) -> float:
        """Step of the embedded simulator's physics [s]; a control period is a whole number of them."""

    def outline(self, model: str) -> tuple[tuple[float, float], ...]:
        """Return the polygon that a model covers seen from above, in the object's frame, shape (n, 2) [m].

        Raises:
            KeyError: the task has no such model.
        """

    @property
    def control_rate(self) -> float:
        """Control steps per second of simulated time [Hz]."""

    @property
    def step_limit(self) -> int:
        """Control steps after which a trial ends."""

    def conditions(self) -> Iterator[Instruction]:
        """Enumerate every task condition once (structure, with one canonical wording)."""

    def sample(self, rng: np.random.Generator, instance_id: str, family: str | None = None) -> TestInstance:
        """Draw one i.i.d. test instance that is feasible and not solved at its start."""

    def goal(self, instruction: Instruction, start: Scene) -> Goal:
        """Return the expected behaviour of an instruction given in a starting scene."""

    def plan(self, instruction: Instruction, scene: Scene) -> Plan | None:
        """Return the shortest robot path that fulfils the instruction, or None when infeasible."""

    def realise(self, instruction: Instruction, scene: Scene, rng: np.random.Generator) -> Instruction:
        """Return the instruction with its structure put into words that fit the scene."""

    def parse(self, text: str, scene: Scene) -> Instruction:
        """Return the structure of an instruction text in a scene.

        Raises:
            ValueError: the grammar does not know the text, or the scene makes it ambiguous.
        """

    def make_instance(self, instance_id: str, instruction: Instruction, scene: Scene) -> TestInstance | None:
        """Return a test instance with its optimal path length; None when infeasible or solved already."""


@runtime_checkable
class StructuredTask(Task, Protocol):
    """A task whose instructions and scenes can be changed part by part, as ΔLB and ΔSB do."""

    def infeasibility(self, instruction: Instruction, scene: Scene) -> str | None:
        """Return why these make no instance (solved already, no plan), in words; None when they do."""

    def reword(
        self, instruction: Instruction, arguments: dict[str, str], scene: Scene, rng: np.random.Generator
    ) -> Instruction:
        """Return the instruction with some arguments changed, and its wording kept where possible.

        Raises:
            ValueError: the instruction's text is not of the task's grammar.
        """

    def relocate(self, instruction: Instruction, name: str, scene: Scene, rng: np.random.Generator) -> Scene | None:
        """Return the scene with one object moved so that the instruction can be given.

        None when no place is found.
        """


@runtime_checkable
class MappedTask(Task, Protocol):
    """A task whose maps have a background; other tasks have maps without one."""

    def backdrop(self) -> Backdrop:
        """Return the background."""


def path_dimensions(task: Task) -> int:
    """Return in how many dimensions the task's paths count: planned, driven and reference paths alike.

    Raises:
        ValueError: the task says neither 2 nor 3.
    """
    dimensions = getattr(task, "path_dimensions", 2)
    if dimensions not in (2, 3):
        raise ValueError(f"path_dimensions of the task '{task.name}': got {dimensions!r}, expected 2 or 3")
    return int(dimensions)


def robot_start(task: Task, scene: Scene) -> Pose:
    """Return where the robot (its tool, or the base of a mobile robot) is when a trial starts in a scene.

    Raises:
        ValueError: neither the scene nor the task says it.
    """
    if scene.robot is not None:
        return scene.robot
    if task.start_position is None:
        raise ValueError(f"the task '{task.name}' needs the robot's pose in the scene, which has none")
    return Pose(task.start_position)
