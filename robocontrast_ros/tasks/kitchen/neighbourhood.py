"""ΔL, ΔLB, ΔS and ΔSB in the kitchen, each with the planner's proof (docs/kitchen_perturbations.md).

All act on the instruction of the unperturbed instance and on the actual scene. One thing is handled: a thing that
stands free is put elsewhere on the table, or one part is moved on its joint, as far as nothing is in its way. Fixtures
stay where they are, and a part that holds something is not moved.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import shapely

from robocontrast_ros.domain import (
    Instruction,
    NotApplicable,
    ObjectState,
    Perturbed,
    Pose,
    Scene,
    TestInstance,
    whole_of,
)
from robocontrast_ros.objects.joints import part_pose
from robocontrast_ros.tasks.kitchen.goals import KitchenGoals
from robocontrast_ros.tasks.kitchen.handling import contents
from robocontrast_ros.tasks.kitchen.language import KitchenLanguage
from robocontrast_ros.tasks.kitchen.library import Things
from robocontrast_ros.tasks.kitchen.parameters import KitchenParameters
from robocontrast_ros.tasks.kitchen.planner import FREE, JointWay, KitchenPlanner
from robocontrast_ros.tasks.kitchen.predicates import Predicates
from robocontrast_ros.tasks.kitchen.requests import carried, moves_joint, named, requests
from robocontrast_ros.tasks.plans import NoPlan, Plan
from robocontrast_ros.tasks.protocol import SOLVED, Answer, Infeasible, Task
from robocontrast_ros.tasks.proven import Case, ProvenNeighbourhood, shared_words
from robocontrast_ros.tasks.tabletop import shapes
from robocontrast_ros.tasks.tabletop.hand import HandRoom
from robocontrast_ros.tasks.tabletop.neighbourhood import HANGING, RESTING, ROUNDS, TOUCHING
from robocontrast_ros.tasks.tabletop.planner import HandlingPlan, words

REWORDED = "the meaning and the way of the hand stay"
REDIRECTED = "who does what was said before does not fulfil the instruction, and the other way round"
STAYS = "the words mean the same, and the way of the hand stays"
CHANGES = "the words mean the same, and the hand before misses the thing or the place, or something is in its way"

SWEPT = 5
"""Number of positions of a joint on its way at which its part has to be free of other things."""

TRIED = 10
"""Number of positions of a joint that are drawn at once."""

OVER = 0.06
"""Greatest distance by which a thing that stands in the region reaches over its edge [m]."""

Way = HandlingPlan | JointWay


@dataclass(frozen=True)
class _Case(Case):
    """An instance to be perturbed.

    Its ``before`` is the way in the scene; if there is none, or the instruction is fulfilled there, that of the base
    instance in its own scene.

    Attributes:
        hanging: whether the target is in the air in the scene.
    """

    hanging: bool = False


@dataclass(frozen=True)
class _Candidate:
    """A scene in which one thing was handled.

    Attributes:
        effort: distance of its move [m].
        name: of the thing.
        scene: with the thing moved.
        measures: those that show that the earlier way is wrong now.
    """

    effort: float
    name: str
    scene: Scene
    measures: Mapping[str, float]


class KitchenNeighbourhood(ProvenNeighbourhood):
    """Changes of instructions in the kitchen, and of their scenes; also moves one named thing, as ``Relocation``."""

    reworded = REWORDED

    def __init__(
        self,
        task: Task,
        parameters: KitchenParameters,
        things: Things,
        planner: KitchenPlanner,
        goals: KitchenGoals,
        predicates: Predicates,
        language: KitchenLanguage,
    ) -> None:
        """Take the task, whose instances are made, and its parts."""
        super().__init__(task)
        self._p, self._things = parameters, things
        self._planner, self._goals, self._predicates, self._language = planner, goals, predicates, language
        # The margins of touching, not those of the planner.
        self._room = HandRoom(replace(parameters.hand, margin=TOUCHING, above=0.0))
        self._region = parameters.region.box
        self._reached = self._region.buffer(OVER, join_style="mitre")

    def relocate(self, instruction: Instruction, name: str, scene: Scene, rng: np.random.Generator) -> Scene | None:
        """Return the scene with a thing, or a part on its joint, at another place in which the instruction makes sense.

        None if it is a fixture, or no place is found.
        """
        for turned in ROUNDS:
            for moved in self._elsewhere(name, scene, self._p.perturbing.named_move, turned, rng):
                if self._unclear(instruction, moved):
                    continue
                if not isinstance(self._task.make_instance("", instruction, moved), Infeasible):
                    return moved
        return None

    def _case(self, base: TestInstance, scene: Scene) -> _Case:
        """Return the case to change.

        Raises:
            NoPlan: a named thing is missing, a thing other than the target is in the air, or there is no plan even in
                the instance's own scene.
        """
        scene, reason = replace(scene, contacts=(), carried=()), ""
        for name in named(base.instruction):
            if name not in scene:
                raise NoPlan(f"{words(name)} is not there")
        hanging = self._hanging(scene)
        others = [name for name in hanging if name != named(base.instruction)[0]]
        if others:
            raise NoPlan(f"{words(others[0])} is in the air")
        try:
            before = self.way(base.instruction, scene)
            if self._goals.goal(base.instruction, scene).satisfied(scene):
                reason = SOLVED
        except NoPlan as error:
            reason = str(error)
        if hanging and not reason:
            reason = f"{words(hanging[0])} is in the air"
        if reason:
            before = self.way(base.instruction, base.scene)
        return _Case(base, scene, before, reason, bool(hanging))

    def _compared(self, case: Case, after: TestInstance) -> dict[str, float]:
        old, new = case.before, self.way(after.instruction, after.scene)
        return {
            "path_before_m": Plan(old.path, after.scene).length,
            "path_after_m": after.optimal_path_length,
            "grasp_apart_m": math.dist(_ends(old)[0], _ends(new)[0]),
            "end_apart_m": math.dist(_ends(old)[1], _ends(new)[1]),
        }

    # -- words ------------------------------------------------------------------------------------

    def _redirected(self, case: _Case, rng: np.random.Generator) -> Answer:
        """Ask for another part, thing or place; for another skill only in the instance's own scene."""
        said, scene = case.base.instruction, case.scene
        if case.hanging:
            return NotApplicable(case.reason)
        for options in self._other_requests(case):
            for index in rng.permutation(len(options)):
                wanted = options[index]
                missed = self._missed_both_ways(case, wanted)
                if missed is None:
                    continue
                try:
                    instruction = self._worded(said, wanted, scene, rng)
                except ValueError:
                    # No words name these alone.
                    continue
                if self._unclear(instruction, scene):
                    continue
                note = f"'{said.text}' became '{instruction.text}'"
                measures = {"missed_by_m": missed, "shared_words": shared_words(said.text, instruction.text)}
                found = self._proven(case, REDIRECTED, instruction, scene, note, **measures)
                if isinstance(found, Perturbed):
                    return found
        return NotApplicable("no other part, thing or place can be asked for")

    def _other_requests(self, case: _Case) -> Iterator[list[Instruction]]:
        """Yield other requests: first one other thing of the same family, then another family, about the same first."""
        said = case.base.instruction
        every = list(requests(case.scene, self._things))
        asked = dict(said.arguments)

        def others(wanted: Instruction) -> int:
            return sum(asked.get(role) != name for role, name in wanted.arguments)

        yield [w for w in every if w.family == said.family and others(w) == 1]
        if case.scene.objects != case.base.scene.objects:
            return
        further = [w for w in every if w.family != said.family]
        alike = [w for w in further if moves_joint(w) == moves_joint(said)]
        yield [w for w in alike if others(w) <= 1]
        yield [w for w in alike if others(w) > 1]
        yield [w for w in further if w not in alike]

    def _worded(self, said: Instruction, wanted: Instruction, scene: Scene, rng: np.random.Generator) -> Instruction:
        """Return another instruction in words: those of the earlier one for the same skill, else the usual ones.

        Raises:
            ValueError: there are no words.
        """
        if wanted.family == said.family:
            return self._language.reword(said, dict(wanted.arguments), scene, rng)
        return self._language.plainly(wanted, scene)

    def _missed_both_ways(self, case: _Case, wanted: Instruction) -> float | None:
        """Return how far the earlier way ends from the new request, and the new way from the earlier one: the less [m].

        None if there is no way, or one comes too close to fulfilling the other instruction. Where the earlier
        instruction is fulfilled already, the new way is judged in its own scene.
        """
        said, scene = case.base.instruction, case.scene
        own = case.base.scene if case.reason else scene
        try:
            ahead = self._distance(wanted, scene, said, case.before)
            if ahead < self._least(wanted):
                return None
            back = self._distance(said, own, wanted, self.way(wanted, scene))
        except ValueError:
            return None
        return min(ahead, back) if back >= self._least(said) else None

    def _least(self, instruction: Instruction) -> float:
        """Return the distance from which a request counts as missed [m]; a joint's states have their own bounds."""
        return math.ulp(0.0) if moves_joint(instruction) else self._p.perturbing.off_place

    def _distance(self, asked: Instruction, scene: Scene, done: Instruction, way: Way) -> float:
        """Return the distance from what is asked for after a way for another instruction [m]."""
        return self._goals.goal(asked, scene).distance(self._after(done, way, scene))

    # -- things -----------------------------------------------------------------------------------

    def _bystander_moved(self, case: _Case, rng: np.random.Generator) -> Answer:
        said, scene, p = case.base.instruction, case.scene, self._p.perturbing
        if case.reason:
            return NotApplicable(case.reason)
        names = [*self._bystanders(said, scene), *self._other_parts(said, scene)]
        if not names:
            return NotApplicable("nothing that the instruction does not name stands free or moves on a joint")
        for turned in ROUNDS:
            for index in rng.permutation(len(names)):
                name = names[index]
                for moved in self._elsewhere(name, scene, p.bystander_move, turned, rng):
                    if self._unclear(said, moved) or self._way_if_any(said, moved) != case.before:
                        continue
                    found = self._handled(case, STAYS, name, moved)
                    if isinstance(found, Perturbed):
                        return found
        return NotApplicable("no small move of what is not named leaves the way of the hand as it is")

    def _moved_or_blocked(self, case: _Case, rng: np.random.Generator) -> Answer:
        said = case.base.instruction
        # A thing in the air has to be put down.
        names = named(said)[:1] if case.hanging else named(said)
        ways = [partial(self._named_moves, case, name) for name in names]
        ways.append(partial(self._obstructions, case))
        order = rng.permutation(len(ways))
        for turned, index in itertools.product(ROUNDS, order):
            # The least effort first.
            for candidate in sorted(ways[index](turned, rng), key=lambda c: c.effort):
                if self._unclear(said, candidate.scene) or self._way_if_any(said, candidate.scene) == case.before:
                    continue
                found = self._handled(case, CHANGES, candidate.name, candidate.scene, **candidate.measures)
                if isinstance(found, Perturbed):
                    return found
        return NotApplicable("neither a move of what is named nor a thing in the way makes another way necessary")

    def _named_moves(self, case: _Case, name: str, turned: bool, rng: np.random.Generator) -> Iterator[_Candidate]:
        """Yield places for a named thing, or positions of a named part, that the earlier way misses."""
        said, scene, p = case.base.instruction, case.scene, self._p.perturbing
        target = named(said)[0]
        for moved in self._elsewhere(name, scene, p.named_move, turned, rng):
            # At the target's place after the trial before, the grasp may miss it wherever the reference goes.
            grasp_missed = self._beside(case.before, moved, target) if name == target else 0.0
            place_missed = 0.0 if moves_joint(said) else self._distance(said, moved, said, case.before)
            if grasp_missed >= p.off_grasp or (name != target and place_missed >= p.off_place):
                yield self._candidate(case, name, moved, grasp_missed, place_missed, 0.0)

    def _obstructions(self, case: _Case, turned: bool, rng: np.random.Generator) -> Iterator[_Candidate]:
        """Yield places for bystanders at which they are in the way of the hand, or of what it carried before."""
        said, scene, before, p = case.base.instruction, case.scene, case.before, self._p.perturbing
        if case.reason:
            # The earlier way is that of another scene, and wrong without anything in it.
            return
        for name, end in itertools.product(self._bystanders(said, scene), _ends(before)):
            about = Pose.planar(*end[:2]), p.beside
            for moved in self._places(name, scene, p.named_move, turned, rng, about):
                if self._in_the_way(before, moved, said, name):
                    yield self._candidate(case, name, moved, 0.0, 0.0, 1.0)

    def _candidate(
        self, case: _Case, name: str, moved: Scene, grasp_missed: float, place_missed: float, touched: float
    ) -> _Candidate:
        effort = case.scene[name].pose.distance_to(moved[name].pose)
        measures = {"grasp_missed_by_m": grasp_missed, "place_missed_by_m": place_missed, "touched": touched}
        return _Candidate(effort, name, moved, measures)

    def _handled(self, case: _Case, claim: str, name: str, after: Scene, **measures: float) -> Perturbed | Infeasible:
        """Return the instance with one thing handled, and the same words."""
        if after[name].model not in self._things.parts:
            return self._moved(case, claim, name, after, **measures)
        distance = case.scene[name].pose.distance_to(after[name].pose)
        joint = self._things.parts[after[name].model].joint
        states = (joint.state(self._things.position(scene, name)) for scene in (case.scene, after))
        note = f"moved {name} from {' to '.join(states)}"
        return self._proven(case, claim, case.base.instruction, after, note, moved_m=distance, **measures)

    # -- ways -------------------------------------------------------------------------------------

    def way(self, instruction: Instruction, scene: Scene) -> Way:
        """Return how an instruction is fulfilled.

        Raises:
            NoPlan: there is no way.
        """
        joint = moves_joint(instruction)
        return self._planner.joint_way(instruction, scene) if joint else self._planner.handling(instruction, scene)

    def _way_if_any(self, instruction: Instruction, scene: Scene) -> Way | None:
        try:
            return self.way(instruction, scene)
        except NoPlan:
            return None

    def _after(self, instruction: Instruction, way: Way, scene: Scene) -> Scene:
        """Return a scene after a way, which may be that of another scene."""
        if isinstance(way, JointWay):
            return scene.moved(way.part, part_pose(scene[whole_of(way.part)].pose, way.joint, way.goal))
        return scene.moved(named(instruction)[0], way.target)

    def _beside(self, way: Way, scene: Scene, name: str) -> float:
        """Return how far a thing, or the handle of a part, is from where the hand closes by a way [m]."""
        if isinstance(way, JointWay):
            return math.dist(way.path[_AT_HANDLE], self._at_handle(way, scene))
        return float(shapely.distance(self._area(scene[name]), shapely.Point(way.grasp.position[:2])))

    def _at_handle(self, way: JointWay, scene: Scene) -> tuple[float, float, float]:
        return way.tool(self._things.position(scene, way.part)).position

    def _in_the_way(self, way: Way, scene: Scene, instruction: Instruction, name: str) -> bool:
        """Return whether a thing is in the corridor to a handle, or touches the hand or what it puts down."""
        obstacle, target = self._planner.obstacle(scene[name]), scene[named(instruction)[0]]
        if isinstance(way, JointWay):
            return self._planner.blocking(way, self._things.position(scene, target.name), [obstacle]) is not None
        if any(self._room.in_the_way(place, [obstacle]) is not None for place in (way.grasp, way.place)):
            return True
        there = shapes.footprint(self._things.models[target.model], way.target)
        return obstacle.top > way.target.position[2] and shapes.gap(there, obstacle.area) == 0.0

    # -- geometry ---------------------------------------------------------------------------------

    def _area(self, state: ObjectState) -> shapely.Polygon:
        return shapes.footprint(self._things.models[state.model], state.pose)

    def _unclear(self, instruction: Instruction, scene: Scene) -> bool:
        """Return whether the instruction makes no sense, or its words lack their meaning."""
        return self._task.premise(instruction, scene) is not None

    def _elsewhere(
        self, name: str, scene: Scene, move: tuple[float, float], turned: bool, rng: np.random.Generator
    ) -> Iterator[Scene]:
        """Yield scenes with a thing at drawn places, or with a part at drawn positions; none for what stays."""
        if scene[name].model in self._things.parts:
            yield from self._positions(name, scene, rng)
        elif not self._things.models[scene[name].model].fixed and not self.bears(name, scene):
            yield from self._places(name, scene, move, turned, rng)

    def _places(
        self,
        name: str,
        scene: Scene,
        move: tuple[float, float],
        turned: bool,
        rng: np.random.Generator,
        about: tuple[Pose, float] | None = None,
    ) -> Iterator[Scene]:
        """Yield scenes with a thing at drawn places on the table, inside the region and free of all others.

        Args:
            name: of the thing.
            scene: with the thing at its present place.
            move: the thing is moved by at least and at most [m].
            turned: whether its yaw is also drawn; it stays otherwise.
            rng: the only source of randomness.
            about: the middle of its places, and the greatest distance from there along x and y [m].
        """
        here, model, p = scene[name].pose, self._things.models[scene[name].model], self._p
        least, greatest = move
        height = here.position[2] if _stands(scene[name]) else 0.0
        middle, far = about or (here, greatest)
        (x_low, y_low, x_high, y_high), (x, y) = self._region.bounds, middle.xy
        low, high = (max(x_low, x - far), max(y_low, y - far)), (min(x_high, x + far), min(y_high, y + far))
        if low[0] >= high[0] or low[1] >= high[1]:
            return
        count = p.perturbing.draws
        spots = rng.uniform(low, high, (count, 2))
        yaws = rng.uniform(-math.pi, math.pi, count) if turned else np.full(count, here.yaw)
        c, s = (np.array([f(yaw) for yaw in yaws.tolist()])[:, None] for f in (math.cos, math.sin))
        cx, cy = np.array(model.footprint).T
        corners = np.stack([spots[:, :1] + c * cx - s * cy, spots[:, 1:] + s * cx + c * cy], axis=2)
        areas = shapely.polygons(corners)
        others = np.array([self._area(o) for o in self._planner.movable(scene) if o.name != name], dtype=object)
        free = shapely.covers(self._reached, areas)
        free[free] = (shapely.distance(areas[free][:, None], others) >= p.placing.gap).all(axis=1)
        for index in np.flatnonzero(free):
            pose = Pose.planar(*spots[index].tolist(), float(yaws[index]), height)
            if least <= here.distance_to(pose) <= greatest:
                yield scene.moved(name, pose)

    def _positions(self, name: str, scene: Scene, rng: np.random.Generator) -> Iterator[Scene]:
        """Yield scenes with a part at drawn positions of its joint to which nothing is in its way.

        None if something lies in the part.
        """
        if contents(name, scene, self._things, self._predicates):
            return
        joint, now = self._things.parts[scene[name].model].joint, self._things.position(scene, name)
        least = self._p.perturbing.joint_move * (joint.range[1] - joint.range[0])
        for _ in range(TRIED):
            position = rng.uniform(*joint.range)
            if abs(position - now) >= least and self.is_free(name, scene, now, position):
                yield scene.moved(name, part_pose(scene[whole_of(name)].pose, joint, position))

    def is_free(self, name: str, scene: Scene, now: float, position: float) -> bool:
        """Return whether nothing that stands on the table is in the way of a part, from one position to another."""
        model, whole = self._things.models[scene[name].model], scene[whole_of(name)]
        part = self._things.parts[scene[name].model]
        others = [
            self._area(o)
            for o in self._planner.movable(scene)
            if whole.name not in (o.name, whole_of(o.name)) and abs(o.pose.position[2]) <= FREE
        ]
        for share in np.linspace(0.0, 1.0, SWEPT)[1:].tolist():
            there = part_pose(whole.pose, part.joint, now + share * (position - now))
            area = shapes.placed(model.footprint, there)
            if any(shapes.gap(area, other) < self._p.placing.gap for other in others):
                return False
        return True

    def _bystanders(self, instruction: Instruction, scene: Scene) -> list[str]:
        """Return the things that stand free on the table and that the instruction does not name."""
        return [
            name
            for name in carried(scene, self._things)
            if name not in named(instruction) and _stands(scene[name]) and not self.bears(name, scene, or_lies_on=True)
        ]

    def _other_parts(self, instruction: Instruction, scene: Scene) -> list[str]:
        """Return the parts that move on joints and that the instruction does not name."""
        return [o.name for o in scene if o.model in self._things.parts and o.name not in named(instruction)]

    def bears(self, name: str, scene: Scene, or_lies_on: bool = False) -> bool:
        """Return whether something is in or on a thing, or, if ``or_lies_on``, the thing in or on something."""
        area, lowest = self._area(scene[name]), self._heights(scene[name])[0]
        return any(
            shapes.gap(area, self._area(scene[other])) == 0.0
            and (or_lies_on or self._heights(scene[other])[0] >= lowest)
            for other in carried(scene, self._things)
            if other != name
        )

    def _hanging(self, scene: Scene) -> list[str]:
        """Return the things that are above all that could bear them: in the hand, or falling."""
        standing, found = self._planner.movable(scene), []
        for name in carried(scene, self._things):
            lowest = self._heights(scene[name])[0]
            if lowest <= HANGING:
                continue
            below = (o for o in standing if o.name != name and self._heights(o)[1] >= lowest - HANGING)
            if not any(shapes.gap(self._area(scene[name]), self._area(other)) == 0.0 for other in below):
                found.append(name)
        return found

    def _heights(self, state: ObjectState) -> tuple[float, float]:
        return shapes.heights(self._things.models[state.model], state.pose)


_AT_HANDLE = 3
"""Index of the point of a joint's path at which the hand closes, after the start, above and before the handle."""


def _ends(way: Way) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Return where the hand closes, and where it opens again [m]."""
    if isinstance(way, JointWay):
        return way.path[_AT_HANDLE], way.path[-2]
    return way.grasp.position, way.place.position


def _stands(state: ObjectState) -> bool:
    return shapes.is_upright(state.pose) and abs(state.pose.position[2]) <= RESTING
