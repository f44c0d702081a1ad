"""The goal of an instruction in the kitchen: one predicate that holds for a while."""

from __future__ import annotations

from dataclasses import dataclass

from robocontrast_ros.domain import Instruction, Scene
from robocontrast_ros.tasks import protocol
from robocontrast_ros.tasks.bddl import Atom
from robocontrast_ros.tasks.kitchen.library import Things
from robocontrast_ros.tasks.kitchen.parameters import FAMILIES, KitchenParameters
from robocontrast_ros.tasks.kitchen.predicates import STATES, Predicates
from robocontrast_ros.tasks.protocol import Holding
from robocontrast_ros.tasks.tabletop import shapes


def atom_of(instruction: Instruction) -> Atom:
    """Return the predicate that an instruction asks for.

    Raises:
        ValueError: its family is unknown, or an argument is missing.
    """
    if instruction.family not in FAMILIES:
        raise ValueError(f"family: got '{instruction.family}', expected one of {', '.join(FAMILIES)}")
    predicate = FAMILIES[instruction.family]
    roles = ("target",) if predicate in STATES else ("target", "reference")
    names = [instruction.get(role) for role in roles]
    if None in names:
        raise ValueError(f"{instruction.family}: no argument {roles[names.index(None)]}")
    return Atom(predicate, tuple(str(name) for name in names))


def instruction_of(atom: Atom) -> Instruction:
    """Return the instruction, without words, that asks for a predicate.

    Raises:
        ValueError: no instruction asks for it.
    """
    family = next((family for family, predicate in FAMILIES.items() if predicate == atom.predicate), None)
    if family is None:
        raise ValueError(f"{atom}: no instruction asks for this; expected one of {', '.join(FAMILIES.values())}")
    roles = ("target", "reference")[: len(atom.arguments)]
    return Instruction("", family, tuple(zip(roles, atom.arguments, strict=True)))


@dataclass(frozen=True)
class Achieved:
    """A predicate holds, and the robot does not touch a thing that it has placed.

    Attributes:
        atom: the predicate.
        predicates: decide about it.
        contact: distance that is added for a contact of the robot with a placed thing [m]; 0 for a joint.
        holding: how long it has to hold.
    """

    atom: Atom
    predicates: Predicates
    contact: float
    holding: Holding

    def distance(self, scene: Scene) -> float:
        """Return the distance from its truth, plus the constant while a placed thing is not released [m]."""
        held = self.atom.arguments[0] in scene.contacts
        return self.predicates.distance(self.atom, scene) + (self.contact if held else 0.0)

    def satisfied(self, scene: Scene) -> bool:
        """Return whether it holds."""
        return self.distance(scene) == 0.0

    def regions(self, scene: Scene) -> tuple[protocol.Polygon, ...]:
        """Return the edge of the place of the thing: the outline of what it is about."""
        name = self.atom.arguments[-1]
        model = self.predicates.things.models[scene[name].model]
        return (shapes.corners(shapes.footprint(model, scene[name].pose)),)


@dataclass(frozen=True)
class KitchenGoal:
    """A predicate that has to hold.

    Attributes:
        subgoals: it alone.
        reach: distance within which the tool counts as arrived [m].
        stop_required: the goal alone ends the trial.
    """

    subgoals: tuple[Achieved]
    reach: float
    stop_required: bool = False

    def satisfied(self, scene: Scene) -> bool:
        """Return whether the scene is as the instruction wants it."""
        return self.subgoals[-1].satisfied(scene)

    def distance(self, scene: Scene) -> float:
        """Return its distance from being fulfilled [m]."""
        return self.subgoals[-1].distance(scene)

    def regions(self, scene: Scene) -> tuple[protocol.Polygon, ...]:
        """Return the edge of the place of the thing."""
        return self.subgoals[-1].regions(scene)


class KitchenGoals:
    """Makes the goals of instructions."""

    def __init__(self, parameters: KitchenParameters, things: Things, predicates: Predicates) -> None:
        self._p, self._things, self._predicates = parameters, things, predicates

    def goal(self, instruction: Instruction, start: Scene) -> KitchenGoal:
        """Return the expected behaviour of an instruction given in a starting scene.

        Raises:
            ValueError: the instruction's family is unknown, an argument is missing, or makes no sense in the scene.
        """
        rules, atom = self._p.success, atom_of(instruction)
        self._predicates.check(atom, start)
        steps = self._p.steps(rules.rest_time)
        if atom.predicate in STATES:
            achieved = Achieved(atom, self._predicates, 0.0, Holding(steps, leave=rules.leave))
        else:
            still = Holding(steps, atom.arguments[:1], rules.rest_speed / self._p.control_rate)
            achieved = Achieved(atom, self._predicates, rules.contact, still)
        return KitchenGoal((achieved,), rules.near)
