"""The way to fulfil an instruction in the kitchen: a thing is carried as on the tabletop, a joint follows its handle.

A part that moves on a joint is taken by its handle, along the approach of its grasp, moved along its joint, and let go;
the hand leaves the way it came, so that it does not knock a door shut. The way to the handle is a corridor that has to
be free for all positions of the handle. No robot is known here.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import shapely
from shapely import Polygon

from robocontrast_ros.domain import Instruction, ObjectState, Pose, Scene, whole_of
from robocontrast_ros.objects import Grasp, ObjectModel, tool_pose
from robocontrast_ros.objects.frames import rotate
from robocontrast_ros.objects.joints import Joint, part_pose
from robocontrast_ros.objects.shapes import bounds
from robocontrast_ros.tasks.kitchen.goals import KitchenGoals, atom_of
from robocontrast_ros.tasks.kitchen.library import BACKGROUND, Things, ground
from robocontrast_ros.tasks.kitchen.parameters import KitchenParameters
from robocontrast_ros.tasks.kitchen.predicates import STATES, UnknownPredicate
from robocontrast_ros.tasks.plans import Infeasible, NoPlan, Plan
from robocontrast_ros.tasks.tabletop import shapes
from robocontrast_ros.tasks.tabletop.goals import In, Near, On, TabletopGoals
from robocontrast_ros.tasks.tabletop.hand import Obstacle, ToolPlace
from robocontrast_ros.tasks.tabletop.planner import HandlingPlan, TabletopPlanner, _Hold, _Spot, words

SPOTS = 7
"""Number of places along each side of a cavity that are tried."""

NESTED = 0.027
"""Height of a bowl's bottom that stands in one like it, over that of the other one [m]."""

BESIDE_CASE = 1 / 3
"""Share of the gap to other things that what is put into a drawer keeps to its case."""

DEPTH = 0.005
"""Step of the places under a board, from its back to its front [m]."""

ROUNDING = 1e-6
"""Distance from the edge of a place that counts as rounding [m]."""

ASIDE = 1.5
"""What is put left or right of a thing is so many times farther aside than ahead, at least."""

FOLLOWED = 0.6
"""Share of a door's angle by which the hand turns that moves it."""

KNOB = 0.03
"""Distance of a handle from its hinge below which it is a knob [m]."""

FREE = 0.02
"""Greatest distance of a thing that can be taken from the table's top [m]."""


OUT = 0.04
"""Position of a drawer [m] beyond which it is in the way of a hand before the drawers below it."""


@dataclass(frozen=True)
class JointWay:
    """How to move a part on its joint.

    Attributes:
        part: name of the part.
        joint: its joint.
        whole: pose of its object.
        grasp: its grasp, in the part's frame.
        turn: the one of the grasp's equal turns that is taken.
        goal: position to which the joint is moved [m, or rad].
        before: distance along the approach from which the hand goes to the handle, and to which it leaves [m].
        height: height of the tool on the way to there, and from there [m].
        path: the tool's path from the start, shape (n, 3), world frame [m].
    """

    part: str
    joint: Joint
    whole: Pose
    grasp: Grasp
    turn: int
    goal: float
    before: float
    height: float
    path: tuple[tuple[float, float, float], ...] = ()

    def tool(self, position: float, away: float = 0.0) -> Pose:
        """Return the pose of the tool with the joint at a position, so far back along the approach [m]."""
        at = tool_pose(part_pose(self.whole, self.joint, position), self.grasp, self.turn)
        if self.joint.type == "hinge" and not self.is_knob:
            # A bar turns between the fingers: the hand turns less than the door, so that it stays before the robot.
            turned = part_pose(self.whole, self.joint, FOLLOWED * position)
            at = Pose(at.position, tool_pose(turned, self.grasp, self.turn).orientation)
        back = rotate(at.orientation, (0.0, 0.0, -away))
        x, y, z = (a + b for a, b in zip(at.position, back, strict=True))
        return Pose((x, y, z), at.orientation)

    @property
    def is_knob(self) -> bool:
        """Whether the joint's axis goes through its handle, so that the hand has to turn with it."""
        return self.joint.type == "hinge" and math.dist(self.joint.through, self.joint.home.position) < KNOB


