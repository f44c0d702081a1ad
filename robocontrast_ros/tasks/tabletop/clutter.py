"""Distractors on the table (seed 001, section III): where they stand, and how much they hide."""

from __future__ import annotations

import numpy as np

from robocontrast_ros.domain import Instruction, NotApplicable, Perturbed, Scene, TestInstance
from robocontrast_ros.tasks.protocol import Crowd, Task
from robocontrast_ros.tasks.tabletop import shapes
from robocontrast_ros.tasks.tabletop.goals import Library, argument, named
from robocontrast_ros.tasks.tabletop.parameters import TabletopParameters


class TabletopClutter:
    """Adds things that an instruction does not name."""

    def __init__(self, task: Task, parameters: TabletopParameters, library: Library) -> None:
        """Take the task, whose instances are made, and its parts."""
        self._task, self._p, self._library = task, parameters, library

    def target(self, instruction: Instruction) -> str:
        """Return the name of what is to be handled."""
        return argument(instruction, "target")

    def distractors(self, instruction: Instruction, scene: Scene) -> tuple[str, ...]:
        """Return the names of the things that could be moved and that the instruction does not name."""
        first = named(instruction)
        return tuple(o.name for o in scene if not self._library[o.model].fixed and o.name not in first)

    def distance(self, scene: Scene, name: str, point: tuple[float, float, float]) -> float:
        """Return how far a point is from a thing's box, all in the scene's frame [m]; 0 inside."""
        state = scene[name]
        x, y, z = self._library[state.model].size
        inside = shapes.in_frame(state.pose, point) - np.array([0.0, 0.0, z / 2.0])
        beyond = np.maximum(np.abs(inside) - np.array([x, y, z]) / 2.0, 0.0)
        return float(np.sqrt((beyond * beyond).sum()))

    def lowest(self, scene: Scene, name: str) -> float:
        """Return the height of the lowest corner of a thing's box, in the scene's frame [m]."""
        return shapes.lowest(self._library[scene[name].model], scene[name].pose)

    def most(self) -> int:
        """Return how many distractors there is room for, as far as was tried."""
        raise NotImplementedError

    def add(self, base: TestInstance, crowd: Crowd, rng: np.random.Generator) -> Perturbed | NotApplicable:
        """Add distractors to an instance's own scene; see ``Clutter.add``."""
        raise NotImplementedError
