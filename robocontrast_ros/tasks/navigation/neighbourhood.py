"""What ΔL, ΔLB, ΔS and ΔSB are for a robot that is sent along a path, each with the planner's proof (seed 000, 6.1).

All act on the instruction of the unperturbed instance and on the actual scene, with the robot at the start pose
of the unperturbed instance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from robocontrast_ros.domain import Instruction, NotApplicable, Perturbed, Pose, Proof, Scene, TestInstance
from robocontrast_ros.domain.products import norm
from robocontrast_ros.tasks.navigation.grammar import LAST
from robocontrast_ros.tasks.navigation.planner import VisitRoutes
from robocontrast_ros.tasks.navigation.routes import Point, Route, frechet_distance, path_length
from robocontrast_ros.tasks.protocol import Infeasible, Task

ASIDE = 0.3
"""An obstacle is placed at most this far beside the path, along x and y [m]."""

REWORDED = "the meaning and the expected path stay"
REDIRECTED = "the first half of the path stays the way to the first place, the second half becomes another"
STAYS = "the expected path stays, and stays free"
CHANGES = "the path before no longer fulfils the instruction, and the expected path is another"


@dataclass(frozen=True)
class _Case:
    """An instance to be perturbed.

    Attributes:
        base: the unperturbed test instance.
        scene: the actual scene, with the robot at the start pose of the base instance.
        before: the expected path in it.
    """

    base: TestInstance
    scene: Scene
    before: Route


class VisitNeighbourhood:
    """Changes of instructions to visit two places, and of the apartments that they are given in.

    Attributes:
        routes: the ways of the robot.
    """

    def __init__(self, task: Task, routes: VisitRoutes) -> None:
        """Take the task, whose language and instances are used, and its ways."""
        self._task, self.routes = task, routes

    def reword(self, base: TestInstance, scene: Scene, rng: np.random.Generator) -> Perturbed | NotApplicable:
        """Take another sentence form and other nouns for the same two places."""
        return self._tried(self._reworded, base, scene, rng)

    def redirect(self, base: TestInstance, scene: Scene, rng: np.random.Generator) -> Perturbed | NotApplicable:
        """Let the instruction end at another place."""
        return self._tried(self._redirected, base, scene, rng)

    def move_bystander(self, base: TestInstance, scene: Scene, rng: np.random.Generator) -> Perturbed | NotApplicable:
        """Move an object that the instruction does not name, without effect on the path."""
        return self._tried(self._bystander_moved, base, scene, rng)

    def move_or_block(self, base: TestInstance, scene: Scene, rng: np.random.Generator) -> Perturbed | NotApplicable:
        """Move the goal object away, or another object into the path."""
        return self._tried(self._moved_or_blocked, base, scene, rng)

    def _tried(
        self,
        change: Callable[[_Case, np.random.Generator], Perturbed | NotApplicable],
        base: TestInstance,
        scene: Scene,
        rng: np.random.Generator,
    ) -> Perturbed | NotApplicable:
        """Change the instance; the robot starts where the unperturbed instance says."""
        start = replace(scene, robot=base.scene.robot, contacts=(), carried=())
        before = self.routes.route(base.instruction, start)
        if isinstance(before, Infeasible):
            return NotApplicable(f"there is no path to compare with: {before.reason}")
        try:
            return change(_Case(base, start, before), rng)
        except ValueError as reason:
            return NotApplicable(str(reason))

    def _proven(
        self, case: _Case, claim: str, instruction: Instruction, scene: Scene, note: str, **measures: float
    ) -> Perturbed | Infeasible:
        """Return the instance with its proof: the common measures and further ones; or why there is none."""
        before = case.before
        instance = self._task.make_instance(case.base.instance_id, instruction, scene)
        if isinstance(instance, Infeasible):
            return instance
        after = self.routes.route(instruction, scene)
        common = {
            "path_before_m": before.length,
            "path_after_m": after.length,
            "frechet_m": frechet_distance(before.path, after.path),
        }
        proof = Proof(claim, tuple({**common, **measures}.items()))
        return Perturbed(replace(instance, proof=proof), note)

    # -- words ------------------------------------------------------------------------------------

    def _reworded(self, case: _Case, rng: np.random.Generator) -> Perturbed | NotApplicable:
        task, base, scene = self._task, case.base, case.scene
        instruction = task.rewording.rephrase(base.instruction, scene, rng)
        understood = task.language.parse(instruction.text, scene)
        if understood.arguments != base.instruction.arguments:
            raise ValueError(f"'{instruction.text}' is understood as {understood.arguments}")
        said, says = (set(i.text.lower().split()) for i in (base.instruction, instruction))
        note = f"'{base.instruction.text}' became '{instruction.text}'"
        shared = len(said & says) / len(says)
        found = self._proven(case, REWORDED, instruction, scene, note, shared_words=shared)
        if isinstance(found, Infeasible):
            return NotApplicable(f"'{instruction.text}': {found.reason}")
        return found

    def _redirected(self, case: _Case, rng: np.random.Generator) -> Perturbed | NotApplicable:
        routes, base, scene, before = self.routes, case.base, case.scene, case.before
        numbers = routes.perturbing
        destinations = routes.destinations(base.instruction, scene)
        for index in rng.permutation(len(destinations)):
            instruction = self._task.rewording.reword(base.instruction, {LAST: destinations[index]}, scene, rng)
            after = routes.route(instruction, scene)
            if isinstance(after, Infeasible) or not _halves(after, numbers.half):
                continue
            detour = self._detour(case, instruction, after)
            apart = frechet_distance(before.second_half, after.second_half)
            missed = min(
                routes.misses(before.path[-1], instruction, scene),
                routes.misses(after.path[-1], base.instruction, scene),
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

    def _detour(self, case: _Case, instruction: Instruction, after: Route) -> float:
        """Return how much longer than the shortest path the one with the old first half is [m]."""
        before = case.before
        there = replace(case.scene, robot=Pose.planar(*before.path[before.via]))
        onward = self._task.goals.goal(instruction, case.scene).distance(there)
        return path_length(before.first_half) + onward - after.length

    # -- objects: one is moved a little, the instruction stays to the letter ------------------------

    def _moved(self, case: _Case, claim: str, name: str, after: Scene, **measures: float) -> Perturbed | Infeasible:
        distance = case.scene[name].pose.distance_to(after[name].pose)
        note = f"moved {name} by {distance:.2f} m"
        return self._proven(case, claim, case.base.instruction, after, note, moved_m=distance, **measures)

    def _bystander_moved(self, case: _Case, rng: np.random.Generator) -> Perturbed | NotApplicable:
        routes, base, scene, before = self.routes, case.base, case.scene, case.before
        numbers, names = routes.perturbing, routes.passive_objects(base.instruction, scene)
        if not names:
            return NotApplicable("the scene has no object to move that the instruction does not name")
        for _ in range(numbers.draws):
            name = names[rng.integers(len(names))]
            moved = scene.moved(name, _aside(scene[name].pose, numbers.scene_move, rng))
            if not routes.has_room(name, moved) or not routes.keeps_clear(before.path, moved):
                continue
            after = routes.route(base.instruction, moved)
            if isinstance(after, Infeasible) or abs(after.length - before.length) > numbers.same_path:
                continue
            if frechet_distance(before.path, after.path) > numbers.same_path:
                continue
            found = self._moved(case, STAYS, name, moved)
            if isinstance(found, Perturbed):
                return found
        return NotApplicable(f"none of {numbers.draws} small moves leaves the expected path as it is")

    def _moved_or_blocked(self, case: _Case, rng: np.random.Generator) -> Perturbed | NotApplicable:
        ways = [self._goal_moves, self._obstructions]
        for index in rng.permutation(len(ways)):
            candidates = ways[index](case, rng)
            # The least effort first.
            for _, name, moved in sorted(candidates, key=lambda c: c[0]):
                found = self._if_it_differs(case, name, moved)
                if isinstance(found, Perturbed):
                    return found
        return NotApplicable("neither a small move of the goal nor an object in the way changes the path enough")

    def _goal_moves(self, case: _Case, rng: np.random.Generator) -> Iterator[tuple[float, str, Scene]]:
        """Yield places for the goal that the path before does not reach."""
        routes, instruction, scene = self.routes, case.base.instruction, case.scene
        names = routes.goal_objects(instruction, scene)
        for _ in range(routes.perturbing.draws):
            name = names[rng.integers(len(names))]
            pose = _aside(scene[name].pose, routes.perturbing.goal_move, rng)
            moved = scene.moved(name, pose)
            missed = routes.misses(case.before.path[-1], instruction, moved)
            if missed >= routes.perturbing.missed_by and routes.has_room(name, moved):
                yield scene[name].pose.distance_to(pose), name, moved

    def _obstructions(self, case: _Case, rng: np.random.Generator) -> Iterator[tuple[float, str, Scene]]:
        """Yield places for passive objects in which the robot would drive into them."""
        routes, scene, before = self.routes, case.scene, case.before
        names = routes.passive_objects(case.base.instruction, scene)
        least, greatest = routes.perturbing.goal_move
        for _ in range(routes.perturbing.draws if names else 0):
            name = names[rng.integers(len(names))]
            here = scene[name].pose
            x, y = _along(before.path, rng.uniform(0.0, before.length))
            x, y = x + rng.uniform(-ASIDE, ASIDE), y + rng.uniform(-ASIDE, ASIDE)
            pose = Pose((x, y, here.position[2]), here.orientation)
            moved = scene.moved(name, pose)
            distance = here.distance_to(pose)
            if least <= distance <= greatest and routes.has_room(name, moved) and routes.collides(before.path, moved):
                yield distance, name, moved

    def _if_it_differs(self, case: _Case, name: str, moved: Scene) -> Perturbed | Infeasible | None:
        routes, base, before = self.routes, case.base, case.before
        numbers = routes.perturbing
        after = routes.route(base.instruction, moved)
        if isinstance(after, Infeasible) or not _halves(after, numbers.half):
            return None
        if frechet_distance(before.path, after.path) < numbers.other_path:
            return None
        return self._moved(
            case,
            CHANGES,
            name,
            moved,
            missed_by_m=routes.misses(before.path[-1], base.instruction, moved),
            path_before_blocked=float(routes.collides(before.path, moved)),
        )


def _halves(route: Route, least: float) -> bool:
    """Tell whether both halves of a path are at least this long [m]."""
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
