"""The interface of a perturbation: a small, named change to a test instance (seed 000, section 4)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Protocol

import numpy as np

from robocontrast_ros.domain import (
    Aspect,
    Expectation,
    Instruction,
    NotApplicable,
    PerturbationSpec,
    Perturbed,
    Scene,
    TestInstance,
)
from robocontrast_ros.tasks.protocol import Answer, Infeasible, Task


class Perturbation(Protocol):
    """One perturbation function delta of the set P.

    Its entry point names the class, which is called without arguments. Its optional parts are in ``FullPerturbation``.

    Attributes:
        name: the name in parameter files and tables, for instance ``LB1``.
        symbol: the paper's symbol, for instance ``ΔLB1``.
        axes: those of L, S, B and O that it changes, for instance ``LB``.
        description: one line for ``--help`` and the report.
        plausible: whether a robot may meet it in use (seed 004, section III: a sound policy is robust to plausible
            changes, and fails if nobody could succeed).
        expectation: the behaviour of a sound policy.
    """

    name: str
    symbol: str
    axes: str
    description: str
    plausible: bool
    expectation: Expectation

    def supports(self, task: Task) -> bool:
        """Return whether the task has the part that this perturbation changes; else a session with both is refused.

        Raises:
            ValueError: it has, but not as the parameters want it; the text names the expected values.
        """

    def apply(self, task: Task, base: TestInstance, scene: Scene, rng: np.random.Generator) -> Answer:
        """Perturb a test instance.

        Args:
            task: the task of the instance.
            base: the unperturbed test instance: its instruction is the one to perturb.
            scene: the actual scene, which the previous trial left (Algorithm 1: x').
            rng: the only source of randomness.
        """


class FullPerturbation(Perturbation, Protocol):
    """Optional parts of a perturbation, independent of each other.

    Attributes:
        parameters: the record of its parameters. It is also called with such a record; its ``name`` then contains the
            parameters, so that a session can have it more than once.
        measures: numbers that all proofs of its instances have, so that a study's claims can be about them.
        camera: the session's camera whose images alone it changes; empty for all.
        elsewhere: why it does not apply in another scene than the instance's own; empty if it does. Within a
            composition, one that has no such attribute applies in that scene alone.
        acts_on: what it changes, so that no other part of a composition erases it; without it this follows from the
            axes.
        erases: that of which nothing is left, whatever another part made of it; without it this follows from
            ``acts_on``.
        parts: the perturbations that it is composed of, in the order in which they are applied.
    """

    parameters: ClassVar[type[Any]]
    measures: ClassVar[tuple[str, ...]]
    camera: str
    elsewhere: str
    acts_on: tuple[Aspect, ...]
    erases: tuple[Aspect, ...]
    parts: tuple[Perturbation, ...]


class NamedPerturbation(ABC):
    """Base of perturbations: the new instance has the base instance's id and the perturbation's name.

    The attributes are those of ``Perturbation``, and:

    Attributes:
        elsewhere: why it does not apply in another scene than the instance's own; empty if it does.
    """

    name: str
    symbol: str
    axes: str
    description: str
    plausible: bool = True
    expectation: Expectation = Expectation.CHANGES_BEHAVIOUR
    elsewhere: str = ""

    @abstractmethod
    def supports(self, task: Task) -> bool:
        """Return whether the task has the part that this perturbation changes."""

    @abstractmethod
    def changed(self, task: Task, base: TestInstance, scene: Scene, rng: np.random.Generator) -> Answer:
        """Return the new instance, whatever its id."""

    def apply(self, task: Task, base: TestInstance, scene: Scene, rng: np.random.Generator) -> Answer:
        """Perturb a test instance."""
        if self.elsewhere and scene.objects != base.scene.objects:
            return NotApplicable(self.elsewhere)
        answer = self.changed(task, base, scene, rng)
        if isinstance(answer, NotApplicable):
            return answer
        return replace(answer, instance=replace(answer.instance, instance_id=f"{base.instance_id}-{self.name}"))


def remade(task: Task, base: TestInstance, instruction: Instruction, scene: Scene, note: str) -> Answer:
    """Return an instance with another instruction or in another scene; not applicable if it cannot be fulfilled."""
    instance = task.make_instance(base.instance_id, instruction, scene)
    if isinstance(instance, Infeasible):
        return NotApplicable(f"'{instruction.text}': {instance.reason}")
    return Perturbed(instance, note)


def spec_of(perturbation: Perturbation) -> PerturbationSpec:
    """Return a perturbation's description."""
    parts = tuple(part.name for part in getattr(perturbation, "parts", ()))
    return PerturbationSpec(perturbation.axes, perturbation.plausible, perturbation.expectation, parts)
