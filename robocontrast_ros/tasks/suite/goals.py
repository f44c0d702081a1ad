"""The goal of a task of the suite: a tree of subtasks, each lifted by the robot, put where it belongs and let go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from robocontrast_ros.domain import Instruction, Scene
from robocontrast_ros.tasks import composed, protocol
from robocontrast_ros.tasks.bddl import Atom
from robocontrast_ros.tasks.composed import Condition, Subtask, Tree
from robocontrast_ros.tasks.kitchen.goals import Achieved
from robocontrast_ros.tasks.kitchen.parameters import KitchenParameters
from robocontrast_ros.tasks.kitchen.predicates import STATES
from robocontrast_ros.tasks.protocol import Holding
from robocontrast_ros.tasks.suite.predicates import PICKED_UP, SuitePredicates
from robocontrast_ros.tasks.tabletop.goals import Lifted


@dataclass(frozen=True)
class Handled(Achieved):
    """A subtask: the robot lifts a thing and puts it where a predicate holds, or moves a joint into a state.

    Attributes:
        lift: height above where it stood to which the robot has to lift the thing [m]; 0 for a joint.
    """

    lift: float = 0.0

    def conditions(self, start: Scene) -> tuple[Condition, ...]:
        """Return, each with the same weight: touched, lifted, placed, released; for a joint touched and moved.

        Touched and lifted are lost when the thing rests somewhere else untouched, the others when the predicate does
        not hold any more.
        """
        name = self.atom.arguments[0]

        def holds(scene: Scene) -> bool:
            return self.predicates.holds(self.atom, scene)

        def touched(scene: Scene) -> bool:
            return name in scene.contacts

        def kept(scene: Scene) -> bool:
            return touched(scene) or holds(scene)

        if not self.lift:
            return (
                Condition("touched", 0.5, kept, kept, losing=self.holding),
                Condition("moved", 0.5, holds, holds, self.holding),
            )
        lifted = Lifted(name, start[name].pose.position[2], self.lift, self.contact)
        return (
            Condition("touched", 0.25, touched, kept, losing=self.holding),
            Condition("lifted", 0.25, lifted.satisfied, kept, losing=self.holding),
            Condition("placed", 0.25, holds, holds),
            Condition("released", 0.25, self.satisfied, holds, self.holding),
        )


@dataclass(frozen=True)
class PickedUp:
    """A subtask: the robot holds a thing above where it stood.

    Attributes:
        target: name of the thing.
        ground: height of its origin at the start of the trial [m].
        heights: how high the robot has to lift it, and to hold it [m].
        contact: distance that replaces a missing contact [m].
        holding: how long it has to be held.
        losing: how long it rests untouched until what was reached is lost.
    """

    target: str
    ground: float
    heights: tuple[float, float]
    contact: float
    holding: Holding
    losing: Holding

    @cached_property
    def _held(self) -> Lifted:
        return Lifted(self.target, self.ground, self.heights[1], self.contact)

    def distance(self, scene: Scene) -> float:
        """Return the missing height, plus the constant for a missing contact [m]."""
        return self._held.distance(scene)

    def satisfied(self, scene: Scene) -> bool:
        """Return whether it is held."""
        return self._held.satisfied(scene)

    def conditions(self, start: Scene) -> tuple[Condition, ...]:
        """Return touched, lifted and held, with weights of a quarter, a quarter and a half."""

        def touched(scene: Scene) -> bool:
            return self.target in scene.contacts

        lifted = Lifted(self.target, self.ground, self.heights[0], self.contact)
        return (
            Condition("touched", 0.25, touched, touched, losing=self.losing),
            Condition("lifted", 0.25, lifted.satisfied, touched, losing=self.losing),
            Condition("held", 0.5, self.satisfied, self.satisfied, self.holding),
        )


@dataclass(frozen=True)
class SuiteGoal:
    """A tree of subtasks.

    Attributes:
        tree: the subtasks.
        reach: distance within which the tool counts as arrived [m].
        text: what the instruction says, for people.
        stop_required: the goal alone ends the trial.
    """

    tree: Tree[Subtask]
    reach: float
    text: str = ""
    stop_required: bool = False

    @cached_property
    def subgoals(self) -> tuple[Subtask, ...]:
        """The subtasks, in the order of the file."""
        return tuple(composed.leaves(self.tree))

    def satisfied(self, scene: Scene) -> bool:
        """Return whether the scene is as the instruction wants it, whatever the order."""
        return composed.satisfied(self.tree, scene)

    def distance(self, scene: Scene) -> float:
        """Return its distance from being fulfilled [m]."""
        return composed.distance(self.tree, scene)

    def regions(self, scene: Scene) -> tuple[protocol.Polygon, ...]:
        """Return the edges of the places of the things."""
        found = [goal.regions(scene) for goal in self.subgoals if isinstance(goal, Handled)]
        return tuple(dict.fromkeys(area for areas in found for area in areas))

    def unseen(self, success: bool) -> str:
        """Return the part that a trial's last scene does not show: that the robot lifted the things."""
        return "A picture of the end does not show whether the robot lifted everything."


class SuiteGoals:
    """Makes the goals of instructions.

    Attributes:
        tree_of: returns the atoms of an instruction's task.
    """

    def __init__(
        self, parameters: KitchenParameters, predicates: SuitePredicates, tree_of: Callable[[Instruction], Tree[Atom]]
    ) -> None:
        self._p, self._predicates, self.tree_of = parameters, predicates, tree_of

    def goal(self, instruction: Instruction, start: Scene) -> SuiteGoal:
        """Return the expected behaviour of an instruction given in a starting scene.

        Raises:
            ValueError: the instruction is of no task, or a predicate makes no sense in the scene.
        """
        return self.of(self.tree_of(instruction), start)

    def of(self, tree: Tree[Atom], start: Scene) -> SuiteGoal:
        """Return the goal of a tree of atoms.

        Raises:
            ValueError: a predicate makes no sense in the scene.
        """
        return SuiteGoal(composed.mapped(tree, lambda atom: self._subtask(atom, start)), self._p.success.near)

    def _subtask(self, atom: Atom, start: Scene) -> Subtask:
        rules = self._p.success
        self._predicates.check(atom, start)
        steps, name = self._p.steps(rules.rest_time), atom.arguments[0]
        still = Holding(steps, (name,), rules.rest_speed / self._p.control_rate)
        if atom.predicate == PICKED_UP:
            held = Holding(self._p.steps(rules.hold_time))
            ground = start[name].pose.position[2]
            return PickedUp(name, ground, (rules.lifted, rules.held), rules.contact, held, still)
        if atom.predicate in STATES:
            return Handled(atom, self._predicates, 0.0, Holding(steps, leave=rules.leave))
        return Handled(atom, self._predicates, rules.contact, still, rules.lifted)
