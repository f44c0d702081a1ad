"""Scenes of problems: fixtures and things in their regions, joints in their states, all at rest."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import shapely
from shapely import Polygon

from robocontrast_ros.domain import PART, ObjectState, Pose, Scene
from robocontrast_ros.objects import ObjectModel
from robocontrast_ros.objects.joints import Joint, part_pose
from robocontrast_ros.objects.settling import DEEPEST
from robocontrast_ros.tasks.bddl import Atom, Flaw, Problem, Region
from robocontrast_ros.tasks.bddl.kitchen import TypesRecord
from robocontrast_ros.tasks.bddl.problem import IN, ON
from robocontrast_ros.tasks.kitchen.library import Things
from robocontrast_ros.tasks.kitchen.parameters import KitchenParameters
from robocontrast_ros.tasks.kitchen.predicates import STATES
from robocontrast_ros.tasks.tabletop import shapes

Settle = Callable[[Scene], Scene | None]
"""Returns a scene after it has come to rest; None if it does not, or something is inside another thing then."""


class NoScene(Exception):
    """No scene was drawn.

    Attributes:
        flaw: what of the problem is the reason.
    """

    def __init__(self, flaw: Flaw) -> None:
        super().__init__(flaw.expected)
        self.flaw = flaw


@dataclass(frozen=True)
class Names:
    """The names of a problem in our scenes.

    Attributes:
        problem: the problem.
        types: its types -> our models.
    """

    problem: Problem
    types: TypesRecord

    def model(self, name: str) -> str:
        """Return the model of a fixture or an object."""
        kind = self.problem.type_of(name)
        known = self.types.fixtures if name in self.problem.fixtures else self.types.objects
        return known[kind].model

    def thing(self, name: str, things: Things) -> str:
        """Return the name, in a scene, of a fixture, an object or a site: ``OBJECT/PART`` if it is a moving part."""
        region = self.problem.named_regions.get(name)
        whole, part = (name, "") if region is None else (region.target, region.name)
        fixture = self.types.fixtures.get(self.problem.type_of(whole))
        if fixture is None:
            return whole
        site = fixture.sites[part].part if part in fixture.sites else fixture.moves if not part else ""
        return f"{whole}{PART}{site}" if f"{fixture.model}{PART}{site}" in things.parts else whole

    def atom(self, atom: Atom, things: Things) -> Atom:
        """Return an atom about the things of a scene."""
        names = tuple(self.thing(name, things) for name in atom.arguments)
        alike = len({self.problem.type_of(name) for name in atom.arguments}) < len(names)
        # LIBERO says On of a bowl that stands in another one.
        return Atom("Stack" if atom.predicate == "On" and alike else atom.predicate, names)


@dataclass
class _Drawn:
    """A scene that is being drawn: poses, positions of joints, and the area of the table that each thing covers."""

    poses: dict[str, Pose] = field(default_factory=dict)
    joints: dict[str, float] = field(default_factory=dict)
    covered: dict[str, Polygon] = field(default_factory=dict)


class ProblemScenes:
    """Draws scenes of problems."""

    def __init__(self, parameters: KitchenParameters, things: Things, types: TypesRecord, settle: Settle) -> None:
        """Take the parts."""
        self._p, self._things, self._types, self._settle = parameters, things, types, settle

    def draw(self, problem: Problem, rng: np.random.Generator) -> Scene:
        """Draw a scene in which ``init`` holds, at rest.

        Positions are uniform over the rectangles of a region, and so is the yaw over its turns; a thing without turns
        has any yaw. The position of a joint is uniform over its state.

        Raises:
            NoScene: there is no free place for a thing, or one rolls on or goes too far.
        """
        names, drawn = Names(problem, self._types), _Drawn()
        self._draw_joints(names, drawn, rng)
        places = {atom.arguments[0]: atom for atom in problem.init if atom.predicate in (ON, IN)}
        for name in problem.fixtures:
            region = problem.named_regions.get(places[name].arguments[1]) if name in places else None
            if region is not None:
                self._place(names, name, region, drawn, rng)
        waiting = [name for name in problem.objects if name in places]
        # A thing is put on or into another one after that has its place.
        for name in sorted(waiting, key=lambda name: _depth(problem, places, name)):
            place = places[name].arguments[1]
            region = problem.named_regions.get(place)
            if region is not None and region.ranges:
                self._place(names, name, region, drawn, rng)
            else:
                self._put(names, name, names.thing(place, self._things), places[name].predicate, drawn, rng)
        return self._settled(problem, self._scene(names, drawn, rng))

    def place(self, problem: Problem, name: str, scene: Scene, rng: np.random.Generator) -> Pose:
        """Draw the place of one thing where ``init`` says it is; all others are where they are in a scene.

        Raises:
            NoScene: there is no free place.
        """
        names, drawn = Names(problem, self._types), _Drawn()
        for state in scene:
            if state.model in self._things.parts:
                drawn.joints[state.name] = self._things.position(scene, state.name)
            elif problem.type_of(state.name):
                drawn.poses[state.name] = state.pose
        for other, pose in drawn.poses.items():
            drawn.covered[other] = self._area(other, self._things.models[scene[other].model], pose, drawn)
        atom = next(a for a in problem.init if a.predicate in (ON, IN) and a.arguments[0] == name)
        region = problem.named_regions.get(atom.arguments[1])
        if region is not None and region.ranges:
            self._place(names, name, region, drawn, rng)
        else:
            self._put(names, name, names.thing(atom.arguments[1], self._things), atom.predicate, drawn, rng)
        return drawn.poses[name]

    def _draw_joints(self, names: Names, drawn: _Drawn, rng: np.random.Generator) -> None:
        for atom in names.problem.init:
            if atom.predicate not in STATES:
                continue
            name = names.thing(atom.arguments[0], self._things)
            whole, _, part = name.rpartition(PART)
            joint = self._things.parts[f"{names.model(whole)}{PART}{part}"].joint
            drawn.joints[name] = place_in_state(joint, STATES[atom.predicate], rng)

    def _place(self, names: Names, name: str, region: Region, drawn: _Drawn, rng: np.random.Generator) -> None:
        """Draw the place of a fixture or a thing in a region of the table."""
        model = self._things.models[names.model(name)]
        gap = self._p.placing.gap
        low, high = region.yaw
        for _ in range(self._p.drawing.place_draws):
            x0, y0, x1, y1 = region.ranges[int(rng.integers(len(region.ranges)))]
            x, y = rng.uniform(x0, x1), rng.uniform(y0, y1)
            turned = rng.uniform(low, high) if model.fixed or high > low else rng.uniform(-math.pi, math.pi)
            pose = Pose.planar(x, y, turned)
            area = self._area(name, model, pose, drawn)
            taken = np.array(list(drawn.covered.values()), dtype=object)
            if not drawn.covered or (shapely.distance(area, taken) >= gap).all():
                drawn.poses[name] = pose
                drawn.covered[name] = area
                return
        nearest = min(drawn.covered, key=lambda other: shapely.distance(area, drawn.covered[other]))
        expected = f"a place with room for '{name}', {1000 * gap:g} mm beside '{nearest}', which stands there"
        where = ("regions", names.problem.regions.index(region))
        raise NoScene(Flaw(where, region.full_name, expected, "Make the region larger, or move it away."))

    def _area(self, name: str, model: ObjectModel, pose: Pose, drawn: _Drawn) -> Polygon:
        """Return the area that a thing covers, with its drawers and doors where they are."""
        areas = [shapes.footprint(model, pose)]
        for part in model.joints:
            there = part_pose(pose, part.joint, drawn.joints.get(f"{name}{PART}{part.name}", 0.0))
            areas.append(shapes.placed(part.footprint, there))
        return shapely.union_all(areas).convex_hull

    def _put(
        self, names: Names, name: str, place: str, predicate: str, drawn: _Drawn, rng: np.random.Generator
    ) -> None:
        """Draw the place of a thing on or in another one."""
        whole, _, part = place.rpartition(PART)
        holder = self._things.models[f"{names.model(whole)}{PART}{part}" if whole else names.model(place)]
        where = self._pose_of(names, place, drawn)
        hollow = holder.cavity is not None and (predicate == "In" or holder.top is None)
        area, ground = (holder.cavity.polygon, holder.cavity.floor) if hollow else (holder.top.polygon, holder.top.z)
        room = shapes.placed(area, where).buffer(-self._p.placing.inset)
        model, taken = self._things.models[names.model(name)], []
        for other, pose in drawn.poses.items():
            if other in names.problem.objects and pose.position[2] >= where.position[2] + ground - DEEPEST:
                taken.append(shapes.footprint(self._things.models[names.model(other)], pose))
        left, low, right, high = room.bounds if not room.is_empty else (0.0, 0.0, 0.0, 0.0)
        for attempt in range(self._p.drawing.place_draws):
            x, y = rng.uniform(left, right), rng.uniform(low, high)
            if attempt == 0:
                x, y = room.centroid.x, room.centroid.y
            pose = Pose.planar(x, y, rng.uniform(-math.pi, math.pi), where.position[2] + ground)
            area = shapes.footprint(model, pose)
            fits = room.covers(area) if hollow else room.covers(shapely.Point(x, y))
            if fits and not any(shapely.distance(area, other) < self._p.placing.gap for other in taken):
                drawn.poses[name] = pose
                return
        where, atom = _place_of(names.problem, name)
        expected = f"a place with room for '{name}'"
        raise NoScene(Flaw(where, atom, expected, "Name another place, or take something out of this one."))

    def _pose_of(self, names: Names, name: str, drawn: _Drawn) -> Pose:
        whole, _, part = name.rpartition(PART)
        if not whole:
            return drawn.poses[name]
        joint = self._things.parts[f"{names.model(whole)}{PART}{part}"].joint
        return part_pose(drawn.poses[whole], joint, drawn.joints.get(name, 0.0))

    def _scene(self, names: Names, drawn: _Drawn, rng: np.random.Generator) -> Scene:
        """Return the scene: its background, fixtures with their parts, and the things in a drawn order."""
        standing = [kinds[int(rng.integers(len(kinds)))] for kinds in self._p.fixtures.kinds.values()]
        objects = [ObjectState(name, name, Pose()) for name in standing]
        for name in names.problem.fixtures:
            if name not in drawn.poses:
                continue
            model = names.model(name)
            objects.append(ObjectState(name, model, drawn.poses[name]))
            for part in self._things.models[model].joints:
                own = f"{name}{PART}{part.name}"
                pose = part_pose(drawn.poses[name], part.joint, drawn.joints.get(own, 0.0))
                objects.append(ObjectState(own, f"{model}{PART}{part.name}", pose))
        movable = [name for name in names.problem.objects if name in drawn.poses]
        for index in rng.permutation(len(movable)):
            name = movable[index]
            objects.append(ObjectState(name, names.model(name), drawn.poses[name]))
        return Scene(tuple(objects))

    def _settled(self, problem: Problem, scene: Scene) -> Scene:
        rested = self._settle(scene)
        if rested is None:
            raise NoScene(Flaw(("init",), "a scene that does not come to rest", "things that stay where they are put"))
        ways = {a.name: a.pose.distance_to(b.pose) for a, b in zip(scene, rested, strict=True)}
        name = max(ways, key=ways.__getitem__)
        if ways[name] <= self._p.drawing.settled:
            return rested
        where, atom = _place_of(problem, name)
        most = f"by at most {1000 * self._p.drawing.settled:g} mm"
        expected = f"a place where '{name}' stays, {most}: it goes {1000 * ways[name]:.0f} mm until it is at rest"
        raise NoScene(Flaw(where, atom, expected, "Name another place."))


def _place_of(problem: Problem, name: str) -> tuple[tuple[str | int, ...], str]:
    """Return where ``init`` says the place of a thing, and its atom there."""
    for index, atom in enumerate(problem.init):
        if atom.predicate in (ON, IN) and atom.arguments[0] == name:
            return ("init", index), str(atom)
    return ("init",), name


def _depth(problem: Problem, places: Mapping[str, Atom], name: str) -> int:
    """Return the number of things on which a thing stands, one on the other."""
    depth, at = 0, name
    while at in places and depth <= len(places):
        place = places[at].arguments[1]
        region = problem.named_regions.get(place)
        at = region.target if region is not None else place
        depth += 1
    return depth


def place_in_state(joint: Joint, state: str, rng: np.random.Generator) -> float:
    """Draw a position of a joint in a state [m, or rad]."""
    wanted = next(known for known in joint.states if known.name == state)
    return float(rng.uniform(max(wanted.least, joint.range[0]), min(wanted.greatest, joint.range[1])))
