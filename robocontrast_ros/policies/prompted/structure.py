"""The parts of an instruction as classes, which the network chooses: family and arguments."""

from __future__ import annotations

from collections.abc import Mapping

from robocontrast_ros.domain import Instruction
from robocontrast_ros.tasks.language_table.goals import DIRECTIONS, DISTANCES, LOCATIONS
from robocontrast_ros.tasks.language_table.parameters import FAMILIES

ROLES = ("source", "target")
"""Arguments that are objects: the answer is a place in the list of them."""

CLASSES: Mapping[str, tuple[str, ...]] = {
    "family": FAMILIES,
    "location": LOCATIONS,
    "direction": DIRECTIONS,
    "distance": DISTANCES,
}
"""The other parts of an instruction, with the values that each may have."""

ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "block_to_block": ("source", "target"),
    "block_to_absolute_location": ("source", "location"),
    "block_to_relative_location": ("source", "direction", "distance"),
    "block_to_block_relative_location": ("source", "target", "direction"),
    "separate_blocks": ("source", "target"),
}
"""The arguments of each family."""


def labels(instruction: Instruction, names: tuple[str, ...]) -> dict[str, int]:
    """Return the class of each part of an instruction; -1 for a part that its family lacks.

    Args:
        instruction: the instruction, with blocks by their names.
        names: of the objects, in their order in the list.
    """
    said = {"family": instruction.family, **dict(instruction.arguments)}
    values = {**dict.fromkeys(ROLES, names), **CLASSES}
    return {part: known.index(said[part]) if part in said else -1 for part, known in values.items()}


def instruction_of(answer: Mapping[str, int], names: tuple[str, ...]) -> Instruction | None:
    """Return the instruction that classes mean; None if source and target are the same object.

    Args:
        answer: the class of every part; those that the family lacks are not read.
        names: of the objects, in their order in the list.
    """
    values = {**dict.fromkeys(ROLES, names), **CLASSES}
    family = FAMILIES[answer["family"]]
    arguments = {part: values[part][answer[part]] for part in ARGUMENTS[family]}
    if arguments["source"] == arguments.get("target"):
        return None
    return Instruction("", family, tuple(arguments.items()))
