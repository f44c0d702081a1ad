"""Attributes of tasks, and the difficulty that follows from them (seed 002, its section on the task metadata)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Attribute(NamedTuple):
    """What a task asks of a policy.

    Attributes:
        axis: ``visual``, ``relational`` or ``procedural``.
        weight: what it adds to the difficulty, if it is the largest of a task's.
        meaning: one line for tables.
    """

    axis: str
    weight: int
    meaning: str


ATTRIBUTES = {
    "semantics": Attribute("visual", 0, "things are named by what they are or are for"),
    "color": Attribute("visual", 0, "things are told apart by colour"),
    "size": Attribute("visual", 0, "things are told apart by size"),
    "spatial": Attribute("relational", 1, "places are said: left, right, nearest, beside, outside of"),
    "counting": Attribute("relational", 2, "a number of things is said"),
    "conjunction": Attribute("relational", 0, "several things are asked for in one sentence"),
    "affordance": Attribute("procedural", 2, "a part is used as it is meant to be: a handle, a door, a knob"),
    "sorting": Attribute("procedural", 2, "several things are told apart, each by where it belongs"),
    "stacking": Attribute("procedural", 2, "things are built on one another"),
    "reorientation": Attribute("procedural", 3, "a thing is turned over or set upright"),
}
"""Name, spelt as in the seed's data -> attribute."""

AXES = tuple(dict.fromkeys(attribute.axis for attribute in ATTRIBUTES.values()))

LABELS = ("simple", "moderate", "complex")
"""Of a score of at most 2, of 3 and 4, and of 5 and more."""

_LEAST = (0, 3, 5)


class Difficulty(NamedTuple):
    """How difficult a task is.

    Attributes:
        subtasks: number of subtasks that have to be done.
        score: this number and the largest weight of the attributes.
        label: one of LABELS.
    """

    subtasks: int
    score: int
    label: str


def difficulty(subtasks: int, attributes: Iterable[str]) -> Difficulty:
    """Return the difficulty of a task.

    Raises:
        KeyError: an attribute is unknown.
    """
    score = subtasks + max((ATTRIBUTES[name].weight for name in attributes), default=0)
    return Difficulty(subtasks, score, LABELS[sum(score >= least for least in _LEAST[1:])])


def axes(attributes: Iterable[str]) -> tuple[str, ...]:
    """Return the axes of a task's attributes, in the order of AXES."""
    found = {ATTRIBUTES[name].axis for name in attributes}
    return tuple(axis for axis in AXES if axis in found)
