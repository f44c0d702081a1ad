"""The goal of an instruction: the robot lifts the target, and then holds it or has put it down."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import shapely
from shapely import Point, Polygon

from robocontrast_ros.domain import Instruction, Pose, Scene
from robocontrast_ros.objects import ObjectModel
from robocontrast_ros.tasks import protocol
from robocontrast_ros.tasks.protocol import Holding
from robocontrast_ros.tasks.tabletop import shapes
from robocontrast_ros.tasks.tabletop.parameters import FAMILIES, Success, TabletopParameters

Library = Mapping[str, ObjectModel]
"""Model name -> object."""

HELD_LONGEST = 1e-12
"""Rounding of heights: a height short by less than this is reached [m]."""


@dataclass(frozen=True)
class Lifted:
    """The robot touches the target, which is above its place at the start.

    Attributes:
        target: name of the object.
        ground: height of its origin at the start [m].
        height: height that it has to be above that [m].
        contact: distance that replaces a missing contact [m].
        holding: how long it has to hold; None for a single control step.
    """

    target: str
    ground: float
    height: float
    contact: float
    holding: Holding | None = None

    def distance(self, scene: Scene) -> float:
        """Return the missing height, plus the constant for a missing contact [m]."""
        short = self.ground + self.height - scene[self.target].pose.position[2]
        missing = 0.0 if self.target in scene.contacts else self.contact
        return (short if short > HELD_LONGEST else 0.0) + missing

    def satisfied(self, scene: Scene) -> bool:
        """Return whether it is lifted."""
        return self.distance(scene) == 0.0


@dataclass(frozen=True)
class Near:
    """The target stands on the table, with a small gap between its footprint and the reference's."""

    target: ObjectModel
    reference: ObjectModel
    rules: Success

    def excess(self, target: Pose, reference: Pose) -> float:
        """Return the target's distance from such a place [m]."""
        between = shapes.gap(shapes.footprint(self.target, target), shapes.footprint(self.reference, reference))
        raised = abs(shapes.heights(self.target, target)[0])
        return max(between - self.rules.near, 0.0) + max(raised - self.rules.height, 0.0)

    def barrier(self, reference: Pose) -> float:
        """Return the height that the target has to pass [m]: none."""
        return -math.inf

    def region(self, reference: Pose) -> Polygon:
        """Return the area that the target's footprint has to reach."""
        return shapes.footprint(self.reference, reference).buffer(self.rules.near)


@dataclass(frozen=True)
class On:
    """The target stands on the reference's top: its height is right and its centre over the top."""

    target: ObjectModel
    reference: ObjectModel
    rules: Success

    def excess(self, target: Pose, reference: Pose) -> float:
        """Return the target's distance from such a place [m]."""
        x, y, _ = shapes.centre(self.target, target)
        off = shapes.heights(self.target, target)[0] - (reference.position[2] + self.reference.top.z)
        fallen = 0.0 if shapes.is_upright(reference) else self.reference.size[2]
        aside = float(shapely.distance(self.region(reference), Point(x, y)))
        return aside + max(abs(off) - self.rules.height, 0.0) + fallen

    def barrier(self, reference: Pose) -> float:
        """Return the height that the target has to pass on its way there [m]: that of the reference's edge."""
        return reference.position[2] + self.reference.size[2]

    def region(self, reference: Pose) -> Polygon:
        """Return the area for the target's centre."""
        return shapes.placed(self.reference.top.polygon, reference)


@dataclass(frozen=True)
class In:
    """The target's centre is inside the reference's cavity and below its rim."""

    target: ObjectModel
    reference: ObjectModel
    rules: Success

    def excess(self, target: Pose, reference: Pose) -> float:
        """Return the target's distance from such a place [m]."""
        x, y, z = shapes.centre(self.target, target)
        fallen = 0.0 if shapes.is_upright(reference) else self.reference.size[2]
        above = max(float(z) - (reference.position[2] + self.reference.cavity.rim), 0.0)
        return float(shapely.distance(self.region(reference), Point(x, y))) + above + fallen

    def barrier(self, reference: Pose) -> float:
        """Return the height that the target has to pass on its way there [m]: that of the reference's edge."""
        return reference.position[2] + self.reference.size[2]

    def region(self, reference: Pose) -> Polygon:
        """Return the area for the target's centre."""
        return shapes.placed(self.reference.cavity.polygon, reference)


Relation = Near | On | In


@dataclass(frozen=True)
class Placed:
    """The target is in its place and the robot does not touch it.

    Attributes:
        target: name of the object.
        reference: name of the object at which its place is.
        relation: the relation of the two.
        contact: distance added for a contact of the robot with the target [m].
        holding: how long it has to hold, and how still.
    """

    target: str
    reference: str
    relation: Relation
    contact: float
    holding: Holding | None = None

    def distance(self, scene: Scene) -> float:
        """Return the target's distance from its place, plus the constant while it is not released [m]."""
        excess = self.relation.excess(scene[self.target].pose, scene[self.reference].pose)
        return excess + (self.contact if self.target in scene.contacts else 0.0)

    def satisfied(self, scene: Scene) -> bool:
        """Return whether it is placed."""
        return self.distance(scene) == 0.0

    def regions(self, scene: Scene) -> tuple[protocol.Polygon, ...]:
        """Return the edge of the target's place."""
        return (shapes.corners(self.relation.region(scene[self.reference].pose)),)


