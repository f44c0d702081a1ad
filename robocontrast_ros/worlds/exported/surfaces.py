"""Surfaces with which another engine has MuJoCo's friction for each pair, and lets the same pairs touch.

MuJoCo takes the greater friction of both sides. DART and ODE, Gazebo's engines, take the less, Bullet the product,
PhysX the mean: with one friction a shape a block cannot have 0.6 on the board and 0.3 on another block. So a shape is
written once for each friction that it has on something, and bit masks let each copy touch only copies of this friction.
Between two of them both sides are the same, so that greatest, least and mean are it, too.

Masks are those of SDF, which are MuJoCo's ``contype`` and ``conaffinity``: two copies touch if the category of one has
a bit of the other's mask (gz-physics: dartsim, bullet-featherstone and mujoco, pull requests 884, 885 and 931).
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from robocontrast_ros.worlds.exported.parts import Model, Shape

BITS = 16
"""Bits of SDF's masks."""

RULES = {"minimum": lambda mu: mu, "maximum": lambda mu: mu, "mean": lambda mu: mu, "product": math.sqrt}
"""How an engine combines the friction of both sides -> the friction of each side, where both are the same."""


class NoCounterpart(ValueError):
    """An engine, or a file's format, cannot express a part of a model."""


@dataclass(frozen=True)
class Surface:
    """A copy of a shape.

    Attributes:
        friction: sliding friction of its side.
        category: bits of what it is.
        collide: bits of what it touches.
    """

    friction: float
    category: int
    collide: int

    def touches(self, other: Surface) -> bool:
        """Return whether two copies touch."""
        return bool(self.category & other.collide or other.category & self.collide)


Kind = tuple[float, tuple[int, int], str]
"""Friction and contact bits of a shape, and the model in which such shapes never touch; empty for an object."""


class Surfaces:
    """The surfaces of all models that may meet: a task's objects, world and robot."""

    def __init__(self, models: Sequence[Model], rule: str) -> None:
        """Find them.

        Args:
            models: the models.
            rule: how the engine combines the friction of both sides, one of ``RULES``.

        Raises:
            NoCounterpart: there are more kinds of contact than bits.
        """
        known = {_kind(shape, model): shape for model in models for shape in model.shapes if shape.collides}
        pairs = {
            (one, two): max(one[0], two[0])
            for one, two in itertools.product(known, repeat=2)
            if known[one].meets(known[two]) and not (one[2] and one[2] == two[2])
        }
        # Kinds that have the same friction on everything share their bits.
        alike: dict[tuple, list[Kind]] = defaultdict(list)
        for kind in known:
            alike[tuple(pairs.get((kind, other)) for other in known)].append(kind)
        groups = list(alike.values())
        self._found: dict[Kind, dict[float, list[int]]] = {kind: {} for kind in known}
        bit = 0
        for number, group in enumerate(groups):
            for friction in sorted({mu for (one, _), mu in pairs.items() if one == group[0]}):
                partners = [other for other in groups[number:] if pairs.get((group[0], other[0])) == friction]
                for kind in group if partners else ():
                    self._found[kind].setdefault(friction, [0, 0])[0] |= 1 << bit
                for kind in itertools.chain(*partners):
                    self._found[kind].setdefault(friction, [0, 0])[1] |= 1 << bit
                bit += bool(partners)
        if bit > BITS:
            raise NoCounterpart(f"{bit} kinds of contact, more than the {BITS} that SDF's bit masks can tell apart")
        self._side = RULES[rule]

    def of(self, shape: Shape, model: Model) -> list[Surface]:
        """Return the copies of a shape of a model."""
        found = self._found[_kind(shape, model)]
        return self._surfaces(found)

    def kinds(self) -> list[Surface]:
        """Return all different surfaces, sorted."""
        found = {surface for kind in self._found.values() for surface in self._surfaces(kind)}
        return sorted(found, key=lambda surface: (surface.category, surface.collide))

    def _surfaces(self, found: dict[float, list[int]]) -> list[Surface]:
        return [Surface(self._side(mu), *masks) for mu, masks in sorted(found.items())]


def _kind(shape: Shape, model: Model) -> Kind:
    return shape.friction, shape.contact, "static" if model.static else "" if model.free else model.name
