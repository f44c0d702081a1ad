"""Goals of several subtasks: all of them, any, a number of them, or one after the other (seed 002).

A subtask has conditions that are reached in order, each with a weight, and each lost when what it needs is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Generic, Protocol, TypeVar, runtime_checkable

from robocontrast_ros.domain import Scene
from robocontrast_ros.tasks.protocol import AT_ONCE, Goal, Holding, StagedGoal

Part = TypeVar("Part")


class Mode(Enum):
    """What of a group has to be done."""

    ALL = "all"
    ANY = "any"
    CHOOSE = "choose"
    """Exactly a number of its parts."""
    SEQUENCE = "sequence"
    """All of its parts, each begun after the one before is done."""


@dataclass(frozen=True)
class Group(Generic[Part]):
    """Parts that belong together; each is a group again, or a leaf.

    Attributes:
        mode: what of them has to be done.
        parts: at least two.
        count: the number of them for ``CHOOSE``; 0 else.
    """

    mode: Mode
    parts: tuple[Group[Part] | Part, ...]
    count: int = 0


Tree = Group[Part] | Part
"""A group, or a single leaf."""


def leaves(tree: Tree[Part]) -> Iterator[Part]:
    """Yield the leaves, in order."""
    if isinstance(tree, Group):
        for part in tree.parts:
            yield from leaves(part)
    else:
        yield tree


def subtasks(tree: Tree[Part]) -> int:
    """Return the number of subtasks that have to be done (seed 002).

    A leaf counts 1; all and a sequence count the sum of their parts, any its least part, and a choice of K its K least.
    """
    if not isinstance(tree, Group):
        return 1
    counts = sorted(map(subtasks, tree.parts))
    return sum(counts[: {Mode.ANY: 1, Mode.CHOOSE: tree.count}.get(tree.mode, len(counts))])


def mapped(tree: Tree[Part], leaf: Callable[[Part], Goal]) -> Tree[Goal]:
    """Return a tree of the same groups with other leaves."""
    if isinstance(tree, Group):
        return Group(tree.mode, tuple(mapped(part, leaf) for part in tree.parts), tree.count)
    return leaf(tree)


@dataclass(frozen=True)
class Condition:
    """A step of a subtask.

    Attributes:
        name: for tables.
        weight: share of the subtask's progress; those of a subtask sum to 1.
        holds: reached when this is true of the scenes for as long as ``holding`` wants it.
        kept: lost when this is false for as long as ``losing`` wants it.
        holding: how long it has to hold.
        losing: how long it has to be missing.
    """

    name: str
    weight: float
    holds: Callable[[Scene], bool]
    kept: Callable[[Scene], bool]
    holding: Holding = AT_ONCE
    losing: Holding = AT_ONCE


class Subtask(Goal, Protocol):
    """A goal that is reached by conditions in order; ``satisfied`` and ``distance`` are about a last scene alone."""

    def conditions(self, start: Scene) -> tuple[Condition, ...]:
        """Return the conditions of a subtask that begins in a scene."""


@runtime_checkable
class ComposedGoal(StagedGoal, Protocol):
    """A goal of subtasks; ``subgoals`` are its leaves.

    Attributes:
        tree: the subtasks.
    """

    tree: Tree[Subtask]


def satisfied(tree: Tree[Goal], scene: Scene) -> bool:
    """Return whether a scene fulfils a tree, whatever its order."""
    if not isinstance(tree, Group):
        return tree.satisfied(scene)
    done = sum(satisfied(part, scene) for part in tree.parts)
    match tree.mode:
        case Mode.ANY:
            return done > 0
        case Mode.CHOOSE:
            return done == tree.count
    return done == len(tree.parts)


def distance(tree: Tree[Goal], scene: Scene) -> float:
    """Return a scene's distance from fulfilling a tree [m]: the sum over the parts that are nearest to being done.

    A part of a choice that is done and must not be counts as much as the nearest one that is not.
    """
    if not isinstance(tree, Group):
        return tree.distance(scene)
    each = sorted(distance(part, scene) for part in tree.parts)
    match tree.mode:
        case Mode.ANY:
            return each[0]
        case Mode.CHOOSE:
            beyond = max(sum(satisfied(part, scene) for part in tree.parts) - tree.count, 0)
            return sum(each[: tree.count]) + beyond * next((d for d in each if d > 0.0), 1.0)
    return sum(each)
