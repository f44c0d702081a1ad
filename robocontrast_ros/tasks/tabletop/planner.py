"""The shortest way to fulfil an instruction with a hand that comes from above (docs/tabletop.md defines it in full).

The open hand goes to above the target, straight down, closes, lifts the target straight up over everything on the
table, carries it to above its place, puts it straight down, opens and goes up a little. No robot is known here: the
hand is the boxes of the task file, and the tool points down.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import shapely
from shapely import Polygon

from robocontrast_ros.domain import Instruction, ObjectState, Pose, Scene
from robocontrast_ros.objects import ObjectModel
from robocontrast_ros.tasks.plans import Infeasible, NoPlan, Plan
from robocontrast_ros.tasks.tabletop import shapes
from robocontrast_ros.tasks.tabletop.goals import In, Library, Near, On, TabletopGoals, argument, named
from robocontrast_ros.tasks.tabletop.hand import HandRoom, Obstacle, ToolPlace, grasp_place
from robocontrast_ros.tasks.tabletop.parameters import TabletopParameters

APPROACHES = 12
"""Number of steps that bring a thing to its gap from the one near which it is put."""

STANDING = 0.02
"""Greatest distance of a named thing from the table's top [m]."""


_KEPT_PLANS = 64


@dataclass(frozen=True)
class HandlingPlan:
    """How to fulfil an instruction.

    Attributes:
        grasp: the tool's place when the hand closes.
        width: of the target between the fingers [m].
        above: height of the tool on the way to above the target [m].
        carry: height of the tool while it carries [m].
        place: the tool's place when the hand opens; None if the target is held.
        target: pose of the target at the end.
        path: the tool's path from the start, shape (n, 3), world frame [m].
    """

    grasp: ToolPlace
    width: float
    above: float
    carry: float
    place: ToolPlace | None
    target: Pose
    path: tuple[tuple[float, float, float], ...]


@dataclass(frozen=True)
class _Hold:
    """A grasp that has room."""

    tool: ToolPlace
    width: float


@dataclass(frozen=True)
class _Spot:
    """A possible place of the target: its pose at the end, and the height above that at which the hand may open [m]."""

    pose: Pose
    drops: tuple[float, ...]