@dataclass(frozen=True)
class TabletopGoal:
    """The target is first lifted by the robot; then held, or put in its place and released.

    Attributes:
        subgoals: in order.
        reach: distance within which the tool counts as arrived [m].
        stop_required: the goal alone ends the trial.
    """

    subgoals: tuple[Lifted, Lifted | Placed]
    reach: float
    stop_required: bool = False

    def satisfied(self, scene: Scene) -> bool:
        """Return whether the scene is as the instruction wants it; that the robot lifted the target is a subgoal."""
        return self.subgoals[-1].satisfied(scene)

    def distance(self, scene: Scene) -> float:
        """Return the last subgoal's distance from being fulfilled [m]."""
        return self.subgoals[-1].distance(scene)

    def unseen(self, success: bool) -> str:
        """Return the part that a trial's last scene does not show: that the robot held the target."""
        return "A picture of the end does not show whether the robot lifted it."


@dataclass(frozen=True)
class PlacingGoal(TabletopGoal):
    """A goal with a place, which can be drawn on a map.

    Attributes:
        barrier: height that the target has to pass on its way there, world frame [m].
    """

    subgoals: tuple[Lifted, Placed]
    barrier: float = -math.inf

    def unseen(self, success: bool) -> str:
        """Return the part that a trial's last scene does not show: that the robot did not push the target."""
        lifted = self.subgoals[0]
        if not success or self.barrier >= lifted.ground + lifted.height:
            return ""
        return "A picture of the end does not show whether the robot lifted it or pushed it."

    def regions(self, scene: Scene) -> tuple[protocol.Polygon, ...]:
        """Return the edge of the target's place."""
        return self.subgoals[-1].regions(scene)


class TabletopGoals:
    """Makes the goals of instructions."""

    def __init__(self, parameters: TabletopParameters, library: Library) -> None:
        self._p, self._library = parameters, library

    def goal(self, instruction: Instruction, start: Scene) -> TabletopGoal:
        """Return the expected behaviour of an instruction given in a starting scene.

        Raises:
            ValueError: the instruction's family is unknown, an argument is missing, or its objects do not fit the
                family.
            KeyError: the scene lacks an object that it names.
        """
        p, rules = self._p, self._p.success
        target = start[argument(instruction, "target")]
        lifted = Lifted(target.name, target.pose.position[2], rules.lifted, rules.contact)
        if instruction.family == "pick":
            held = Holding(p.steps(rules.hold_time))
            return TabletopGoal(
                (lifted, Lifted(target.name, target.pose.position[2], rules.held, rules.contact, held)), rules.near
            )
        reference = start[argument(instruction, "reference")]
        relation = self.relation(instruction.family, target.model, reference.model)
        at_rest = Holding(p.steps(rules.rest_time), (target.name,), rules.rest_speed / p.control_rate)
        placed = Placed(target.name, reference.name, relation, rules.contact, at_rest)
        return PlacingGoal((lifted, placed), rules.near, barrier=relation.barrier(reference.pose))

    def relation(self, family: str, target: str, reference: str) -> Relation:
        """Return the relation of a target to a reference, both given as models.

        Raises:
            ValueError: the family places nothing, or the reference has no top or no cavity.
        """
        moved, fixed = self._library[target], self._library[reference]
        match family:
            case "move_near":
                return Near(moved, fixed, self._p.success)
            case "stack" | "put_on":
                if fixed.top is None:
                    raise ValueError(f"{family}: nothing can be put on '{reference}'")
                return On(moved, fixed, self._p.success)
            case "put_in":
                if fixed.cavity is None:
                    raise ValueError(f"{family}: nothing can be put in '{reference}'")
                return In(moved, fixed, self._p.success)
        raise ValueError(f"family: got '{family}', expected one of {', '.join(FAMILIES)}")


def argument(instruction: Instruction, key: str) -> str:
    """Return an argument of an instruction.

    Raises:
        ValueError: it has none of this name, or its family is unknown.
    """
    if instruction.family not in FAMILIES:
        raise ValueError(f"family: got '{instruction.family}', expected one of {', '.join(FAMILIES)}")
    value = instruction.get(key)
    if value is None:
        raise ValueError(f"{instruction.family}: no argument {key} in {dict(instruction.arguments)}")
    return value


def named(instruction: Instruction) -> tuple[str, ...]:
    """Return the objects that an instruction names: the target, then the reference if it has one."""
    both = argument(instruction, "target"), instruction.get("reference")
    return tuple(name for name in both if name is not None)
