"""Predicates over kitchen scenes, from the scene alone: poses of the things, and of their moving parts.

They are those of LIBERO's problems (On, In, Open, Close, Turnon, Turnoff, Stack, Up) and ``next_to``. Thresholds are
ours, and each predicate also has a distance, so that progress to a goal can be scored:

- On: the centre of the thing is over the other one's top, and its lowest point at the height of the top. LIBERO asks
  for a contact and centres less than 3 cm apart, so that a bowl at a plate's edge is not on it. What has no top, such
  as a rack, has the thing on it that is in its cavity.
- In: the centre of the thing is inside the other one's cavity, between its floor and its rim.
- Left and right of: next to it, and farther aside than ahead, as the robot sees it.
- Open and Close of a drawer or a door, Turnon and Turnoff of a knob: the joint is in the state of this name, which the
  file of the object defines. Open and closed are no complements: ajar is neither.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import shapely
from shapely import Point, Polygon

from robocontrast_ros.domain import Scene, whole_of
from robocontrast_ros.objects import Cavity, ObjectModel, Top
from robocontrast_ros.objects.joints import Joint
from robocontrast_ros.tasks.bddl import Atom
from robocontrast_ros.tasks.kitchen.library import Things
from robocontrast_ros.tasks.tabletop import shapes


class UnknownPredicate(ValueError):
    """A predicate, its number of arguments or an argument is wrong; the text says what was expected."""


@dataclass(frozen=True)
class Thresholds:
    """Numbers of the predicates.

    Attributes:
        height: greatest distance of the lowest point of a thing from the top that it stands on [m].
        near: greatest gap between two things next to each other [m].
        nested: greatest horizontal distance of two stacked things' centres [m].
    """

    height: float = 0.01
    near: float = 0.05
    nested: float = 0.03


class Predicates:
    """The predicates over scenes of the things of a kitchen.

    Attributes:
        things: the things.
    """

    def __init__(self, things: Things, thresholds: Thresholds | None = None) -> None:
        """Take the things and the thresholds."""
        self.things, self._rules = things, thresholds or Thresholds()

    def check(self, atom: Atom, scene: Scene) -> None:
        """Refuse an atom that can have no truth in a scene.

        Raises:
            UnknownPredicate: the predicate is unknown or has another number of arguments, the scene has no such thing,
                or the predicate makes no sense for it.
        """
        if atom.predicate not in _MEASURES:
            known = ", ".join(_MEASURES)
            raise UnknownPredicate(f"{atom}: unknown predicate '{atom.predicate}'; there are: {known}")
        measure = _MEASURES[atom.predicate]
        if len(atom.arguments) != measure.arity:
            raise UnknownPredicate(f"{atom}: {len(atom.arguments)} arguments, expected {measure.arity}")
        for name in atom.arguments:
            if name not in scene:
                raise UnknownPredicate(f"{atom}: '{name}' is not in the scene; there are: {', '.join(scene.names)}")
        if len(set(atom.arguments)) != len(atom.arguments):
            raise UnknownPredicate(f"{atom}: one thing twice")
        measure.measured(self, scene, atom)

    def holds(self, atom: Atom, scene: Scene) -> bool:
        """Return whether an atom is true in a scene.

        Raises:
            UnknownPredicate: as ``check``.
        """
        return self.distance(atom, scene) == 0.0

    def distance(self, atom: Atom, scene: Scene) -> float:
        """Return the distance of a scene from an atom's truth [m]; 0 exactly if it is true.

        Raises:
            UnknownPredicate: as ``check``.
        """
        if atom.predicate not in _MEASURES or len(atom.arguments) != _MEASURES[atom.predicate].arity:
            self.check(atom, scene)
        try:
            return _MEASURES[atom.predicate].measured(self, scene, atom)
        except KeyError:
            self.check(atom, scene)
            raise

    # -- things -----------------------------------------------------------------------------------

    def _model(self, scene: Scene, name: str) -> ObjectModel:
        return self.things.models[scene[name].model]

    def _is_part(self, scene: Scene, name: str) -> bool:
        return scene[name].model in self.things.parts

    def _thing(self, scene: Scene, atom: Atom, name: str) -> ObjectModel:
        """Return the description of a thing that is no part.

        Raises:
            UnknownPredicate: it is a part.
        """
        if self._is_part(scene, name):
            raise UnknownPredicate(f"{atom}: '{name}' is a part of '{whole_of(name)}', expected a thing of its own")
        return self._model(scene, name)

    def joint(self, scene: Scene, atom: Atom) -> Joint:
        """Return the joint of the part that an atom is about, which has the state that the atom names.

        Raises:
            UnknownPredicate: the atom is about no part, or its joint has no such state.
        """
        (name,), state = atom.arguments, STATES[atom.predicate]
        joint = self.things.joint(scene, name)
        if joint is None:
            parts = ", ".join(self.things.parts_of(scene, name)) or "none"
            raise UnknownPredicate(f"{atom}: '{name}' has no joint; its parts are: {parts}")
        states = [known.name for known in joint.states]
        if state not in states:
            raise UnknownPredicate(f"{atom}: '{name}' is never {state}; its states are: {', '.join(states)}")
        return joint

    # -- distances --------------------------------------------------------------------------------

    def _on(self, scene: Scene, atom: Atom) -> float:
        a, b = atom.arguments
        if self._model(scene, b).top is None and self._model(scene, b).cavity is not None:
            return self._in(scene, atom)
        top = self._required(scene, atom, b, "top")
        model, pose, under = self._thing(scene, atom, a), scene[a].pose, scene[b].pose
        aside = _aside(shapes.placed(top.polygon, under), shapes.centre(model, pose))
        off = shapes.heights(model, pose)[0] - (under.position[2] + top.z)
        return aside + max(abs(off) - self._rules.height, 0.0) + self._fallen(scene, b)

    def _in(self, scene: Scene, atom: Atom) -> float:
        a, b = atom.arguments
        cavity = self._required(scene, atom, b, "cavity")
        centre = shapes.centre(self._thing(scene, atom, a), scene[a].pose)
        x, y, z = shapes.in_frame(scene[b].pose, tuple(centre.tolist())).tolist()
        beyond = max(cavity.floor - z, z - cavity.rim, 0.0)
        return float(shapely.distance(Polygon(cavity.polygon), Point(x, y))) + beyond + self._fallen(scene, b)

    def _stack(self, scene: Scene, atom: Atom) -> float:
        """Return how far a thing is from standing in or on another one of its type."""
        a, b = atom.arguments
        model, under = self._thing(scene, atom, a), self._thing(scene, atom, b)
        if model.type != under.type:
            raise UnknownPredicate(f"{atom}: a {model.type} and a {under.type}, expected two things of one type")
        (x, y, z), (u, v, w) = scene[a].pose.position, scene[b].pose.position
        aside = max(math.hypot(x - u, y - v) - self._rules.nested, 0.0)
        least = self._rules.height
        beyond = max(least - (z - w), (z - w) - (under.size[2] + self._rules.height), 0.0)
        return aside + beyond + self._fallen(scene, a) + self._fallen(scene, b)

    def _next_to(self, scene: Scene, atom: Atom) -> float:
        a, b = (scene[name].pose for name in atom.arguments)
        one, other = (self._thing(scene, atom, name) for name in atom.arguments)
        gap = shapes.gap(shapes.footprint(one, a), shapes.footprint(other, b))
        (low, high), (bottom, top) = shapes.heights(one, a), shapes.heights(other, b)
        return max(gap - self._rules.near, 0.0) + max(low - top, bottom - high, 0.0)

    def _beside(self, scene: Scene, atom: Atom, left: float) -> float:
        """Return how far a thing is from standing next to another one, on its left (1) or on its right (-1)."""
        a, b = (scene[name].pose for name in atom.arguments)
        # In the scene's frame y points to the left of the robot, which is addressed.
        ahead, aside = abs(a.xy[0] - b.xy[0]), left * (a.xy[1] - b.xy[1])
        return self._next_to(scene, atom) + max(ahead - aside, 0.0)

    def _up(self, scene: Scene, atom: Atom) -> float:
        self._thing(scene, atom, atom.arguments[0])
        return self._fallen(scene, atom.arguments[0])

    def _state(self, scene: Scene, atom: Atom) -> float:
        """Return the way of the part's handle to the nearest position of a state [m]."""
        joint, state = self.joint(scene, atom), STATES[atom.predicate]
        position = self.things.position(scene, atom.arguments[0])
        if joint.has(state, position):
            return 0.0
        wanted = next(known for known in joint.states if known.name == state)
        nearest = min(max(position, wanted.least), wanted.greatest)
        arm = 1.0 if joint.type == "slide" else math.dist(joint.through, joint.home.position)
        return abs(nearest - position) * max(arm, SHORTEST_ARM)

    def _required(self, scene: Scene, atom: Atom, name: str, kind: str) -> Top | Cavity:
        found = getattr(self._model(scene, name), kind)
        if found is None:
            raise UnknownPredicate(f"{atom}: nothing can be put {'on' if kind == 'top' else 'in'} '{name}'")
        return found

    def _fallen(self, scene: Scene, name: str) -> float:
        """Return the height of a thing that does not stand upright [m]; 0 if it does, or is a part."""
        if self._is_part(scene, name) or shapes.is_upright(scene[name].pose):
            return 0.0
        return self._model(scene, name).size[2]


SHORTEST_ARM = 0.01
"""Least distance of a handle from its hinge, as which a knob counts [m]."""


@dataclass(frozen=True)
class _Measure:
    arity: int
    measured: Callable[[Predicates, Scene, Atom], float]


STATES = {"Open": "open", "Close": "closed", "Turnon": "on", "Turnoff": "off"}
"""Predicate about a part -> the state of its joint."""

_MEASURES = {
    "On": _Measure(2, Predicates._on),
    "In": _Measure(2, Predicates._in),
    **dict.fromkeys(STATES, _Measure(1, Predicates._state)),
    "Stack": _Measure(2, Predicates._stack),
    "NextTo": _Measure(2, Predicates._next_to),
    "LeftOf": _Measure(2, lambda predicates, scene, atom: predicates._beside(scene, atom, 1.0)),
    "RightOf": _Measure(2, lambda predicates, scene, atom: predicates._beside(scene, atom, -1.0)),
    "Up": _Measure(1, Predicates._up),
}

NAMES = tuple(_MEASURES)
"""Names of the predicates."""


def _aside(area: Polygon, point: Sequence[float]) -> float:
    """Return the horizontal distance of a point from an area [m]; 0 over it."""
    return float(shapely.distance(area, Point(point[0], point[1])))
