"""ΔL, ΔLB, ΔS and ΔSB for things on a table, each with the planner's proof (docs/perturbations_contrast.md).

All act on the instruction of the unperturbed instance and on the actual scene, in which the trial before may have put
the target in its place, or left it in the hand. A moved thing is put at rest: upright on the table, free of other
things.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import shapely

from robocontrast_ros.domain import Instruction, NotApplicable, ObjectState, Perturbed, Pose, Scene, TestInstance
from robocontrast_ros.objects import ObjectModel
from robocontrast_ros.tasks.plans import NoPlan, Plan
from robocontrast_ros.tasks.protocol import SOLVED, Answer, Task
from robocontrast_ros.tasks.proven import Case, ProvenNeighbourhood, shared_words
from robocontrast_ros.tasks.tabletop import shapes
from robocontrast_ros.tasks.tabletop.goals import Library, TabletopGoals, argument, named
from robocontrast_ros.tasks.tabletop.hand import HandRoom
from robocontrast_ros.tasks.tabletop.language import TabletopLanguage
from robocontrast_ros.tasks.tabletop.parameters import FAMILIES, TabletopParameters, TabletopRegion
from robocontrast_ros.tasks.tabletop.planner import HandlingPlan, TabletopPlanner, words
from robocontrast_ros.tasks.tabletop.referring import APART_WHEN_SAID
from robocontrast_ros.tasks.tabletop.scenes import suits

HANGING = 0.01
"""Distance above the support beyond which a thing does not rest [m]."""

RESTING = 0.002
"""Greatest distance from the table's top of a thing that stands on it [m]."""

TOUCHING = 1e-9
"""Distance below which a thing is touched [m]."""

ROUNDS = (False, True, True, True)
"""For each round of new places, whether yaws are also drawn; in the first one things keep their own."""

REWORDED = "the meaning, the grasp and the place stay"
REDIRECTED = "who does what was said before does not fulfil the instruction, and the other way round"
STAYS = "the words mean the same, and the grasp, the place and the way stay"
CHANGES = "the words mean the same, and the grasp or the place before misses, or the hand would touch something there"


@dataclass(frozen=True)
class _Case(Case):
    """An instance to be perturbed.

    Its ``before`` is the plan in the scene; if there is none, or the instruction is fulfilled there, that of the base
    instance in its own scene.

    Attributes:
        hanging: whether the target is in the air in the scene.
    """

    hanging: bool = False


@dataclass(frozen=True)
class _Candidate:
    """An object at another place.

    Attributes:
        effort: distance of its move [m].
        name: of the object.
        scene: with the object moved.
        measures: those that show that the earlier way is wrong now.
    """

    effort: float
    name: str
    scene: Scene
    measures: Mapping[str, float]


