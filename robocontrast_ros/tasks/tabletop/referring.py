"""Expressions that refer to things on the table, and their referents in a scene.

One function, ``resolve``, decides it for all: generated words are unambiguous by it, read words are understood by it,
and the premise of a trial asks it again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from robocontrast_ros.domain import ObjectState, Scene
from robocontrast_ros.objects import ObjectModel

Objects = Mapping[str, ObjectModel]
"""Model name -> object."""

ANYTHING = "object"
"""The noun for any movable thing."""

CATEGORY_NOUNS = {
    "cleaning": "cleaning item",
    "cutlery": "piece of cutlery",
    "electronics": "electronic device",
    "hardware": "piece of hardware",
    "stationery": "piece of stationery",
}
"""Category -> noun, for categories whose name is no noun."""

SIZES = ("small", "large")
PLACES = ("left", "right", "nearest", "farthest")
"""In the robot's frame, named by instructions (``on your left``): x points away from it, y to its left."""

MIDDLE = "middle"
"""A place that only some tasks' instructions name: of three or more things, that between the others."""

LARGER = 1.2
"""Factor of the diagonals: a thing is large beside others of its kind that are smaller by it; small conversely."""

APART = 0.03
"""Least distance by which a thing is to the left of others to count as *left*; the same for all places [m]."""

APART_WHEN_SAID = 0.05
"""The same when a place is said, so that a scene that is set up a little differently does not make it false [m]."""


@dataclass(frozen=True)
class Expression:
    """An expression that refers to one thing.

    Attributes:
        noun: the thing's name, or its category's noun, or ``object``.
        colour: its colour; empty if it is not said, as for all that follow.
        size: one of SIZES, among those of the noun and colour.
        place: one of PLACES, or MIDDLE, among those of the noun, colour and size.
    """

    noun: str
    colour: str = ""
    size: str = ""
    place: str = ""

    def kind(self, model: ObjectModel) -> str:
        """Return the part that stays when another thing is named in the same way."""
        noun = str(model.nouns.index(self.noun)) if self.noun in model.nouns else self.noun == ANYTHING
        return f"{noun}{bool(self.colour)}{bool(self.size)}{bool(self.place)}"


def resolve(expression: Expression, scene: Scene, objects: Objects, apart: float = APART) -> tuple[str, ...]:
    """Return the names of the things that an expression may mean in a scene, in the scene's order.

    Args:
        expression: the one to resolve.
        scene: the things and their poses; the world frame is the robot's.
        objects: the models.
        apart: least distance that makes a place clear [m].

    Returns:
        One name if it is unambiguous; none if nothing fits, or if a size or a place is said of the only thing that
        fits; several if it is not clear which is meant.
    """
    found = [o for o in scene if o.model in objects and _fits(expression, objects[o.model])]
    if expression.size:
        found = _extreme(found, expression.size == "large", [_diagonal(objects[o.model]) for o in found])
    if expression.place == MIDDLE:
        found = _between(found, apart)
    elif expression.place:
        sign, measure = _MEASURES[expression.place]
        found = _foremost(found, sign, measure, apart)
    return tuple(o.name for o in found)


def nouns(model: ObjectModel) -> tuple[str, ...]:
    """Return the possible nouns of a thing: its own, its category's, and ``object``."""
    return tuple(dict.fromkeys((*model.nouns, CATEGORY_NOUNS.get(model.category, model.category), ANYTHING)))


def plain(model: ObjectModel) -> Expression:
    """Return the usual expression for a thing of a model, whatever is beside it."""
    return Expression(model.nouns[0], model.colour)


def expressions(name: str, scene: Scene, objects: Objects, places: Sequence[str] = PLACES) -> Iterator[Expression]:
    """Enumerate the expressions that mean one thing alone in a scene, and still do when things are moved a little.

    None of them contains a size or a place without need.

    Args:
        name: of the thing.
        scene: contains the thing.
        objects: the models.
        places: those that are said.
    """

    def alone(expression: Expression) -> bool:
        meant = resolve(expression, scene, objects, APART_WHEN_SAID)
        return meant == (name,) == resolve(expression, scene, objects)

    model = objects[scene[name].model]
    for noun in nouns(model):
        for colour in dict.fromkeys(("", model.colour)):
            for size in ("", *(SIZES if noun != ANYTHING else ())):
                for place in ("", *places):
                    said = Expression(noun, colour, size, place)
                    shorter = {replace(said, size=""), replace(said, place=""), replace(said, size="", place="")} - {
                        said
                    }
                    if alone(said) and not any(map(alone, shorter)):
                        yield said


def _fits(expression: Expression, model: ObjectModel) -> bool:
    return not model.fixed and expression.noun in nouns(model) and expression.colour in ("", model.colour)


def _foremost(
    found: list[ObjectState], greatest: bool, measure: Callable[[ObjectState], float], apart: float
) -> list[ObjectState]:
    """Return those that are not clearly behind the foremost one; none if there is nothing to compare with."""
    if len(found) < 2:
        return []
    values = [measure(o) if greatest else -measure(o) for o in found]
    return [o for o, value in zip(found, values, strict=True) if value > max(values) - apart]


def _between(found: list[ObjectState], apart: float) -> list[ObjectState]:
    """Return those that are not clearly farther from the others than the one between them; none of fewer than three."""
    if len(found) < 3:
        return []
    values = [max(math.dist(o.pose.xy, other.pose.xy) for other in found) for o in found]
    return [o for o, value in zip(found, values, strict=True) if value < min(values) + apart]


def _extreme(found: list[ObjectState], largest: bool, sizes: list[float]) -> list[ObjectState]:
    """Return those that are not clearly smaller than the largest, or larger than the smallest; none of a single one."""
    if len(found) < 2:
        return []
    least, greatest = min(sizes), max(sizes)
    return [
        o
        for o, size in zip(found, sizes, strict=True)
        if (size * LARGER > greatest if largest else size < least * LARGER)
    ]


def _diagonal(model: ObjectModel) -> float:
    x, y, z = model.size
    return math.sqrt(x * x + y * y + z * z)


def _sideways(o: ObjectState) -> float:
    return o.pose.position[1]


def _away(o: ObjectState) -> float:
    x, y = o.pose.xy
    return math.sqrt(x * x + y * y)


_MEASURES = {
    "left": (True, _sideways),
    "right": (False, _sideways),
    "nearest": (False, _away),
    "farthest": (True, _away),
}
