"""The way to fulfil a task of the suite: its subtasks in order, each planned in the scene that the last one left.

Up to three things of a group that may be handled in any order are planned in every order, and the shortest is taken; of
more, the next one is always that with the shortest way, as long as the others can follow.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
import shapely
from shapely import Point

from robocontrast_ros.domain import Instruction, ObjectState, Pose, Scene, whole_of
from robocontrast_ros.objects.frames import compose, rotate
from robocontrast_ros.objects.joints import part_pose
from robocontrast_ros.tasks.bddl import Atom
from robocontrast_ros.tasks.composed import Group, Mode, Tree
from robocontrast_ros.tasks.kitchen.goals import instruction_of
from robocontrast_ros.tasks.kitchen.library import Things
from robocontrast_ros.tasks.kitchen.parameters import KitchenParameters
from robocontrast_ros.tasks.kitchen.planner import ASIDE, FREE, JointWay, KitchenPlanner
from robocontrast_ros.tasks.kitchen.predicates import STATES
from robocontrast_ros.tasks.plans import Infeasible, NoPlan, Plan
from robocontrast_ros.tasks.suite.goals import SuiteGoals
from robocontrast_ros.tasks.suite.predicates import PICKED_UP, UP
from robocontrast_ros.tasks.suite.uprighting import (
    UprightWay,
    backed,
    holds,
    in_the_way,
    reach,
    stood,
    swept,
)
from robocontrast_ros.tasks.tabletop import shapes
from robocontrast_ros.tasks.tabletop.goals import In, Near, On
from robocontrast_ros.tasks.tabletop.hand import Obstacle
from robocontrast_ros.tasks.tabletop.planner import HandlingPlan, TabletopPlanner, _Spot, words

Choice = TypeVar("Choice")

EVERY_ORDER = 3
"""Number of things up to which every order is planned."""

RAISED = 0.003
"""What stands higher than this above the origin of a thing under it stands on or in that [m]."""

PLATE, TRAY = (-0.55, 0.0, 0.55), (-0.65, -0.5, -0.25, 0.0, 0.25, 0.5, 0.65)
"""Places that are tried beside the middle of a top and of a cavity: shares of the half widths."""

BESIDE = 0.002
"""Kept between things that lie in the same one [m]."""

_SIDES = {"LeftOf": (0.0, 1.0), "RightOf": (0.0, -1.0), "InFrontOf": (-1.0, 0.0), "Behind": (1.0, 0.0)}
"""Predicate -> direction from the reference, in the robot's frame."""


@dataclass(frozen=True)
class Step:
    """A planned subtask.

    Attributes:
        atom: what it brings about.
        way: how.
        scene: the scene after it.
    """

    atom: Atom
    way: HandlingPlan | JointWay | UprightWay
    scene: Scene

    @cached_property
    def length(self) -> float:
        """Length of the tool's path [m]."""
        return Plan(self.way.path, self.scene).length


