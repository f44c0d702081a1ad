"""The four perturbations of seed 000, section 6.1: ΔL, ΔLB, ΔS and ΔSB, for every task that has a neighbourhood.

The task defines each of them, and how its claim is proved: ``Task.neighbourhood``.
"""

from __future__ import annotations

import numpy as np

from robocontrast_ros.domain import Expectation, Scene, TestInstance
from robocontrast_ros.perturbations.protocol import NamedPerturbation
from robocontrast_ros.tasks.protocol import Answer, Task


class _Neighbour(NamedPerturbation):
    """Base of the four: the task's answer, under the perturbation's name."""

    def supports(self, task: Task) -> bool:
        """Return whether the task knows the neighbours of an instance."""
        return task.neighbourhood is not None


class Reword(_Neighbour):
    """ΔL: the same in other words."""

    name, symbol, axes = "L", "ΔL", "L"
    description = "say the same in other words"
    expectation = Expectation.KEEPS_SUCCESS

    def changed(self, task: Task, base: TestInstance, scene: Scene, rng: np.random.Generator) -> Answer:
        """Return the task's answer."""
        return task.neighbourhood.reword(base, scene, rng)


class Redirect(_Neighbour):
    """ΔLB: the instruction asks for another thing or another place."""

    name, symbol, axes = "LB", "ΔLB", "LB"
    description = "ask for another thing or another place"

    def changed(self, task: Task, base: TestInstance, scene: Scene, rng: np.random.Generator) -> Answer:
        """Return the task's answer."""
        return task.neighbourhood.redirect(base, scene, rng)


class MoveBystander(_Neighbour):
    """ΔS: an object that the instruction does not name is moved, without effect on the expected behaviour."""

    name, symbol, axes = "S", "ΔS", "S"
    description = "move an object such that what is expected stays"
    expectation = Expectation.KEEPS_SUCCESS

    def changed(self, task: Task, base: TestInstance, scene: Scene, rng: np.random.Generator) -> Answer:
        """Return the task's answer."""
        return task.neighbourhood.move_bystander(base, scene, rng)


class MoveOrBlock(_Neighbour):
    """ΔSB: an object that the instruction names is moved away, or another one into the way."""

    name, symbol, axes = "SB", "ΔSB", "SB"
    description = "move what is named, or put an object in the way, such that what is expected changes"

    def changed(self, task: Task, base: TestInstance, scene: Scene, rng: np.random.Generator) -> Answer:
        """Return the task's answer."""
        return task.neighbourhood.move_or_block(base, scene, rng)