class TabletopNeighbourhood(ProvenNeighbourhood):
    """Changes of instructions about things on the table, and of their scenes."""

    reworded = REWORDED

    def __init__(
        self,
        task: Task,
        parameters: TabletopParameters,
        library: Library,
        planner: TabletopPlanner,
        goals: TabletopGoals,
        language: TabletopLanguage,
    ) -> None:
        """Take the task, whose instances are made, and its parts."""
        super().__init__(task)
        self._p, self._library = parameters, library
        self._planner, self._goals, self._language = planner, goals, language
        # The margins of touching, not those of the planner.
        self._room = HandRoom(replace(parameters.hand, margin=TOUCHING, above=0.0))
        self._region = parameters.region.box

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
        others = [name for name in hanging if name != argument(base.instruction, "target")]
        if others:
            raise NoPlan(f"{words(others[0])} is in the air")
        try:
            before = self._planner.handling(base.instruction, scene)
            if self._goals.goal(base.instruction, scene).satisfied(scene):
                reason = SOLVED
        except NoPlan as error:
            reason = str(error)
        if hanging and not reason:
            reason = f"{words(hanging[0])} is in the air"
        if reason:
            before = self._planner.handling(base.instruction, base.scene)
        return _Case(base, scene, before, reason, bool(hanging))

    def _compared(self, case: Case, after: TestInstance) -> dict[str, float]:
        old, new = case.before, self._planner.handling(after.instruction, after.scene)
        return {
            "path_before_m": Plan(old.path, after.scene).length,
            "path_after_m": after.optimal_path_length,
            "grasp_apart_m": math.dist(old.grasp.position, new.grasp.position),
            "end_apart_m": math.dist(old.path[-1], new.path[-1]),
        }

    # -- words ------------------------------------------------------------------------------------

    def _redirected(self, case: _Case, rng: np.random.Generator) -> Answer:
        """Ask for another target or another reference, in the instance's own scene by another skill if necessary.

        In the scene left by the trial before, the reference may already bear the target, so that the same skill suits
        nothing else: an answer by another skill would be about that trial.
        """
        said, scene = case.base.instruction, case.scene
        if case.hanging:
            return NotApplicable(case.reason)
        for options in self._other_requests(case):
            for index in rng.permutation(len(options)):
                wanted = options[index]
                after = self._handling(wanted, scene)
                missed = None if after is None else self._missed_both_ways(case, wanted, after)
                if missed is None:
                    continue
                try:
                    instruction = self._language.reword(
                        replace(said, family=wanted.family), dict(wanted.arguments), scene, rng
                    )
                except ValueError:
                    # No words name these two alone.
                    continue
                note = f"'{said.text}' became '{instruction.text}'"
                measures = {"missed_by_m": missed, "shared_words": shared_words(said.text, instruction.text)}
                found = self._proven(case, REDIRECTED, instruction, scene, note, **measures)
                if isinstance(found, Perturbed):
                    return found
        return NotApplicable("no other thing and no other place can be asked for")

    def _other_requests(self, case: _Case) -> Iterator[list[Instruction]]:
        """Yield other possible requests, as far as the models show: first of the same family, then of others."""
        said, scene = case.base.instruction, case.scene
        target, reference = argument(said, "target"), said.get("reference")
        standing = self._planner.movable(scene)
        others = [o.name for o in standing if o.name not in (target, reference)]
        if reference is None:
            yield [replace(said, text="", segments=(), arguments=(("target", name),)) for name in others]
            return
        pairs = [(name, reference) for name in others] + [(target, name) for name in others]

        def asked(family: str) -> Iterator[Instruction]:
            for first, second in pairs:
                if suits(family, self._model(scene[first]), self._model(scene[second])):
                    yield Instruction("", family, (("target", first), ("reference", second)))

        yield list(asked(said.family))
        if scene.objects != case.base.scene.objects:
            return
        yield [request for family in FAMILIES if family not in ("pick", said.family) for request in asked(family)]

    def _missed_both_ways(self, case: _Case, wanted: Instruction, after: HandlingPlan) -> float | None:
        """Return the lesser of the earlier way's miss of the new request and the new way's of the earlier one [m].

        If the target is another one, it is the gap between the point that the hand closes about and the other thing.
        None if one end comes too close to fulfilling the other instruction.
        """
        said, scene, before = case.base.instruction, case.scene, case.before
        old, new = argument(said, "target"), argument(wanted, "target")
        if old != new:
            # The old target may be elsewhere now; the earlier way grasped it at its old place.
            return min(self._beside(before, scene[new]), self._beside(after, scene[old]))
        ends = ((wanted, before.target), (said, after.target))
        missed = min(self._excess(instruction, end, scene) for instruction, end in ends)
        return missed if missed >= self._p.perturbing.off_place else None

    # -- things -----------------------------------------------------------------------------------

    def _bystander_moved(self, case: _Case, rng: np.random.Generator) -> Answer:
        said, scene, p = case.base.instruction, case.scene, self._p.perturbing
        if case.reason:
            return NotApplicable(case.reason)
        names = self._bystanders(said, scene)
        if not names:
            return NotApplicable("nothing stands free on the table that the instruction does not name")
        for turned in ROUNDS:
            for index in rng.permutation(len(names)):
                name = names[index]
                for moved in self._places(name, scene, said, p.bystander_move, turned, rng):
                    if self._unclear(said, moved) or self._handling(said, moved) != case.before:
                        continue
                    found = self._moved(case, STAYS, name, moved)
                    if isinstance(found, Perturbed):
                        return found
        return NotApplicable("no small move of a thing that is not named leaves the plan as it is")

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
                if self._unclear(said, candidate.scene):
                    continue
                found = self._moved(case, CHANGES, candidate.name, candidate.scene, **candidate.measures)
                if isinstance(found, Perturbed):
                    return found
        return NotApplicable("neither a move of what is named nor a thing in the way makes another way necessary")

    def _named_moves(self, case: _Case, name: str, turned: bool, rng: np.random.Generator) -> Iterator[_Candidate]:
        """Yield places for the target, or the reference, that the earlier way misses."""
        said, scene, p = case.base.instruction, case.scene, self._p.perturbing
        if self._bears(name, scene):
            return
        target = argument(said, "target")
        for moved in self._places(name, scene, said, p.named_move, turned, rng):
            # At the target's place after the trial before, the grasp may miss it wherever the reference goes.
            grasp_missed = self._beside(case.before, moved[target]) if name == target else 0.0
            place_missed = 0.0 if said.family == "pick" else self._excess(said, case.before.target, moved)
            if grasp_missed >= p.off_grasp or place_missed >= p.off_place:
                yield self._candidate(case, name, moved, grasp_missed, place_missed, 0.0)

    def _obstructions(self, case: _Case, turned: bool, rng: np.random.Generator) -> Iterator[_Candidate]:
        """Yield places for bystanders at which the hand, or the carried thing, would touch them on the earlier way."""
        said, scene, before, p = case.base.instruction, case.scene, case.before, self._p.perturbing
        if case.reason:
            # The earlier way is that of another scene, and wrong without anything in it.
            return
        ends = [before.grasp] + ([before.place] if before.place is not None else [])
        for name, end in itertools.product(self._bystanders(said, scene), ends):
            reach = self._p.hand.radius + math.hypot(*self._model(scene[name]).size[:2]) / 2
            about = Pose.planar(*end.position[:2]), min(reach, p.beside)
            for moved in self._places(name, scene, said, p.named_move, turned, rng, about):
                if self._touches(before, moved, said, name):
                    yield self._candidate(case, name, moved, 0.0, 0.0, 1.0)

    def _candidate(
        self, case: _Case, name: str, moved: Scene, grasp_missed: float, place_missed: float, touched: float
    ) -> _Candidate:
        effort = case.scene[name].pose.distance_to(moved[name].pose)
        measures = {"grasp_missed_by_m": grasp_missed, "place_missed_by_m": place_missed, "touched": touched}
        return _Candidate(effort, name, moved, measures)

    # -- geometry ---------------------------------------------------------------------------------

    def _model(self, state: ObjectState) -> ObjectModel:
        return self._library[state.model]

    def _area(self, state: ObjectState) -> shapely.Polygon:
        return shapes.footprint(self._model(state), state.pose)

    def _handling(self, instruction: Instruction, scene: Scene) -> HandlingPlan | None:
        try:
            return self._planner.handling(instruction, scene)
        except NoPlan:
            return None

    def _unclear(self, instruction: Instruction, scene: Scene) -> bool:
        """Return whether the words lack their clear, intended meaning."""
        return self._language.premise(instruction, scene, APART_WHEN_SAID) is not None

    def _beside(self, way: HandlingPlan, thing: ObjectState) -> float:
        """Return a thing's distance from the point that the hand closes about, seen from above [m]."""
        return float(shapely.distance(self._area(thing), shapely.Point(way.grasp.position[:2])))

    def _excess(self, instruction: Instruction, end: Pose, scene: Scene) -> float:
        """Return the distance of the target, put at a pose, from the place that an instruction wants [m]."""
        target, reference = scene[argument(instruction, "target")], scene[argument(instruction, "reference")]
        relation = self._goals.relation(instruction.family, target.model, reference.model)
        return relation.excess(end, reference.pose)

    def _touches(self, way: HandlingPlan, scene: Scene, instruction: Instruction, name: str) -> bool:
        """Return whether the hand, or the thing that it puts down, would touch a thing when it closes or opens."""
        thing, target = scene[name], scene[argument(instruction, "target")]
        obstacle = self._planner.obstacle(thing)
        if self._room.in_the_way(way.grasp, [obstacle]) is not None:
            return True
        if way.place is None:
            return False
        return (
            self._room.in_the_way(way.place, [obstacle]) is not None
            or shapes.gap(shapes.footprint(self._model(target), way.target), obstacle.area) == 0.0
        )

    def _places(
        self,
        name: str,
        scene: Scene,
        instruction: Instruction,
        move: tuple[float, float],
        turned: bool,
        rng: np.random.Generator,
        about: tuple[Pose, float] | None = None,
    ) -> Iterator[Scene]:
        """Yield scenes with a thing at drawn places, inside the region and free of the others.

        Args:
            name: of the thing.
            scene: with the thing at its present place.
            instruction: two things that it wants near each other are kept apart here.
            move: the thing is moved by at least and at most [m].
            turned: whether its yaw is also drawn; it stays otherwise.
            rng: the only source of randomness.
            about: the middle of its places, and the greatest distance from there along x and y [m]: in the way, with no
                more distance to others than the planner keeps when putting down; None for anywhere, as far from others
                as in drawn scenes.
        """
        here, model, p = scene[name].pose, self._model(scene[name]), self._p
        least, greatest = move
        where = _within(p.region, *(about or (here, greatest)))
        x, y = (rng.uniform(*bounds, p.perturbing.draws) for bounds in where)
        yaws = rng.uniform(-math.pi, math.pi, p.perturbing.draws) if turned else np.full(p.perturbing.draws, here.yaw)
        c, s = (np.array([f(yaw) for yaw in yaws.tolist()])[:, None] for f in (math.cos, math.sin))
        cx, cy = np.array(model.footprint).T
        areas = shapely.polygons(np.stack([x[:, None] + c * cx - s * cy, y[:, None] + s * cx + c * cy], axis=2))
        others = [o for o in self._planner.movable(scene) if o.name != name]
        gaps = np.full(len(others), p.sampling.gap if about is None else p.placing.gap)
        if instruction.family == "move_near" and name in named(instruction):
            gaps[[o.name in named(instruction) for o in others]] = p.sampling.near_beyond
        standing = np.array([self._area(o) for o in others], dtype=object)
        free = shapely.covers(self._region, areas)
        free[free] = (shapely.distance(areas[free][:, None], standing) >= gaps).all(axis=1)
        height = here.position[2] if self._stands(scene[name]) else 0.0
        for index in np.flatnonzero(free):
            pose = Pose.planar(x[index], y[index], yaws[index], height)
            if least <= here.distance_to(pose) <= greatest:
                yield scene.moved(name, pose)

    def _bystanders(self, instruction: Instruction, scene: Scene) -> list[str]:
        """Return the things that stand free on the table and that the instruction does not name."""
        both = named(instruction)
        return [
            o.name
            for o in self._planner.movable(scene)
            if o.name not in both and self._stands(o) and not self._bears(o.name, scene, or_lies_on=True)
        ]

    @staticmethod
    def _stands(state: ObjectState) -> bool:
        return shapes.is_upright(state.pose) and abs(state.pose.position[2]) <= RESTING

    def _bears(self, name: str, scene: Scene, or_lies_on: bool = False) -> bool:
        """Return whether something is in or on a thing, or, if ``or_lies_on``, the thing in or on something."""
        area, lowest = self._area(scene[name]), self._heights(scene[name])[0]
        return any(
            shapes.gap(area, self._area(o)) == 0.0 and (or_lies_on or self._heights(o)[0] >= lowest)
            for o in self._planner.movable(scene)
            if o.name != name
        )

    def _hanging(self, scene: Scene) -> list[str]:
        """Return the things that are above all that could bear them: in the hand, or falling."""
        standing, found = self._planner.movable(scene), []
        for o in standing:
            lowest = self._heights(o)[0]
            if lowest <= HANGING:
                continue
            below = (
                other for other in standing if other.name != o.name and self._heights(other)[1] >= lowest - HANGING
            )
            if not any(shapes.gap(self._area(o), self._area(other)) == 0.0 for other in below):
                found.append(o.name)
        return found

    def _heights(self, state: ObjectState) -> tuple[float, float]:
        return shapes.heights(self._model(state), state.pose)


def _within(region: TabletopRegion, pose: Pose, distance: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the least and greatest x and y of the region's points that are near a pose [m].

    All of the region's if the pose is not near the region.
    """
    x, y = pose.xy
    sides = ((region.x_min, region.x_max, x), (region.y_min, region.y_max, y))
    near = tuple((max(low, at - distance), min(high, at + distance)) for low, high, at in sides)
    return near if all(low < high for low, high in near) else tuple(side[:2] for side in sides)
