"""The four perturbations of seed 000, section 6.1: ΔL, ΔLB, ΔS and ΔSB, for every task that has a neighbourhood.

What each of them is for a task, and how its claim is proved, the task says: ``Task.neighbourhood``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robocontrast_ros.domain import Expectation, NotApplicable, Perturbed, Scene, TestInstance
from robocontrast_ros.tasks.protocol import Neighbourhood, Task


class _Neighbour:
    """Base of the four: the task's answer, under the perturbation's name.

    Attributes:
        asks: name of the method of ``Neighbourhood`` that answers.
    """

    name: str
    symbol: str
    axes: str
    description: str
    plausible = True
    expectation: Expectation
    asks: str

    def supports(self, task: Task) -> bool:
        """Tell whether the task knows the neighbours of an instance."""
        return task.neighbourhood is not None

    def apply(
        self, task: Task, base: TestInstance, scene: Scene, rng: np.random.Generator
    ) -> Perturbed | NotApplicable:
        """Perturb a test instance."""
        answer = getattr(task.neighbourhood, self.asks)(base, scene, rng)
        if isinstance(answer, NotApplicable):
            return answer
        return replace(answer, instance=replace(answer.instance, instance_id=f"{base.instance_id}-{self.name}"))


class Reword(_Neighbour):
    """ΔL: the same in other words."""

    name = "L"
    symbol = "ΔL"
    axes = "L"
    description = "say the same in other words"
    expectation = Expectation.KEEPS_SUCCESS
    asks = Neighbourhood.reword.__name__


class Redirect(_Neighbour):
    """ΔLB: the instruction asks for another thing or another place."""

    name = "LB"
    symbol = "ΔLB"
    axes = "LB"
    description = "ask for another thing or another place"
    expectation = Expectation.CHANGES_BEHAVIOUR
    asks = Neighbourhood.redirect.__name__


class MoveBystander(_Neighbour):
    """ΔS: an object that the instruction does not name is moved, without effect on what is expected."""

    name = "S"
    symbol = "ΔS"
    axes = "S"
    description = "move an object such that what is expected stays"
    expectation = Expectation.KEEPS_SUCCESS
    asks = Neighbourhood.move_bystander.__name__


class MoveOrBlock(_Neighbour):
    """ΔSB: an object that the instruction names is moved away, or another one into the way."""

    name = "SB"
    symbol = "ΔSB"
    axes = "SB"
    description = "move what is named, or put an object in the way, such that what is expected changes"
    expectation = Expectation.CHANGES_BEHAVIOUR
    asks = Neighbourhood.move_or_block.__name__
