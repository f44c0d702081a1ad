"""What the robot has to handle in the kitchen: the target, and what a drawer takes along."""

from __future__ import annotations

from robocontrast_ros.domain import Instruction, Scene
from robocontrast_ros.tasks.bddl import Atom
from robocontrast_ros.tasks.kitchen.library import Things
from robocontrast_ros.tasks.kitchen.predicates import Predicates
from robocontrast_ros.tasks.kitchen.requests import carried, named
from robocontrast_ros.tasks.tabletop import shapes


class KitchenHandling:
    """The hand moves the target, or its part with what lies in it; another part that moves is a mistake."""

    touching = False

    def __init__(self, things: Things, predicates: Predicates) -> None:
        self._things, self._predicates = things, predicates

    def handled(self, instruction: Instruction, scene: Scene) -> tuple[str, ...]:
        """Return the name of the target, then those of what lies in it."""
        target = named(instruction)[0]
        return (target, *contents(target, scene, self._things, self._predicates))

    def lowest(self, scene: Scene, name: str) -> float:
        """Return the height of the lowest corner of a thing's box, in the scene's frame [m]."""
        return shapes.lowest(self._things.models[scene[name].model], scene[name].pose)


def contents(name: str, scene: Scene, things: Things, predicates: Predicates) -> tuple[str, ...]:
    """Return the names of the things that lie in a thing; none if it has no cavity."""
    if things.models[scene[name].model].cavity is None:
        return ()
    return tuple(
        other
        for other in carried(scene, things)
        if other != name and predicates.holds(Atom("In", (other, name)), scene)
    )
