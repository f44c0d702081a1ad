"""ΔL, ΔLB, ΔS and ΔSB for a robot that is sent along a path, each with the planner's proof (seed 000, 6.1).

All act on the instruction of the unperturbed instance and on the actual scene, with the robot at the start pose
of the unperturbed instance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from robocontrast_ros.domain import Instruction, NotApplicable, Perturbed, Pose, Scene, TestInstance
from robocontrast_ros.domain.products import norm
from robocontrast_ros.tasks.navigation.grammar import LAST
from robocontrast_ros.tasks.navigation.language import VisitLanguage
from robocontrast_ros.tasks.navigation.parameters import NavigationParameters
from robocontrast_ros.tasks.navigation.placing import has_room
from robocontrast_ros.tasks.navigation.planner import RoutePlanner
from robocontrast_ros.tasks.navigation.routes import Point, Route, frechet_distance, path_length
from robocontrast_ros.tasks.plans import NoPlan
from robocontrast_ros.tasks.protocol import Answer, Infeasible, Task
from robocontrast_ros.tasks.proven import Case, ProvenNeighbourhood

TOUCHING = 1e-6
"""Distance beyond the edge of free space up to which a path counts as free [m]."""

ASIDE = 0.3
"""Greatest distance of an obstacle beside the path, along x and y [m]."""

REWORDED = "the meaning and the expected path stay"
REDIRECTED = "the first half of the path stays the way to the first place, the second half becomes another"
STAYS = "the expected path stays, and stays free"
CHANGES = "the path before no longer fulfils the instruction, and the expected path is another"


class VisitNeighbourhood(ProvenNeighbourhood):
    """Changes of instructions to visit two places, and of their apartments.

    The ``before`` of a case is the expected path in its scene.
    """

    reworded = REWORDED

    def __init__(
        self, task: Task, parameters: NavigationParameters, planner: RoutePlanner, language: VisitLanguage
    ) -> None:
        """Take the task, whose instances are made, and its parts."""
        super().__init__(task)
        self._parameters, self._planner, self._language = parameters, planner, language
        self._numbers = parameters.perturbing

    def _case(self, base: TestInstance, scene: Scene) -> Case:
        """Return the case to change; the robot starts at the pose of the unperturbed instance.

        Raises:
            NoPlan: there is no path.
        """
        start = replace(scene, robot=base.scene.robot, contacts=(), carried=())
        before = self._planner.route(base.instruction, start)
        if isinstance(before, Infeasible):
            raise NoPlan(f"there is no path to compare with: {before.reason}")
        return Case(base, start, before)

    def _compared(self, case: Case, after: TestInstance) -> dict[str, float]:
        old, new = case.before, self._planner.route(after.instruction, after.scene)
        return {
            "path_before_m": old.length,
            "path_after_m": new.length,
            "frechet_m": frechet_distance(old.path, new.path),
        }

    # -- words ------------------------------------------------------------------------------------

    def _redirected(self, case: Case, rng: np.random.Generator) -> Answer:
        numbers, base, scene, before = self._numbers, case.base, case.scene, case.before
        destinations = self.destinations(base.instruction, scene)
        for index in rng.permutation(len(destinations)):
            instruction = self._task.rewording.reword(base.instruction, {LAST: destinations[index]}, scene, rng)
            after = self._planner.route(instruction, scene)
            if isinstance(after, Infeasible) or not _halves(after, numbers.half):
                continue
            detour = self._detour(case, instruction, after)
            apart = frechet_distance(before.second_half, after.second_half)
            missed = min(
                self._misses(before.path[-1], instruction, scene),
                self._misses(after.path[-1], base.instruction, scene),
            )
            if detour > numbers.detour or apart < numbers.other_end or missed < numbers.missed_by:
                continue
            note = f"'{base.instruction.text}' became '{instruction.text}'"
            measures = {"detour_m": detour, "second_half_frechet_m": apart, "missed_by_m": missed}
            found = self._proven(case, REDIRECTED, instruction, scene, note, **measures)
            if isinstance(found, Perturbed):
                return found
        return NotApplicable(
            "for no other place does the first half of the path stay and the second half become another"
        )

    def _detour(self, case: Case, instruction: Instruction, after: Route) -> float:
        """Return the excess of the path with the old first half over the shortest path [m]."""
        before = case.before
        there = replace(case.scene, robot=Pose.planar(*before.path[before.via]))
        onward = self._task.goals.goal(instruction, case.scene).distance(there)
        return path_length(before.first_half) + onward - after.length

    # -- objects: one is moved a little, the instruction stays to the letter ------------------------

    def _bystander_moved(self, case: Case, rng: np.random.Generator) -> Answer:
        numbers, base, scene, before = self._numbers, case.base, case.scene, case.before
        names = self._passive_objects(base.instruction, scene)
        if not names:
            return NotApplicable("the scene has no object to move that the instruction does not name")
        for _ in range(numbers.draws):
            name = names[rng.integers(len(names))]
            moved = scene.moved(name, _aside(scene[name].pose, numbers.scene_move, rng))
            if not self._has_room(name, moved) or not self._keeps_clear(before.path, moved):
                continue
            after = self._planner.route(base.instruction, moved)
            if isinstance(after, Infeasible) or abs(after.length - before.length) > numbers.same_path:
                continue
            if frechet_distance(before.path, after.path) > numbers.same_path:
                continue
            found = self._moved(case, STAYS, name, moved)
            if isinstance(found, Perturbed):
                return found
        return NotApplicable(f"none of {numbers.draws} small moves leaves the expected path as it is")

    def _moved_or_blocked(self, case: Case, rng: np.random.Generator) -> Answer:
        ways = [self._goal_moves, self._obstructions]
        for index in rng.permutation(len(ways)):
            candidates = ways[index](case, rng)
            # The least effort first.
            for _, name, moved in sorted(candidates, key=lambda c: c[0]):
                found = self._if_it_differs(case, name, moved)
                if isinstance(found, Perturbed):
                    return found
        return NotApplicable("neither a small move of the goal nor an object in the way changes the path enough")

    def _goal_moves(self, case: Case, rng: np.random.Generator) -> Iterator[tuple[float, str, Scene]]:
        """Yield places for the goal that the earlier path does not reach."""
        numbers, instruction, scene = self._numbers, case.base.instruction, case.scene
        names = self._goal_objects(instruction, scene)
        for _ in range(numbers.draws):
            name = names[rng.integers(len(names))]
            pose = _aside(scene[name].pose, numbers.goal_move, rng)
            moved = scene.moved(name, pose)
            missed = self._misses(case.before.path[-1], instruction, moved)
            if missed >= numbers.missed_by and self._has_room(name, moved):
                yield scene[name].pose.distance_to(pose), name, moved

    def _obstructions(self, case: Case, rng: np.random.Generator) -> Iterator[tuple[float, str, Scene]]:
        """Yield places for passive objects at which the robot would drive into them."""
        numbers, scene, before = self._numbers, case.scene, case.before
        names = self._passive_objects(case.base.instruction, scene)
        least, greatest = numbers.goal_move
        for _ in range(numbers.draws if names else 0):
            name = names[rng.integers(len(names))]
            here = scene[name].pose
            x, y = _along(before.path, rng.uniform(0.0, before.length))
            x, y = x + rng.uniform(-ASIDE, ASIDE), y + rng.uniform(-ASIDE, ASIDE)
            pose = Pose((x, y, here.position[2]), here.orientation)
            moved = scene.moved(name, pose)
            distance = here.distance_to(pose)
            if least <= distance <= greatest and self._has_room(name, moved) and self._collides(before.path, moved):
                yield distance, name, moved

    def _if_it_differs(self, case: Case, name: str, moved: Scene) -> Perturbed | Infeasible | None:
        numbers, base, before = self._numbers, case.base, case.before
        after = self._planner.route(base.instruction, moved)
        if isinstance(after, Infeasible) or not _halves(after, numbers.half):
            return None
        if frechet_distance(before.path, after.path) < numbers.other_path:
            return None
        return self._moved(
            case,
            CHANGES,
            name,
            moved,
            missed_by_m=self._misses(before.path[-1], base.instruction, moved),
            path_before_blocked=float(self._collides(before.path, moved)),
        )

    # -- routes, and the things beside them ----------------------------------------------------------

    def destinations(self, instruction: Instruction, scene: Scene) -> tuple[str, ...]:
        """Return the places that the instruction does not name and at which it could end."""
        there = self._planner.named(instruction)
        return tuple(place for place in self._language.places(scene) if place not in there)

    def _goal_objects(self, instruction: Instruction, scene: Scene) -> tuple[str, ...]:
        """Return the names of the objects that are the last place."""
        _, last = self._planner.named(instruction)
        return tuple(o.name for o in scene if o.model == last)

    def _passive_objects(self, instruction: Instruction, scene: Scene) -> tuple[str, ...]:
        """Return the names of the objects that a person can carry and that the instruction does not name."""
        places, furniture = self._planner.named(instruction), self._parameters.furniture
        return tuple(
            o.name for o in scene if o.model not in places and furniture[o.model].mass <= self._numbers.carried
        )

    def _has_room(self, name: str, scene: Scene) -> bool:
        """Return whether an object is clear of the others and the walls, and the robot's pose is free."""
        plan, shapes, gap = self._planner.floor_plan(scene), self._planner.shapes, self._numbers.gap
        others = [shape for other, shape in plan.footprints.items() if other != name]
        return has_room(plan.footprints[name], others, shapes, gap, gap) and (
            scene.robot is None or plan.gap([scene.robot.xy]) >= shapes.clearance
        )

    def _collides(self, path: Sequence[Point], scene: Scene) -> bool:
        """Return whether the base would touch something on a path."""
        return self._planner.floor_plan(scene).gap(path) < self._parameters.base.radius

    def _keeps_clear(self, path: Sequence[Point], scene: Scene) -> bool:
        """Return whether the base keeps the planner's distance from everything on a path."""
        return self._planner.floor_plan(scene).gap(path) >= self._parameters.base.clearance - TOUCHING

    def _misses(self, point: Point, instruction: Instruction, scene: Scene) -> float:
        """Return the straight distance of a point from the region of the last place [m]."""
        _, last = self._planner.named(instruction)
        return self._planner.floor_plan(scene).region(last).excess(point)


def _halves(route: Route, least: float) -> bool:
    """Return whether both halves of a path are at least this long [m]."""
    return min(path_length(route.first_half), path_length(route.second_half)) >= least


def _aside(pose: Pose, bounds: tuple[float, float], rng: np.random.Generator) -> Pose:
    """Return a pose a drawn distance [m] away, in a drawn direction, turned as before."""
    distance, angle = rng.uniform(*bounds), rng.uniform(-math.pi, math.pi)
    x, y, z = pose.position
    return Pose((x + distance * math.cos(angle), y + distance * math.sin(angle), z), pose.orientation)


def _along(path: tuple[Point, ...], distance: float) -> Point:
    """Return the point of a path at a distance from its start [m]."""
    points = np.asarray(path)
    travelled = np.concatenate([[0.0], np.cumsum(norm(np.diff(points, axis=0)))])
    x, y = (float(np.interp(distance, travelled, points[:, i])) for i in (0, 1))
    return x, y