@dataclass(frozen=True)
class SlidingPlan(HandlingPlan):
    """How to put a thing under a board: down before it, level to its place, and down there.

    Attributes:
        entry: the tool's place before the board, at the height in which the thing slides.
    """

    entry: ToolPlace


class KitchenPlanner(TabletopPlanner):
    """Plans for any robot that reaches the things from above, and handles along the approach of their grasps."""

    def __init__(self, parameters: KitchenParameters, things: Things, goals: KitchenGoals) -> None:
        super().__init__(parameters, things.models, TabletopGoals(parameters, things.models))
        self._kitchen, self._things, self._of_kitchen = parameters, things, goals
        self._side = ""
        self._ways = lru_cache(64)(self._new_way)

    def relaxed(self) -> KitchenPlanner:
        """Return a planner that keeps half the distances, for a scene that has moved a little since it was planned."""
        p = self._kitchen
        less = replace(
            p,
            hand=replace(p.hand, margin=p.hand.margin / 2, above=p.hand.above / 2),
            placing=replace(p.placing, gap=p.placing.gap / 2, inset=p.placing.inset / 2),
            moving=replace(p.moving, corridor=p.moving.corridor * 0.9),
        )
        return KitchenPlanner(less, self._things, self._of_kitchen)

    def plan(self, instruction: Instruction, scene: Scene) -> Plan | Infeasible:
        """Return the tool's shortest path that fulfils an instruction, and the scene then; or why there is none."""
        try:
            if atom_of(instruction).predicate in STATES:
                way = self.joint_way(instruction, scene)
                moved = part_pose(way.whole, way.joint, way.goal)
                return Plan(way.path, replace(scene.moved(way.part, moved), contacts=(), carried=()))
            handling = self.handling(instruction, scene)
        except NoPlan as reason:
            return Infeasible(str(reason))
        return Plan(
            handling.path,
            replace(scene.moved(str(instruction.get("target")), handling.target), contacts=(), carried=()),
        )

    def handling(self, instruction: Instruction, scene: Scene) -> HandlingPlan:
        """Return how the shortest plan of a placing instruction holds, carries and puts down the target.

        Raises:
            NoPlan: there is none; the text has the reason.
            ValueError: the instruction places nothing.
        """
        return super().handling(self.placing(instruction, scene), scene)

    def placing(self, instruction: Instruction, scene: Scene) -> Instruction:
        """Return a placing instruction in the terms of the tabletop; ``side`` is the side of the reference."""
        self._check(instruction, scene)
        family = instruction.family
        reference = self._things.models[scene[str(instruction.get("reference"))].model]
        if family == "stack" or (family == "put_on" and reference.top is None):
            family = "put_in" if reference.cavity is not None else "put_on"
        side = {"put_left": "left", "put_right": "right"}.get(family)
        if side is not None:
            return replace(instruction, family="move_near", arguments=(*instruction.arguments, ("side", side)))
        return replace(instruction, family=family)

    def _check(self, instruction: Instruction, scene: Scene) -> None:
        reason = self.premise(instruction, scene)
        if reason is not None:
            raise NoPlan(reason)

    def premise(self, instruction: Instruction, scene: Scene) -> str | None:
        """Return why an instruction makes no sense in a scene; None if it does."""
        said = self._in_kitchen(instruction)
        atom = atom_of(said)
        try:
            self._of_kitchen.goal(said, scene)
        except UnknownPredicate as error:
            return str(error)
        if atom.predicate in STATES:
            return None
        target = scene[atom.arguments[0]]
        if not shapes.is_upright(target.pose):
            return f"{words(target.name)} has fallen over"
        if abs(target.pose.position[2]) > FREE:
            return f"{words(target.name)} does not stand free on the table"
        model = self._things.models[target.model]
        if model.fixed:
            return f"{words(target.name)} cannot be carried"
        return None

    @staticmethod
    def _in_kitchen(instruction: Instruction) -> Instruction:
        """Return an instruction in the kitchen's terms, of which ``placing`` made one of the tabletop's."""
        side = instruction.get("side")
        return instruction if side is None else replace(instruction, family=f"put_{side}")

    # -- what stands in the way -------------------------------------------------------------------

    def movable(self, scene: Scene) -> tuple[ObjectState, ...]:
        """Return the things of a scene that can be in the way: all but the background."""
        models = self._things.models
        return tuple(o for o in scene if o.model in models and models[o.model].category not in BACKGROUND)

    def obstacle(self, state: ObjectState) -> Obstacle:
        """Return a thing as an obstacle; a moving part by its own outline, so that a hand has room beside a handle."""
        part = self._things.parts.get(state.model)
        found = super().obstacle(state)
        if part is None or not shapes.is_upright(state.pose):
            return found
        areas = []
        for shape in part.parts:
            low, high = bounds(shape.type, shape.pose, shape.size)
            areas.append(shapes.moved(shapely.box(*low[:2], *high[:2]), state.pose.xy, state.pose.yaw))
        return replace(found, area=shapely.union_all(areas))

    def _put(
        self,
        instruction: Instruction,
        scene: Scene,
        target: ObjectState,
        others: Sequence[Obstacle],
        holds: Sequence[_Hold],
    ) -> HandlingPlan:
        reference = scene[str(instruction.get("reference"))]
        if instruction.family == "put_in" and self._is_covered(reference):
            return self._slid(target, reference, others, holds)
        sided = copy.copy(self)
        sided._side = instruction.get("side") or ""
        return TabletopPlanner._put(sided, instruction, scene, target, others, holds)

    def _beside(self, target: ObjectState, reference: ObjectState) -> Iterator[_Spot]:
        sign = {"left": 1.0, "right": -1.0}.get(self._side, 0.0)
        (x, y) = reference.pose.xy
        for spot in super()._beside(target, reference):
            u, v = spot.pose.xy
            if not sign or sign * (v - y) > ASIDE * abs(u - x):
                yield spot

    def _spots(
        self, relation: Near | On | In, target: ObjectState, reference: ObjectState, others: Sequence[Obstacle]
    ) -> list[_Spot]:
        # What is put on a cabinet does not touch its drawers, and what is put in a drawer not those below it.
        model = self._things.models[reference.model]
        part = model.cavity if isinstance(relation, In) else model.top if isinstance(relation, On) else None
        height = 0.0 if part is None else reference.pose.position[2] + ground(part)
        whole = whole_of(reference.name) or reference.name
        higher = [o for o in others if o.top > height and (whole_of(o.name) or o.name) != whole]
        found = super()._spots(relation, target, reference, higher)
        # A drawer is no wider than what goes into it needs: beside its case less room is enough.
        case = [o for o in others if o.top > height and o.name not in (reference.name, *(h.name for h in higher))]
        areas = np.array([o.area for o in case if whole_of(reference.name)], dtype=object)
        model, least = self._things.models[target.model], BESIDE_CASE * self._kitchen.placing.gap
        free = [s for s in found if not (shapely.distance(shapes.footprint(model, s.pose), areas) < least).any()]
        if not free:
            raise NoPlan(f"{words(reference.name)} is not open far enough for {words(target.name)}")
        return free

    def _on_top(self, target: ObjectState, reference: ObjectState) -> Iterator[_Spot]:
        """Yield places on a top: its middle, and others on a grid if that of a fixture has room for them."""
        middles = list(super()._on_top(target, reference))
        yield from middles
        holder, model = self._things.models[reference.model], self._things.models[target.model]
        if not holder.fixed:
            return
        face = shapes.placed(holder.top.polygon, reference.pose).buffer(-self._kitchen.placing.inset)
        x0, y0, x1, y1 = Polygon(holder.top.polygon).bounds
        shares = [k / SPOTS for k in range(1 - SPOTS, SPOTS, 2) if k]
        for i, j in itertools.product(shares, repeat=2):
            x, y, _ = rotate(reference.pose.orientation, (i * (x1 - x0) / 2, j * (y1 - y0) / 2, 0.0))
            for spot in middles:
                px, py, pz = spot.pose.position
                pose = Pose((px + x, py + y, pz), spot.pose.orientation)
                if face.covers(shapes.footprint(model, pose)):
                    yield _Spot(pose, spot.drops)

    def _way(
        self, hold: _Hold, spot: _Spot, drop: float, target: ObjectState, above: float, carry: float
    ) -> HandlingPlan:
        way = super()._way(hold, spot, drop, target, above, carry)
        # A tool beyond the region is out of reach, as one that carries too high.
        return way if self._region.covers(shapely.Point(way.place.position[:2])) else replace(way, carry=math.inf)

    def _inside(self, target: ObjectState, reference: ObjectState) -> Iterator[_Spot]:
        """Yield places in a cavity: its middle, and for a drawer, which is half under its case, others on a grid.

        What is put into a drawer is also put along its sides, and what is put into a fixture, such as a rack, only
        along its x axis.
        """
        model, holder = self._things.models[target.model], self._things.models[reference.model]
        if model.type == holder.type:
            yield from self._nested(target, reference)
            return
        if holder.fixed and not whole_of(reference.name):
            yield from self._in_row(model, reference)
            return
        x, y, z = target.pose.position
        middles = list(super()._inside(replace(target, pose=Pose.planar(x, y, reference.pose.yaw, z)), reference))
        middles += super()._inside(target, reference)
        yield from middles
        if not middles:
            return
        cavity, inset = holder.cavity, self._kitchen.placing.inset
        room = shapes.placed(cavity.polygon, reference.pose).buffer(-inset, join_style="mitre")
        x0, y0, x1, y1 = Polygon(cavity.polygon).bounds
        shares = [2.0 * k / (SPOTS - 1) - 1.0 for k in range(SPOTS)]
        for i, j in sorted(itertools.product(shares, repeat=2), key=lambda ij: (abs(ij[0]) + abs(ij[1]), ij)):
            for spot in middles:
                own = shapes.moved(Polygon(model.footprint), (0.0, 0.0), spot.pose.yaw - reference.pose.yaw).bounds
                dx = i * max((x1 - x0 - own[2] + own[0]) / 2 - inset - ROUNDING, 0.0)
                dy = j * max((y1 - y0 - own[3] + own[1]) / 2 - inset - ROUNDING, 0.0)
                x, y, z = rotate(reference.pose.orientation, (dx, dy, 0.0))
                px, py, pz = spot.pose.position
                pose = Pose((px + x, py + y, pz + z), spot.pose.orientation)
                if room.covers(shapes.footprint(model, pose)):
                    yield _Spot(pose, spot.drops)

    def _nested(self, target: ObjectState, reference: ObjectState) -> Iterator[_Spot]:
        """Yield the places of a bowl in one like it."""
        x, y, z = reference.pose.position
        for yaw in self._turned(target):
            yield _Spot(Pose.planar(x, y, yaw, z + NESTED), (self._kitchen.placing.drop,))

    def _in_row(self, model: ObjectModel, reference: ObjectState) -> Iterator[_Spot]:
        """Yield the places in the middle row of a rack, whose rows go along its x axis and may be shorter."""
        p, cavity = self._kitchen.placing, self._things.models[reference.model].cavity
        area = shapes.placed(cavity.polygon, reference.pose)
        if cavity.floor + model.size[2] / 2 > cavity.rim - p.inset:
            return
        for turn in (0.0, math.pi):
            middle, z = area.centroid, reference.pose.position[2] + cavity.floor
            yield _Spot(Pose.planar(middle.x, middle.y, reference.pose.yaw + turn, z), (p.drop,))

    # -- under a board ----------------------------------------------------------------------------

    def _is_covered(self, reference: ObjectState) -> bool:
        """Return whether a thing's cavity is under its top, so that nothing is put into it from above."""
        model = self._things.models[reference.model]
        return model.cavity is not None and model.top is not None and model.top.z >= model.cavity.rim

    def _slid(
        self, target: ObjectState, reference: ObjectState, others: Sequence[Obstacle], holds: Sequence[_Hold]
    ) -> SlidingPlan:
        """Return how to put a thing under a board from its front, as deep as the hand stays before the board.

        Raises:
            NoPlan: there is no way; the text has the reason.
        """
        p, model = self._kitchen.placing, self._things.models[target.model]
        cavity = self._things.models[reference.model].cavity
        moved, fixed = words(target.name), words(reference.name)
        if cavity.rim - cavity.floor < model.size[2] + 2 * p.carry:
            raise NoPlan(f"{moved} does not fit into {fixed}")
        above = self._require_height(self._above(target, others), target)
        tallest = max(o.top for o in others)
        reason = f"{moved} does not fit into {fixed}"
        # The end of a handle is listed last, and goes deepest.
        for pose, hold in itertools.product(self._under(target, reference), reversed(holds)):
            hangs = max(hold.tool.position[2] - target.pose.position[2], self._kitchen.hand.tip)
            carry = tallest + hangs + p.carry
            if carry > p.ceiling:
                raise NoPlan(f"{moved} cannot be carried over what stands on the table")
            place = hold.tool.carried(target.pose, _raised(pose, p.drop))
            if not place.is_turned_little:
                continue
            blocking = self._room.in_the_way(place, others)
            before = self._before_board(target, reference, pose)
            blocking = blocking or self._in_corridor(model, before, pose, reference, others)
            entry = hold.tool.carried(target.pose, _raised(before, p.carry))
            blocking = blocking or self._room.in_the_way(entry, others)
            if blocking is not None:
                reason = f"{words(blocking)} is in the way of {moved} into {fixed}"
                continue
            (gx, gy, _), (ex, ey, _), (px, py, pz) = hold.tool.position, entry.position, place.position
            path = (
                *self._reach(hold, above),
                (gx, gy, carry),
                (ex, ey, carry),
                entry.position,
                (px, py, entry.position[2]),
                place.position,
                (px, py, pz + self._kitchen.hand.retreat),
            )
            return SlidingPlan(hold.tool, hold.width, above, carry, place, pose, path, entry)
        raise NoPlan(reason)

    def _under(self, target: ObjectState, reference: ObjectState) -> Iterator[Pose]:
        """Yield places under a board, the deepest first, with the thing along its x axis."""
        model, cavity = self._things.models[target.model], self._things.models[reference.model].cavity
        inset, (x0, y0, x1, y1) = self._kitchen.placing.inset, Polygon(cavity.polygon).bounds
        depths = math.ceil((x1 - x0) / DEPTH)
        for k, aside, turn in itertools.product(range(depths), (0.0, 0.5, -0.5), (0.0, math.pi)):
            own = shapes.moved(Polygon(model.footprint), (0.0, 0.0), turn).bounds
            x = x0 + inset - own[0] + k * DEPTH
            room = (y1 - y0 - own[3] + own[1]) / 2 - inset
            if x > x1 - inset or room < 0.0:
                continue
            y = (y0 + y1) / 2 + aside * room
            offset = rotate(reference.pose.orientation, (x, y, cavity.floor))
            px, py, pz = (a + b for a, b in zip(reference.pose.position, offset, strict=True))
            yield Pose.planar(px, py, reference.pose.yaw + turn, pz)

    def _before_board(self, target: ObjectState, reference: ObjectState, pose: Pose) -> Pose:
        """Return the place before a board from which a thing slides to a pose."""
        yaw = reference.pose.yaw
        ahead = (math.cos(yaw), math.sin(yaw))

        def along(area: Polygon) -> list[float]:
            return [x * ahead[0] + y * ahead[1] for x, y in shapely.get_coordinates(area)]

        front = max(along(shapes.footprint(self._things.models[reference.model], reference.pose)))
        back = min(along(shapes.footprint(self._things.models[target.model], pose)))
        way = front + self._kitchen.placing.gap - back
        x, y, z = pose.position
        return Pose((x + way * ahead[0], y + way * ahead[1], z), pose.orientation)

    def _in_corridor(
        self, model: ObjectModel, before: Pose, pose: Pose, reference: ObjectState, others: Sequence[Obstacle]
    ) -> str | None:
        """Return the first thing in the way of one that slides from a pose to another one; None if there is none."""
        swept = shapely.union_all([shapes.footprint(model, before), shapes.footprint(model, pose)]).convex_hull
        for other in others:
            if other.name != reference.name and shapely.distance(other.area, swept) < self._kitchen.placing.gap:
                return other.name
        return None

    # -- joints -----------------------------------------------------------------------------------

    def joint_way(self, instruction: Instruction, scene: Scene) -> JointWay:
        """Return how to move the joint that an instruction is about.

        Raises:
            NoPlan: there is no way; the text has the reason.
        """
        found = self._ways(replace(instruction, text="", segments=(), meant=""), Scene(scene.objects))
        if isinstance(found, Infeasible):
            raise NoPlan(found.reason)
        return found

    def _new_way(self, instruction: Instruction, scene: Scene) -> JointWay | Infeasible:
        try:
            self._check(instruction, scene)
            return self._way_of_joint(instruction, scene)
        except NoPlan as error:
            return Infeasible(str(error))

    def _way_of_joint(self, instruction: Instruction, scene: Scene) -> JointWay:
        atom, p = atom_of(instruction), self._kitchen.moving
        (name,) = atom.arguments
        part = self._things.parts[scene[name].model]
        joint, now = part.joint, self._things.position(scene, name)
        goal = self._goal_position(joint, STATES[atom.predicate])
        others = self.obstacles(scene, self._own(scene, name))
        reason = f"{words(name)} has no grasp"
        for grasp in part.grasps:
            if grasp.width + self._kitchen.hand.slack > self._kitchen.hand.opening:
                continue
            whole = scene[whole_of(name)].pose
            ways = [JointWay(name, joint, whole, grasp, turn, goal, p.before, p.height) for turn in range(grasp.turns)]
            way = min(ways, key=lambda way: max(_bend(way.tool(now)), _bend(way.tool(goal))))
            blocking = self.blocking(way, now, others)
            if blocking is None:
                return replace(way, path=self._path(way, now))
            reason = f"{words(blocking)} is in the way of the hand at {words(name)}"
        raise NoPlan(reason)

    def _goal_position(self, joint: Joint, state: str) -> float:
        """Return the position to which a joint is moved so that it is well in a state; 0 if that has it [m, or rad]."""
        wanted = next(known for known in joint.states if known.name == state)
        if joint.has(state, 0.0):
            return 0.0
        low, high = max(wanted.least, joint.range[0]), min(wanted.greatest, joint.range[1])
        share = self._kitchen.moving.inside
        if wanted.least > joint.range[0]:
            return low + share * (high - low)
        return high - share * (high - low)

    def _own(self, scene: Scene, name: str) -> Collection[str]:
        """Return what is no obstacle for the hand at a handle: its object, and the parts of that which are not out."""
        parts = self._things.parts_of(scene, whole_of(name))
        return {name, whole_of(name), *(part for part in parts if self._things.position(scene, part) <= OUT)}

    def blocking(self, way: JointWay, now: float, others: Sequence[Obstacle]) -> str | None:
        """Return the first obstacle in the corridor of the hand along the whole way of the handle; None if free."""
        p = self._kitchen.moving
        for position in self._positions(way, now):
            tool = way.tool(position)
            behind = rotate(tool.orientation, (0.0, 0.0, -1.0))
            if behind[2] > math.sqrt(0.5):
                corridor = shapely.Point(tool.position[:2]).buffer(p.corridor)
            else:
                far = [a + (p.before + p.length) * b for a, b in zip(tool.position, behind, strict=True)]
                corridor = shapely.LineString([tool.position[:2], far[:2]]).buffer(p.corridor, cap_style="flat")
            lowest = tool.position[2] - p.corridor
            for obstacle in others:
                if obstacle.top > lowest and corridor.intersects(obstacle.area):
                    return obstacle.name
        return None

    def _positions(self, way: JointWay, now: float) -> list[float]:
        """Return the positions of the joint on its way, a step of the handle apart, from the present to the goal."""
        travel = way.joint.pose(now).distance_to(way.joint.pose(way.goal))
        count = max(math.ceil(travel / self._kitchen.moving.step), 4)
        return [now + (way.goal - now) * k / count for k in range(count + 1)]

    def _path(self, way: JointWay, now: float) -> tuple[tuple[float, float, float], ...]:
        start = self._kitchen.start
        before, after = way.tool(now, way.before).position, way.tool(way.goal, way.before).position
        along = [way.tool(position).position for position in self._positions(way, now)]
        over = (before[0], before[1], max(way.height, before[2]))
        return (start, over, before, *along, after)


def _raised(pose: Pose, by: float) -> Pose:
    x, y, z = pose.position
    return Pose((x, y, z + by), pose.orientation)


def _bend(tool: Pose) -> float:
    """Return the angle by which the hand is turned from where a wrist bends least [rad].

    There its x axis points up, or, if the tool points down, away from the robot.
    """
    x, _, z = rotate(tool.orientation, (1.0, 0.0, 0.0))
    return math.acos(min(max(x, z, -1.0), 1.0))
