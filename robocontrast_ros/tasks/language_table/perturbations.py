"""The four perturbations of seed 000, section 5.1: ΔLB1 and ΔLB2 of the words, ΔSB1 and ΔSB2 of the scene."""

from __future__ import annotations

import numpy as np

from robocontrast_ros.domain import Expectation, Instruction, NotApplicable, Perturbed, Scene, TestInstance
from robocontrast_ros.tasks.protocol import Infeasible, Task

OPPOSITE = {"up": "down", "down": "up", "left": "right", "right": "left", "top": "bottom", "bottom": "top"}
"""Every word of a direction or place that has an opposite; ``center`` has none."""

PLACES = ("direction", "location")


class _OfStructure:
    """Base of the four: they change the instruction's arguments, or move a block that it names."""

    name: str
    symbol: str
    axes: str
    description: str
    plausible = True
    expectation = Expectation.CHANGES_BEHAVIOUR

    def supports(self, task: Task) -> bool:
        """Tell whether the task can change what this one changes."""
        raise NotImplementedError

    def _instance(
        self, task: Task, base: TestInstance, instruction: Instruction, scene: Scene, note: str
    ) -> Perturbed | NotApplicable:
        instance = task.make_instance(f"{base.instance_id}-{self.name}", instruction, scene)
        if isinstance(instance, Infeasible):
            return NotApplicable(f"'{instruction.text}': {instance.reason}")
        return Perturbed(instance, note)


class _OfLanguage(_OfStructure):
    axes = "LB"

    def apply(
        self, task: Task, base: TestInstance, scene: Scene, rng: np.random.Generator
    ) -> Perturbed | NotApplicable:
        """Give the changed instruction in the scene as it is."""
        changed = self._changed(base.instruction)
        if isinstance(changed, NotApplicable):
            return changed
        try:
            instruction = task.rewording.reword(base.instruction, changed, scene, rng)
        except ValueError as reason:
            return NotApplicable(str(reason))
        note = f"'{base.instruction.text}' became '{instruction.text}'"
        return self._instance(task, base, instruction, scene, note)

    def _changed(self, instruction: Instruction) -> dict[str, str] | NotApplicable:
        """Return the arguments that change."""
        raise NotImplementedError


class SwapBlocks(_OfLanguage):
    """ΔLB1: the source block's and the target block's expressions change places."""

    name = "LB1"
    symbol = "ΔLB1"
    description = "swap the source and target blocks in the instruction"

    def supports(self, task: Task) -> bool:
        """Tell whether source and target can be changed."""
        return {"source", "target"} <= _changeable(task)

    def _changed(self, instruction: Instruction) -> dict[str, str] | NotApplicable:
        source, target = instruction.get("source"), instruction.get("target")
        if source is None or target is None:
            return NotApplicable(f"{instruction.family} names no target block to swap with")
        return {"source": target, "target": source}


class InvertDirection(_OfLanguage):
    """ΔLB2: every direction and place becomes its opposite, upper left becomes lower right."""

    name = "LB2"
    symbol = "ΔLB2"
    description = "invert the directions and places in the instruction"

    def supports(self, task: Task) -> bool:
        """Tell whether a direction or a place can be changed."""
        return not _changeable(task).isdisjoint(PLACES)

    def _changed(self, instruction: Instruction) -> dict[str, str] | NotApplicable:
        said = {key: value for key, value in instruction.arguments if key in PLACES}
        changed = {key: inverted(value) for key, value in said.items()}
        if not said:
            return NotApplicable(f"{instruction.family} names no direction or place")
        if changed == said:
            return NotApplicable(f"{', '.join(said.values())} has no opposite")
        return changed


class _OfScene(_OfStructure):
    axes = "SB"
    role: str

    def supports(self, task: Task) -> bool:
        """Tell whether the task can move an object."""
        return task.relocation is not None

    def apply(
        self, task: Task, base: TestInstance, scene: Scene, rng: np.random.Generator
    ) -> Perturbed | NotApplicable:
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
        return self._instance(task, base, base.instruction, moved, f"moved {name} by {distance:.3f} m")


class MoveTarget(_OfScene):
    """ΔSB1: the target block is moved to a new location."""

    name = "SB1"
    symbol = "ΔSB1"
    description = "move the target block to a new location"
    role = "target"


class MoveSource(_OfScene):
    """ΔSB2: the source block is moved to a new location."""

    name = "SB2"
    symbol = "ΔSB2"
    description = "move the source block to a new location"
    role = "source"


def _changeable(task: Task) -> set[str]:
    return set(task.rewording.arguments) if task.rewording else set()


def inverted(place: str) -> str:
    """Return the opposite of a direction or place, part by part: ``top_left`` becomes ``bottom_right``."""
    return "_".join(OPPOSITE.get(part, part) for part in place.split("_"))
