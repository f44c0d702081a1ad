"""Changed test instances with the proof of their claim, and the base of neighbourhoods that prove it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from robocontrast_ros.domain import Instruction, NotApplicable, Perturbed, Proof, Scene, TestInstance
from robocontrast_ros.tasks.protocol import Answer, Infeasible, Task


def proven(instance: TestInstance, claim: str, note: str, measures: Mapping[str, float]) -> Perturbed:
    """Return a changed instance with its proof, and the change in words."""
    return Perturbed(replace(instance, proof=Proof(claim, tuple(measures.items()))), note)


def paths(base: TestInstance, new: TestInstance) -> dict[str, float]:
    """Return the measures of the planner's robot path in an instance and in the changed one."""
    return {"path_before_m": base.optimal_path_length, "path_after_m": new.optimal_path_length}


def shared_words(before: str, after: str) -> float:
    """Return the share of the new words that are also among the old ones."""
    said, says = (set(text.lower().split()) for text in (before, after))
    return len(said & says) / len(says)


@dataclass(frozen=True)
class Case:
    """An instance to be changed.

    Attributes:
        base: the unperturbed test instance.
        scene: the actual scene.
        before: the planner's answer to the base instruction, for comparison.
        reason: why the base instruction cannot be given in the scene; empty if it can.
    """

    base: TestInstance
    scene: Scene
    before: Any
    reason: str = ""


class ProvenNeighbourhood(ABC):
    """Base of the ``protocol.Neighbourhood`` of a task: every proof compares the earlier plan with the new one.

    Attributes:
        reworded: the claim of an instruction in other words.
    """

    reworded: ClassVar[str]

    def __init__(self, task: Task) -> None:
        """Take the task, whose language and instances are used."""
        self._task = task

    def reword(self, base: TestInstance, scene: Scene, rng: np.random.Generator) -> Answer:
        """Say the same in other words."""
        return self._tried(self._reworded, base, scene, rng)

    def redirect(self, base: TestInstance, scene: Scene, rng: np.random.Generator) -> Answer:
        """Ask for another thing or another place."""
        return self._tried(self._redirected, base, scene, rng)

    def move_bystander(self, base: TestInstance, scene: Scene, rng: np.random.Generator) -> Answer:
        """Move an object that the instruction does not name such that the expected behaviour stays."""
        return self._tried(self._bystander_moved, base, scene, rng)

    def move_or_block(self, base: TestInstance, scene: Scene, rng: np.random.Generator) -> Answer:
        """Move an object that it names, or another one into the way, such that the expected behaviour changes."""
        return self._tried(self._moved_or_blocked, base, scene, rng)

    # -- what a task adds; each may raise a ValueError with the reason why there is none -------------------

    @abstractmethod
    def _case(self, base: TestInstance, scene: Scene) -> Case:
        """Return the case to change."""

    @abstractmethod
    def _compared(self, case: Case, after: TestInstance) -> dict[str, float]:
        """Return the measures of every proof: the expected behaviour before, beside that of the new instance."""

    @abstractmethod
    def _redirected(self, case: Case, rng: np.random.Generator) -> Answer:
        """Answer ``redirect``."""

    @abstractmethod
    def _bystander_moved(self, case: Case, rng: np.random.Generator) -> Answer:
        """Answer ``move_bystander``."""

    @abstractmethod
    def _moved_or_blocked(self, case: Case, rng: np.random.Generator) -> Answer:
        """Answer ``move_or_block``."""

    # -- what a task uses ---------------------------------------------------------------------------

    def _proven(
        self, case: Case, claim: str, instruction: Instruction, scene: Scene, note: str, **measures: float
    ) -> Perturbed | Infeasible:
        """Return the instance with its proof: the measures of every proof and further ones; or why there is none."""
        instance = self._task.make_instance(case.base.instance_id, instruction, scene)
        if isinstance(instance, Infeasible):
            return instance
        return proven(instance, claim, note, {**self._compared(case, instance), **measures})

    def _moved(self, case: Case, claim: str, name: str, after: Scene, **measures: float) -> Perturbed | Infeasible:
        """Return the instance with one object moved, and the same words."""
        distance = case.scene[name].pose.distance_to(after[name].pose)
        note = f"moved {name} by {distance:.2f} m"
        return self._proven(case, claim, case.base.instruction, after, note, moved_m=distance, **measures)

    def _tried(
        self,
        change: Callable[[Case, np.random.Generator], Answer],
        base: TestInstance,
        scene: Scene,
        rng: np.random.Generator,
    ) -> Answer:
        try:
            return change(self._case(base, scene), rng)
        except ValueError as reason:
            return NotApplicable(str(reason))

    def _reworded(self, case: Case, rng: np.random.Generator) -> Answer:
        task, said, scene = self._task, case.base.instruction, case.scene
        if case.reason:
            return NotApplicable(case.reason)
        instruction = task.rewording.rephrase(said, scene, rng)
        understood = task.language.parse(instruction.text, scene)
        if (understood.family, understood.arguments) != (said.family, said.arguments):
            return NotApplicable(f"'{instruction.text}' is understood as {understood.arguments}")
        if instruction.text == said.text:
            return NotApplicable(f"there are no other words for '{said.text}'")
        shared = shared_words(said.text, instruction.text)
        note = f"'{said.text}' became '{instruction.text}'"
        found = self._proven(case, self.reworded, instruction, scene, note, shared_words=shared)
        return NotApplicable(f"'{instruction.text}': {found.reason}") if isinstance(found, Infeasible) else found
