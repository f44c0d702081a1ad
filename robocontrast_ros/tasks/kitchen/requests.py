"""What can be asked for in a scene: each thing on, in, left and right of others, and each state of a joint."""

from __future__ import annotations

from collections.abc import Iterator

from robocontrast_ros.domain import Instruction, Scene
from robocontrast_ros.objects import ObjectModel
from robocontrast_ros.tasks.kitchen.library import BACKGROUND, Things
from robocontrast_ros.tasks.kitchen.parameters import FAMILIES
from robocontrast_ros.tasks.kitchen.predicates import STATES


def named(instruction: Instruction) -> tuple[str, ...]:
    """Return the things that an instruction names: the target, then the reference if it has one."""
    both = instruction.get("target"), instruction.get("reference")
    return tuple(str(name) for name in both if name is not None)


def moves_joint(instruction: Instruction) -> bool:
    """Return whether an instruction is about a part that moves on a joint.

    Raises:
        KeyError: its family is unknown.
    """
    return FAMILIES[instruction.family] in STATES


def carried(scene: Scene, things: Things) -> tuple[str, ...]:
    """Return the names of the things of a scene that can be carried."""
    return tuple(o.name for o in scene if o.model in things.models and not things.models[o.model].fixed)


def requests(scene: Scene, things: Things) -> Iterator[Instruction]:
    """Yield all instructions, without words, that make sense for the things of a scene, whatever is true there."""
    for family, predicate in FAMILIES.items():
        if predicate not in STATES:
            continue
        for state in scene:
            part = things.parts.get(state.model)
            if part is not None and any(known.name == STATES[predicate] for known in part.joint.states):
                yield Instruction("", family, (("target", state.name),))
    movable = carried(scene, things)
    for target in movable:
        for place in scene:
            if place.name == target or place.model not in things.models:
                continue
            for family in _placings(things.models[scene[target].model], things.models[place.model]):
                yield Instruction("", family, (("target", target), ("reference", place.name)))


def _placings(target: ObjectModel, reference: ObjectModel) -> Iterator[str]:
    """Yield the families that a target can be placed by, at a reference."""
    if reference.category in BACKGROUND:
        return
    if target.type == reference.type:
        if reference.cavity is not None or reference.top is not None:
            yield "stack"
    else:
        if reference.top is not None:
            yield "put_on"
        if reference.cavity is not None:
            yield "put_in"
    if not reference.fixed:
        yield "put_left"
        yield "put_right"
