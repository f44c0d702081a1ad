"""Predicates of the suite: the kitchen's, and places that they do not have. All in the robot's frame, x away from it.

- InFrontOf and Behind: next to a thing, and nearer to the robot, or farther away, than aside of it.
- OutsideOf: the thing stands on the table, with a gap of at least ``CLEAR`` to the other one.
- PickedUp has no truth in a scene alone: how high the thing was is part of it (``goals``).
"""

from __future__ import annotations

from collections.abc import Callable

import shapely
from shapely import Point

from robocontrast_ros.domain import Scene
from robocontrast_ros.tasks.bddl import Atom
from robocontrast_ros.tasks.kitchen.predicates import NAMES, Predicates, UnknownPredicate
from robocontrast_ros.tasks.tabletop import shapes

PICKED_UP, UP = "PickedUp", "Up"

CLEAR = 0.01
"""Least gap between a thing and the one that it is outside of [m]: RoboLab's tolerance."""


class SuitePredicates(Predicates):
    """The predicates over scenes of the suite's things; those of the last scene are kept, which are asked for often."""

    _scene: Scene | None = None
    _known: dict[Atom, float]

    def check(self, atom: Atom, scene: Scene) -> None:
        """Refuse an atom that can have no truth in a scene.

        Raises:
            UnknownPredicate: as that of the kitchen.
        """
        if atom.predicate not in _OWN and atom.predicate != PICKED_UP:
            super().check(atom, scene)
            return
        arity = 1 if atom.predicate == PICKED_UP else 2
        if len(atom.arguments) != arity:
            raise UnknownPredicate(f"{atom}: {len(atom.arguments)} arguments, expected {arity}")
        for name in atom.arguments:
            if name not in scene:
                raise UnknownPredicate(f"{atom}: '{name}' is not in the scene; there are: {', '.join(scene.names)}")
            if scene[name].model not in self.things.models or self._is_part(scene, name):
                raise UnknownPredicate(f"{atom}: '{name}' is no thing of its own")
        if len(set(atom.arguments)) != arity:
            raise UnknownPredicate(f"{atom}: one thing twice")

    def distance(self, atom: Atom, scene: Scene) -> float:
        """Return the distance of a scene from an atom's truth [m]; 0 exactly if it is true.

        Raises:
            UnknownPredicate: as ``check``.
        """
        if scene is not self._scene:
            self._scene, self._known = scene, {}
        if atom not in self._known:
            self._known[atom] = self._measured(atom, scene)
        return self._known[atom]

    def _measured(self, atom: Atom, scene: Scene) -> float:
        own = _OWN.get(atom.predicate)
        if own is None:
            return super().distance(atom, scene)
        self.check(atom, scene)
        return own(self, scene, atom)

    def _ahead(self, scene: Scene, atom: Atom, away: float) -> float:
        """Return how far a thing is from standing next to another one, behind it (1) or in front of it (-1)."""
        a, b = (scene[name].pose.xy for name in atom.arguments)
        return self._next_to(scene, atom) + max(abs(a[1] - b[1]) - away * (a[0] - b[0]), 0.0)

    def _outside(self, scene: Scene, atom: Atom) -> float:
        one, other = (scene[name] for name in atom.arguments)
        model = self._thing(scene, atom, one.name)
        area = shapes.footprint(self._thing(scene, atom, other.name), other.pose)
        x, y, _ = shapes.centre(model, one.pose)
        gap = shapes.gap(shapes.footprint(model, one.pose), area)
        depth = float(shapely.distance(area.exterior, Point(x, y))) if area.covers(Point(x, y)) else 0.0
        raised = max(abs(shapes.heights(model, one.pose)[0]) - self._rules.height, 0.0)
        return depth + max(CLEAR - gap, 0.0) + raised


_OWN: dict[str, Callable[[SuitePredicates, Scene, Atom], float]] = {
    "InFrontOf": lambda predicates, scene, atom: predicates._ahead(scene, atom, -1.0),
    "Behind": lambda predicates, scene, atom: predicates._ahead(scene, atom, 1.0),
    "OutsideOf": SuitePredicates._outside,
}

WORDS = {
    "in": "In",
    "on_top_of": "On",
    "stacked": "Stack",
    "next_to": "NextTo",
    "left_of": "LeftOf",
    "right_of": "RightOf",
    "in_front_of": "InFrontOf",
    "behind": "Behind",
    "outside_of": "OutsideOf",
    "upright": UP,
    "picked_up": PICKED_UP,
    "open": "Open",
    "closed": "Close",
    "turned_on": "Turnon",
    "turned_off": "Turnoff",
}
"""Key in a file -> predicate."""

assert set(WORDS.values()) == {*NAMES, *_OWN, PICKED_UP}