class SuitePlanner(KitchenPlanner):
    """Plans for any robot that reaches the things from above, and handles along the approach of their grasps."""

    def __init__(self, parameters: KitchenParameters, things: Things, goals: SuiteGoals, crowded: bool = False) -> None:
        """Take the parts; ``crowded``: a thing may be dropped onto what lies where it belongs."""
        super().__init__(parameters, things, goals)
        self._suite, self._crowded = goals, crowded

    def relaxed(self) -> SuitePlanner:
        """Return a planner that keeps half the distances, for a scene that has moved a little since it was planned."""
        return SuitePlanner(super().relaxed()._kitchen, self._things, self._suite, crowded=True)

    def plan(self, instruction: Instruction, scene: Scene) -> Plan | Infeasible:
        """Return the tool's path that fulfils an instruction, and the scene then; or why there is none."""
        try:
            steps = self.steps(self._suite.tree_of(instruction), scene)
        except NoPlan as reason:
            return Infeasible(str(reason))
        path = list(steps[0].way.path)
        for step in steps[1:]:
            x, y, z = path[-1]
            rest = self._from_above(step.way)
            path += [(x, y, max(z, rest[0][2])), *rest]
        last = steps[-1]
        touched = last.atom.arguments if last.atom.predicate == PICKED_UP else ()
        return Plan(tuple(path), replace(last.scene, contacts=touched, carried=()))

    def _from_above(self, way: HandlingPlan | JointWay | UprightWay) -> Sequence[tuple[float, float, float]]:
        """Return a way's path without its beginning at the robot's start."""
        if not isinstance(way, HandlingPlan):
            return way.path[1:]
        return way.path[1 if self._kitchen.start[2] >= way.above else 2 :]

    def steps(self, tree: Tree[Atom], scene: Scene) -> tuple[Step, ...]:
        """Return the subtasks that fulfil a tree, in the order in which they are done.

        Raises:
            NoPlan: there is no plan; the text has the reason.
        """
        if not isinstance(tree, Group):
            return (self.step(tree, scene),)
        if tree.mode is Mode.SEQUENCE:
            return self._in_order(tree.parts, scene)
        if tree.mode is Mode.ANY:
            return self._with_plans(tree.parts, lambda part: self.steps(part, scene))[0][1]
        count = tree.count or len(tree.parts)
        if len(tree.parts) > EVERY_ORDER:
            return self._nearest_first(tree.parts, count, scene)
        orders = itertools.permutations(tree.parts, count)
        return self._with_plans(orders, lambda order: self._in_order(order, scene))[0][1]

    @staticmethod
    def _with_plans(
        choices: Iterable[Choice], plan: Callable[[Choice], tuple[Step, ...]]
    ) -> list[tuple[Choice, tuple[Step, ...]]]:
        """Return the choices that have a plan, with it, the shortest first.

        Raises:
            NoPlan: none has; the reason is that of the first.
        """
        found, reasons = [], []
        for choice in choices:
            try:
                found.append((choice, plan(choice)))
            except NoPlan as error:
                reasons.append(error)
        if not found:
            raise reasons[0]
        return sorted(found, key=lambda way: sum(step.length for step in way[1]))

    def _in_order(self, parts: Sequence[Tree[Atom]], scene: Scene) -> tuple[Step, ...]:
        done: tuple[Step, ...] = ()
        for part in parts:
            done += self.steps(part, done[-1].scene if done else scene)
        return done

    def _nearest_first(self, parts: Sequence[Tree[Atom]], count: int, scene: Scene) -> tuple[Step, ...]:
        if not count:
            return ()
        reasons = []
        for part, steps in self._with_plans(parts, lambda part: self.steps(part, scene)):
            rest = tuple(other for other in parts if other is not part)
            try:
                return steps + self._nearest_first(rest, count - 1, steps[-1].scene)
            except NoPlan as error:
                reasons.append(error)
        raise reasons[0]

    def step(self, atom: Atom, scene: Scene) -> Step:
        """Return how one subtask is done.

        Raises:
            NoPlan: there is no way; the text has the reason.
        """
        said, name = self.instruction(atom, scene), atom.arguments[0]
        if atom.predicate in STATES:
            way = self.joint_way(said, scene)
            return Step(atom, way, replace(scene.moved(name, part_pose(way.whole, way.joint, way.goal)), contacts=()))
        carried = self.upright_way(said, scene) if atom.predicate == UP else self.handling(said, scene)
        return Step(atom, carried, replace(scene.moved(name, carried.target), contacts=()))

    def instruction(self, atom: Atom, scene: Scene) -> Instruction:
        """Return an atom as an instruction in the terms of the tabletop, or of the kitchen for a joint.

        Raises:
            NoPlan: no way is known to bring it about.
        """
        if atom.predicate in STATES:
            return instruction_of(atom)
        if atom.predicate == PICKED_UP:
            return Instruction("", "pick", (("target", atom.arguments[0]),))
        if atom.predicate == UP:
            return Instruction("", UP, (("target", atom.arguments[0]),))
        target, reference = atom.arguments
        arguments = (("target", target), ("reference", reference))
        model = self._things.models[scene[reference].model]
        if atom.predicate in ("On", "Stack", "In"):
            inside = model.cavity is not None and (atom.predicate == "In" or model.top is None)
            return Instruction("", "put_in" if inside else "put_on", arguments)
        side = (("side", atom.predicate),) if atom.predicate in _SIDES else ()
        return Instruction("", "move_near", (*arguments, *side))

    def handling(self, instruction: Instruction, scene: Scene) -> HandlingPlan:
        """Return how an instruction in the tabletop's terms is carried out by the shortest way.

        Raises:
            NoPlan: there is none; the text has the reason.
        """
        return TabletopPlanner.handling(self, instruction, scene)

    def upright_way(self, instruction: Instruction, scene: Scene) -> UprightWay:
        """Return how to set a thing upright that lies on its side on the table.

        Raises:
            NoPlan: there is no way; the text has the reason.
        """
        reason = self.premise(instruction, scene)
        if reason is not None:
            raise NoPlan(reason)
        target, p = scene[str(instruction.get("target"))], self._kitchen
        model, named = self._things.models[target.model], words(target.name)
        if abs(shapes.lowest(model, target.pose)) > FREE:
            raise NoPlan(f"{named} does not lie free on the table")
        self._require_free_start(scene)
        others = self.obstacles(scene, {target.name})
        reason = f"{named} has no grasp by which the hand sets it upright"
        try:
            for at, width in holds(model, target.pose, p.hand):
                way = self._raising(target, at, width, self._require_height(self._above(target, others), target))
                blocking = self._in_the_way(target, way, others)
                if blocking is None:
                    return way
                reason = blocking
        except NoPlan as error:
            reason = f"{named} {error}"
        raise NoPlan(reason)

    def _raising(self, target: ObjectState, at: Pose, width: float, height: float) -> UprightWay:
        """Return the way to set a thing upright by a tool in the thing's frame."""
        p, model = self._kitchen, self._things.models[target.model]
        grasp, end = compose(target.pose, at), stood(target.pose, at)
        # Above the ground as a whole, and lifted as far as counts, even if it hangs upright at once.
        least = at.position[2] + target.pose.position[2] + p.success.lifted
        carry, away = max(reach(model, at), least) + p.placing.carry, p.moving.before
        place = compose(end, at)
        before, after = backed(grasp, away).position, backed(place, away).position
        (gx, gy, _), (x, y, _) = grasp.position, before
        path = (p.start, (x, y, height), before, grasp.position, (gx, gy, carry), place.position, after)
        return UprightWay(target.name, grasp, width, away, height, carry, place, p.placing.drop, end, path)

    def _in_the_way(self, target: ObjectState, way: UprightWay, others: Sequence[Obstacle]) -> str | None:
        """Return why a thing cannot be set upright by a way; None if it can."""
        p, model, named = self._kitchen, self._things.models[target.model], words(target.name)
        tools = [backed(tool, away) for tool in (way.grasp, way.place) for away in (0.0, way.before)]
        area = swept(model, target.pose, way.target)
        if not all(self._region.covers(Point(tool.xy)) for tool in tools) or not self._region.covers(area):
            return f"{named} lies too near to the edge of the region where things stand"
        for other in others:
            if shapely.distance(other.area, area) < p.placing.gap:
                return f"{words(other.name)} is in the way where {named} is to be set upright"
        blocking = in_the_way(p.hand, tools, others)
        return blocking and f"{words(blocking)} is in the way of the hand that sets {named} upright"

    def premise(self, instruction: Instruction, scene: Scene) -> str | None:
        """Return why an instruction in the tabletop's terms makes no sense in a scene; None if it does."""
        for role, name in instruction.arguments:
            if role != "side" and name not in scene:
                return f"{words(name)} is not in the scene"
        target = scene[str(instruction.get("target"))]
        if target.model in self._things.parts:
            return None
        if self._things.models[target.model].fixed:
            return f"{words(target.name)} cannot be carried"
        if instruction.family != UP and not shapes.is_upright(target.pose):
            return f"{words(target.name)} has fallen over"
        if not self._region.covers(Point(target.pose.xy)):
            return f"{words(target.name)} is outside the region where things stand"
        if above := self.borne(scene, target.name):
            return f"{words(above[0])} is on {words(target.name)}"
        return None

    def borne(self, scene: Scene, name: str) -> tuple[str, ...]:
        """Return the names of the movable things that stand on or in a thing."""
        own = scene[name]
        area = shapes.footprint(self._things.models[own.model], own.pose)
        return tuple(
            other.name
            for other in self.movable(scene)
            if other.name != name
            and not self._things.models[other.model].fixed
            and other.pose.position[2] > own.pose.position[2] + RAISED
            and area.covers(Point(other.pose.xy))
        )

    def obstacles(self, scene: Scene, without: Collection[str] = ()) -> tuple[Obstacle, ...]:
        """Return the things of a scene as obstacles; what one of those left out stands in or on is open there."""
        found: Sequence[Obstacle] = super().obstacles(scene, without)
        for name in without:
            for under in self.movable(scene):
                model = self._things.models[under.model]
                place = model.cavity or model.top
                if under.name in without or place is None or name not in self.borne(scene, under.name):
                    continue
                found = self._around_place(under, "put_in" if model.cavity is not None else "put_on", found)
        return tuple(found)

    def _beside(self, target: ObjectState, reference: ObjectState) -> Iterator[_Spot]:
        for spot in TabletopPlanner._beside(self, target, reference):
            (x, y), (u, v) = reference.pose.xy, spot.pose.xy
            ahead, left = _SIDES.get(self._side, (0.0, 0.0))
            along, aside = ahead * (u - x) + left * (v - y), abs(left * (u - x) - ahead * (v - y))
            if not self._side or along > ASIDE * aside:
                yield spot

    def _spots(
        self, relation: Near | On | In, target: ObjectState, reference: ObjectState, others: Sequence[Obstacle]
    ) -> list[_Spot]:
        # What lies in the same thing may be near: it is dropped beside that, not put down by fingers between the two.
        if not isinstance(relation, In):
            return super()._spots(relation, target, reference, others)
        hole = shapes.placed(relation.reference.cavity.polygon, reference.pose)
        inside = [o for o in others if hole.covers(o.area.centroid) and whole_of(reference.name) != o.name]
        found = super()._spots(relation, target, reference, [o for o in others if o not in inside])
        model = self._things.models[target.model]
        free = [s for s in found if all(shapes.gap(shapes.footprint(model, s.pose), o.area) > BESIDE for o in inside)]
        if not free and not self._crowded:
            raise NoPlan(f"{words(target.name)} does not fit into {words(reference.name)} beside what is in it")
        return free or found

    def _on_top(self, target: ObjectState, reference: ObjectState) -> Iterator[_Spot]:
        """Yield places on a top: its middle, and others on what is larger than the thing, such as a plate."""
        middles = list(super()._on_top(target, reference))
        yield from middles
        holder = self._things.models[reference.model]
        if not holder.fixed and not holder.stackable:
            face = shapes.placed(holder.top.polygon, reference.pose).buffer(-self._kitchen.placing.inset)
            for spot in self._about(middles[:2], reference, holder.top.polygon, PLATE):
                area = shapes.footprint(self._things.models[target.model], spot.pose)
                enough = area.intersection(face).area >= self._kitchen.placing.support * area.area
                if enough and face.covers(Point(spot.pose.xy)):
                    yield spot

    def _inside(self, target: ObjectState, reference: ObjectState) -> Iterator[_Spot]:
        """Yield places in a cavity: as in the kitchen in a fixture, else its middle, and others along its sides."""
        holder = self._things.models[reference.model]
        if holder.fixed or self._things.models[target.model].type == holder.type:
            yield from super()._inside(target, reference)
            return
        x, y, z = target.pose.position
        along = replace(target, pose=Pose.planar(x, y, reference.pose.yaw, z))
        middles = [*TabletopPlanner._inside(self, along, reference), *TabletopPlanner._inside(self, target, reference)]
        yield from middles
        room = shapes.placed(holder.cavity.polygon, reference.pose).buffer(-self._kitchen.placing.inset)
        for spot in self._about(middles[:2], reference, holder.cavity.polygon, TRAY):
            if room.covers(shapes.footprint(self._things.models[target.model], spot.pose)):
                yield spot

    @staticmethod
    def _about(
        middles: Sequence[_Spot],
        reference: ObjectState,
        polygon: Sequence[tuple[float, float]],
        shares: Sequence[float],
    ) -> Iterator[_Spot]:
        """Yield places beside the middle of a polygon of a thing: shares of its half widths along both of its axes."""
        (x0, y0), (x1, y1) = np.min(polygon, axis=0).tolist(), np.max(polygon, axis=0).tolist()
        for spot, i, j in itertools.product(middles, shares, shares):
            dx, dy, _ = rotate(reference.pose.orientation, (i * (x1 - x0) / 2, j * (y1 - y0) / 2, 0.0))
            x, y, z = spot.pose.position
            if i or j:
                yield _Spot(Pose((x + dx, y + dy, z), spot.pose.orientation), spot.drops)
