"""The four perturbations of seed 000, section 5.1: ΔLB1 and ΔLB2 of the words, ΔSB1 and ΔSB2 of the scene."""

from __future__ import annotations

import numpy as np

from robocontrast_ros.domain import Aspect, Instruction, NotApplicable, Scene, TestInstance
from robocontrast_ros.perturbations.protocol import NamedPerturbation, remade
from robocontrast_ros.tasks.protocol import Answer, Task

OPPOSITE = {"up": "down", "down": "up", "left": "right", "right": "left", "top": "bottom", "bottom": "top"}
"""Every word of a direction or place that has an opposite; ``center`` has none."""

PLACES = ("direction", "location")


class _OfLanguage(NamedPerturbation):
    """Base of two: the instruction's arguments change."""

    axes = "LB"

    def changed(self, task: Task, base: TestInstance, scene: Scene, rng: np.random.Generator) -> Answer:
        """Give the changed instruction in the unchanged scene."""
        try:
            instruction = task.rewording.reword(base.instruction, self.arguments(base.instruction), scene, rng)
        except ValueError as reason:
            return NotApplicable(str(reason))
        return remade(task, base, instruction, scene, f"'{base.instruction.text}' became '{instruction.text}'")

    def arguments(self, instruction: Instruction) -> dict[str, str]:
        """Return the arguments that change.

        Raises:
            ValueError: why there are none.
        """
        raise NotImplementedError


class SwapBlocks(_OfLanguage):
    """ΔLB1: the source block's and the target block's expressions change places."""

    name, symbol = "LB1", "ΔLB1"
    description = "swap the source and target blocks in the instruction"

    def supports(self, task: Task) -> bool:
        """Return whether source and target can be changed."""
        return {"source", "target"} <= _changeable(task)

    def arguments(self, instruction: Instruction) -> dict[str, str]:
        """Return source and target, swapped."""
        source, target = instruction.get("source"), instruction.get("target")
        if source is None or target is None:
            raise ValueError(f"{instruction.family} names no target block to swap with")
        return {"source": target, "target": source}


class InvertDirection(_OfLanguage):
    """ΔLB2: every direction and place becomes its opposite, upper left becomes lower right."""

    name, symbol = "LB2", "ΔLB2"
    description = "invert the directions and places in the instruction"

    def supports(self, task: Task) -> bool:
        """Return whether a direction or a place can be changed."""
        return not _changeable(task).isdisjoint(PLACES)

    def arguments(self, instruction: Instruction) -> dict[str, str]:
        """Return directions and places, inverted."""
        said = {key: value for key, value in instruction.arguments if key in PLACES}
        changed = {key: inverted(value) for key, value in said.items()}
        if not said:
            raise ValueError(f"{instruction.family} names no direction or place")
        if changed == said:
            raise ValueError(f"{', '.join(said.values())} has no opposite")
        return changed


class _OfScene(NamedPerturbation):
    """Base of two: a block that the instruction names in a role is moved."""

    axes = "SB"
    role: str

    def supports(self, task: Task) -> bool:
        """Return whether the task can move an object."""
        return task.relocation is not None

    def changed(self, task: Task, base: TestInstance, scene: Scene, rng: np.random.Generator) -> Answer:
        """Move one block of the scene as it is, and give the same instruction."""
        name = base.instruction.get(self.role)
        if name is None:
            return NotApplicable(f"{base.instruction.family} names no {self.role} block")
        if name not in scene:
            return NotApplicable(f"the {self.role} block {name} is not in the scene")
        moved = task.relocation.relocate(base.instruction, name, scene, rng)
        if moved is None:
            return NotApplicable(
                f"no place found for the {self.role} block {name} in which to say '{base.instruction.text}'"
            )
        distance = scene[name].pose.distance_to(moved[name].pose)
        return remade(task, base, base.instruction, moved, f"moved {name} by {distance:.3f} m")


class MoveTarget(_OfScene):
    """ΔSB1: the target block is moved to a new location."""

    name, symbol, role = "SB1", "ΔSB1", "target"
    acts_on = (Aspect.TARGET,)
    description = "move the target block to a new location"


class MoveSource(_OfScene):
    """ΔSB2: the source block is moved to a new location."""

    name, symbol, role = "SB2", "ΔSB2", "source"
    acts_on = (Aspect.SOURCE,)
    description = "move the source block to a new location"


def _changeable(task: Task) -> set[str]:
    return set(task.rewording.arguments) if task.rewording else set()


def inverted(place: str) -> str:
    """Return the opposite of a direction or place, part by part: ``top_left`` becomes ``bottom_right``."""
    return "_".join(OPPOSITE.get(part, part) for part in place.split("_"))