class TabletopPlanner:
    """Plans for any robot that reaches the task's region from above."""

    def __init__(self, parameters: TabletopParameters, library: Library, goals: TabletopGoals) -> None:
        self._p, self._library, self._goals = parameters, library, goals
        self._room = HandRoom(parameters.hand)
        self._found = lru_cache(_KEPT_PLANS)(self._new)
        self._region = parameters.region.box

    def relaxed(self) -> TabletopPlanner:
        """Return a planner that keeps half the distances, for a scene that has moved a little since it was planned."""
        hand, placing = self._p.hand, self._p.placing
        less = replace(
            self._p,
            hand=replace(hand, margin=hand.margin / 2, above=hand.above / 2),
            placing=replace(placing, gap=placing.gap / 2, inset=placing.inset / 2),
        )
        return TabletopPlanner(less, self._library, self._goals)

    def plan(self, instruction: Instruction, scene: Scene) -> Plan | Infeasible:
        """Return the tool's shortest path that fulfils an instruction, and the scene then; or why there is none."""
        try:
            handling = self.handling(instruction, scene)
        except NoPlan as reason:
            return Infeasible(str(reason))
        end = scene.moved(argument(instruction, "target"), handling.target)
        touched = (argument(instruction, "target"),) if handling.place is None else ()
        return Plan(handling.path, replace(end, contacts=touched, carried=()))

    def handling(self, instruction: Instruction, scene: Scene) -> HandlingPlan:
        """Return how the shortest plan holds, carries and puts down the target.

        Raises:
            NoPlan: there is none; the text has the reason.
            ValueError: as ``TabletopGoals.goal``.
        """
        found = self._found(replace(instruction, text="", segments=(), meant=""), Scene(scene.objects))
        if isinstance(found, Infeasible):
            raise NoPlan(found.reason)
        return found

    def _new(self, instruction: Instruction, scene: Scene) -> HandlingPlan | Infeasible:
        try:
            return self._shortest(instruction, scene)
        except NoPlan as error:
            return Infeasible(str(error))

    def _shortest(self, instruction: Instruction, scene: Scene) -> HandlingPlan:
        reason = self.premise(instruction, scene)
        if reason is not None:
            raise NoPlan(reason)
        target = scene[argument(instruction, "target")]
        self._require_free_start(scene)
        others = self.obstacles(scene, {target.name})
        holds = self._holds(target, others)
        if instruction.family == "pick":
            return self._picked(target, others, holds)
        return self._put(instruction, scene, target, others, holds)

    def premise(self, instruction: Instruction, scene: Scene) -> str | None:
        """Return why an instruction makes no sense in a scene; None if it does."""
        both = named(instruction)
        for name in both:
            if name not in scene:
                return f"{words(name)} is not in the scene"
            state = scene[name]
            if not shapes.is_upright(state.pose):
                return f"{words(name)} has fallen over"
            if abs(state.pose.position[2]) > STANDING:
                return f"{words(name)} does not stand on the table"
            if not self._region.covers(shapely.Point(state.pose.xy)):
                return f"{words(name)} is outside the region where things stand"
        if len(set(both)) != len(both):
            return f"{words(both[0])} cannot be put to itself"
        return None

    def possible(self, family: str, target: str, reference: str = "") -> str | None:
        """Return why a target can never be handled so, both given as models, at any place; None if it can."""
        region = self._p.region
        middle = Pose.planar((region.x_min + region.x_max) / 2, (region.y_min + region.y_max) / 2)
        state = ObjectState(target, target, middle)
        try:
            self._holds(state, ())
            # Beside every object there is a place, as far as the two alone show.
            if family not in ("pick", "move_near"):
                relation = self._goals.relation(family, target, reference)
                self._spots(relation, state, ObjectState(reference, reference, middle), ())
        except NoPlan as reason:
            return str(reason)
        return None

    # -- what stands in the way -------------------------------------------------------------------

    def movable(self, scene: Scene) -> tuple[ObjectState, ...]:
        """Return the objects of a scene that are no fixtures."""
        return tuple(o for o in scene if o.model in self._library and not self._library[o.model].fixed)

    def obstacle(self, state: ObjectState) -> Obstacle:
        """Return an object of the library as an obstacle."""
        model = self._library[state.model]
        return Obstacle(state.name, shapes.footprint(model, state.pose), shapes.heights(model, state.pose)[1])

    def obstacles(self, scene: Scene, without: Collection[str] = ()) -> tuple[Obstacle, ...]:
        """Return the objects of a scene that are no fixtures as obstacles, without those of some names."""
        return tuple(self.obstacle(o) for o in self.movable(scene) if o.name not in without)

    def _around_place(self, reference: ObjectState, family: str, others: Sequence[Obstacle]) -> tuple[Obstacle, ...]:
        """Return the obstacles when a target is put on or in the reference, which is then hollow or flat."""
        model = self._library[reference.model]
        part = model.cavity if family == "put_in" else model.top
        hole = shapes.placed(part.polygon, reference.pose)
        ground = part.floor if family == "put_in" else part.z
        found = []
        for obstacle in others:
            if obstacle.name != reference.name:
                found.append(obstacle)
                continue
            found.append(Obstacle(obstacle.name, hole, reference.pose.position[2] + ground))
            rim = shapely.difference(obstacle.area, hole)
            if not rim.is_empty:
                found.append(replace(obstacle, area=rim))
        return tuple(found)

    def _require_free_start(self, scene: Scene) -> None:
        """Refuse things at the hand's start, which touches them before anything is done.

        Raises:
            NoPlan: a thing is there.
        """
        hand, (x, y, z) = self._p.hand, self._p.start
        for obstacle in self.obstacles(scene):
            near = shapely.distance(obstacle.area, shapely.Point(x, y)) < hand.radius + hand.margin
            if near and obstacle.top > z - hand.tip - hand.above:
                raise NoPlan(f"{words(obstacle.name)} stands where the hand starts")

    # -- holding ----------------------------------------------------------------------------------

    def _holds(self, target: ObjectState, others: Sequence[Obstacle]) -> list[_Hold]:
        """Return the target's grasps that have room, in the order of its list.

        Raises:
            NoPlan: there are none.
        """
        hand = self._p.hand
        model = self._library[target.model]
        holds: list[_Hold] = []
        blocked: list[str] = []
        for grasp in model.grasps:
            if grasp.width + hand.slack > hand.opening:
                continue
            for turn in range(grasp.turns):
                tool = grasp_place(target.pose, grasp, turn)
                if tool is None:
                    break
                if not tool.is_turned_little:
                    tool = tool.other_finger()
                other = self._room.in_the_way(tool, others)
                if other is None:
                    holds.append(_Hold(tool, grasp.width))
                else:
                    blocked.append(other)
        if holds:
            return holds
        if blocked:
            nearest = max(dict.fromkeys(blocked), key=blocked.count)
            raise NoPlan(f"the open hand has no room at {words(target.name)}: {words(nearest)} is in the way")
        raise NoPlan(f"{words(target.name)} has no grasp from above that the hand is wide enough for")

    def _above(self, target: ObjectState, others: Sequence[Obstacle]) -> float:
        """Return the height from which the open hand is over everything [m]."""
        hand = self._p.hand
        tallest = max([self._library[target.model].size[2] + target.pose.position[2], *(o.top for o in others)])
        return tallest + hand.tip + self._p.placing.carry

    def _reach(self, hold: _Hold, above: float) -> list[tuple[float, float, float]]:
        """Return the path from the start to a grasp."""
        x, y, z = self._p.start
        gx, gy, gz = hold.tool.position
        raised = [] if z >= above else [(x, y, above)]
        return [(x, y, z), *raised, (gx, gy, above), (gx, gy, gz)]

    def _picked(self, target: ObjectState, others: Sequence[Obstacle], holds: Sequence[_Hold]) -> HandlingPlan:
        p = self._p
        above = self._require_height(self._above(target, others), target)
        lift = p.success.held + p.placing.carry

        def cost(hold: _Hold) -> tuple[float, int]:
            way = _length(self._reach(hold, above)) + lift + p.placing.rotation_cost * abs(hold.tool.yaw)
            return round(way, 9), holds.index(hold)

        best = min(holds, key=cost)
        x, y, z = best.tool.position
        tx, ty, tz = target.pose.position
        end = Pose((tx, ty, tz + lift), target.pose.orientation)
        path = (*self._reach(best, above), (x, y, z + lift))
        return HandlingPlan(best.tool, best.width, above, z + lift, None, end, path)

    # -- putting down -----------------------------------------------------------------------------

    def _put(
        self,
        instruction: Instruction,
        scene: Scene,
        target: ObjectState,
        others: Sequence[Obstacle],
        holds: Sequence[_Hold],
    ) -> HandlingPlan:
        p = self._p
        family, reference = instruction.family, scene[argument(instruction, "reference")]
        relation = self._goals.relation(family, target.model, reference.model)
        around = others if family == "move_near" else self._around_place(reference, family, others)
        spots = self._spots(relation, target, reference, [o for o in others if o.name != reference.name])
        above = self._require_height(self._above(target, others), target)
        tallest = max(o.top for o in others)
        queue: list[tuple[float, int, int, HandlingPlan]] = []
        for (i, hold), (j, spot) in itertools.product(enumerate(holds), enumerate(spots)):
            # The lowest point below the tool is carried over everything on the table.
            hangs = max(hold.tool.position[2] - target.pose.position[2], p.hand.tip)
            carry = max(tallest + hangs + p.placing.carry, hold.tool.position[2] + p.success.lifted + p.placing.carry)
            way = self._way(hold, spot, spot.drops[0], target, above, carry)
            if not way.place.is_turned_little:
                continue
            turned = abs(hold.tool.yaw) + abs(math.remainder(way.place.yaw - hold.tool.yaw, math.tau))
            bound = round(_length(way.path) + p.placing.rotation_cost * turned, 9)
            heapq.heappush(queue, (bound, i, j, way))
        reason = f"{words(target.name)} cannot be carried over what stands on the table"
        while queue:
            _, i, j, way = heapq.heappop(queue)
            if way.carry > p.placing.ceiling:
                continue
            for drop in spots[j].drops:
                lowered = self._way(holds[i], spots[j], drop, target, above, way.carry)
                blocking = self._room.in_the_way(lowered.place, around)
                if blocking is None:
                    return lowered
                where = f"where {words(target.name)} is to be put"
                reason = f"the open hand has no room {where}: {words(blocking)} is in the way"
        raise NoPlan(reason)

    def _way(
        self, hold: _Hold, spot: _Spot, drop: float, target: ObjectState, above: float, carry: float
    ) -> HandlingPlan:
        """Return a way over everything: pick up, carry, put down from a height, and go up a little."""
        x, y, z = spot.pose.position
        opened = hold.tool.carried(target.pose, Pose((x, y, z + drop), spot.pose.orientation))
        (gx, gy, _), (px, py, pz) = hold.tool.position, opened.position
        path = (
            *self._reach(hold, above),
            (gx, gy, carry),
            (px, py, carry),
            (px, py, pz),
            (px, py, pz + self._p.hand.retreat),
        )
        return HandlingPlan(hold.tool, hold.width, above, carry, opened, spot.pose, path)

    def _require_height(self, height: float, target: ObjectState) -> float:
        if height > self._p.placing.ceiling:
            raise NoPlan(f"what stands on the table is too tall for the hand to go over it to {words(target.name)}")
        return height

    def _spots(
        self,
        relation: Near | On | In,
        target: ObjectState,
        reference: ObjectState,
        others: Sequence[Obstacle],
    ) -> list[_Spot]:
        """Return the possible places of the target.

        Raises:
            NoPlan: nowhere.
        """
        moved, fixed = words(target.name), words(reference.name)
        match relation:
            case Near():
                found = list(self._beside(target, reference))
                reason = f"there is no free place near {fixed}"
            case On():
                found = list(self._on_top(target, reference))
                reason = f"{fixed} has no room for {moved} on it"
            case In():
                found = list(self._inside(target, reference))
                reason = f"{moved} does not fit into {fixed}"
        areas = np.array([o.area for o in others], dtype=object)
        model, least = self._library[target.model], self._p.placing.gap
        free = [s for s in found if not (shapely.distance(shapes.footprint(model, s.pose), areas) < least).any()]
        if not free:
            raise NoPlan(f"{reason}: other things are in the way" if found else reason)
        return free

    def _turned(self, target: ObjectState) -> list[float]:
        """Return the yaws in which the target is put down, its own first [rad]."""
        turns = self._p.placing.turns
        return [target.pose.yaw + k * math.tau / turns for k in range(turns)]

    def _beside(self, target: ObjectState, reference: ObjectState) -> Iterator[_Spot]:
        p, model = self._p.placing, self._library[target.model]
        area = shapes.footprint(self._library[reference.model], reference.pose)
        x, y = reference.pose.xy
        first = math.atan2(target.pose.xy[1] - y, target.pose.xy[0] - x)
        outline = Polygon(model.footprint)
        for k, yaw in itertools.product(range(p.directions), self._turned(target)):
            angle = first + k * math.tau / p.directions
            at_origin = shapes.moved(outline, (0.0, 0.0), yaw)
            distance = math.hypot(*model.size[:2])
            # The gap changes at most as fast as the distance: each step stops before the wanted gap.
            for _ in range(APPROACHES):
                centre = x + distance * math.cos(angle), y + distance * math.sin(angle)
                between = shapes.gap(shapes.moved(at_origin, centre, 0.0), area)
                distance -= between - p.near
            centre = x + distance * math.cos(angle), y + distance * math.sin(angle)
            there = shapes.moved(at_origin, centre, 0.0)
            if abs(shapes.gap(there, area) - p.near) < p.near / 10 and self._region.covers(there):
                yield _Spot(Pose.planar(*centre, yaw), (p.drop,))

    def _on_top(self, target: ObjectState, reference: ObjectState) -> Iterator[_Spot]:
        p, top = self._p.placing, self._library[reference.model].top
        face = shapes.placed(top.polygon, reference.pose)
        middle = face.centroid
        if face.exterior.distance(middle) < p.inset:
            return
        ground = reference.pose.position[2] + top.z
        model = self._library[target.model]
        for yaw in self._turned(target):
            pose = Pose.planar(middle.x, middle.y, yaw, ground)
            area = shapes.footprint(model, pose)
            if area.intersection(face).area >= p.support * area.area:
                yield _Spot(pose, (p.drop,))

    def _inside(self, target: ObjectState, reference: ObjectState) -> Iterator[_Spot]:
        p, cavity = self._p.placing, self._library[reference.model].cavity
        model: ObjectModel = self._library[target.model]
        if cavity.floor + model.size[2] / 2 > cavity.rim - p.inset:
            return
        room = shapes.placed(cavity.polygon, reference.pose).buffer(-p.inset)
        middle = room.centroid
        ground = reference.pose.position[2] + cavity.floor
        steps = math.floor((p.highest_drop - p.drop) / p.drop_step)
        drops = tuple(p.drop + k * p.drop_step for k in range(steps + 1))
        for yaw in self._turned(target):
            pose = Pose.planar(middle.x, middle.y, yaw, ground)
            if not room.is_empty and room.covers(shapes.footprint(model, pose)):
                yield _Spot(pose, drops)


def words(name: str) -> str:
    """Return an object's name for a message."""
    return f"the {name.replace('_', ' ')}"


def _length(path: Sequence[tuple[float, float, float]]) -> float:
    return sum(math.dist(a, b) for a, b in itertools.pairwise(path))
