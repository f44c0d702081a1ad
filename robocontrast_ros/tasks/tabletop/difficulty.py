"""Harder instances on the table (seed 004, appendix E.1): things alike, far corners, destinations of another kind."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from robocontrast_ros.domain import Instruction, NotApplicable, ObjectState, Pose, Scene, TestInstance
from robocontrast_ros.objects import ObjectModel
from robocontrast_ros.tasks.plans import NoPlan
from robocontrast_ros.tasks.protocol import Answer, DistractorRequest, Harder, Infeasible, Task
from robocontrast_ros.tasks.proven import paths, proven
from robocontrast_ros.tasks.tabletop import shapes
from robocontrast_ros.tasks.tabletop.goals import Library, argument, named
from robocontrast_ros.tasks.tabletop.hand import HandRoom
from robocontrast_ros.tasks.tabletop.language import TabletopLanguage
from robocontrast_ros.tasks.tabletop.parameters import TabletopParameters
from robocontrast_ros.tasks.tabletop.planner import TabletopPlanner
from robocontrast_ros.tasks.tabletop.referring import APART_WHEN_SAID

DISTRACTED = "the words mean the same, and the hand has room at the grasp and at the place of the plan before"
FARTHER = "the words mean the same; the target stands in a far corner, what it belongs to on the other side"
OTHER_KIND = "the destination is a thing that bears others, in place of a container or of a thing of its own kind"

DRAWN_SETS = 5
"""Greatest number of sets of distractors drawn for one instance."""

DEPTH = 0.05
"""Greatest distance from the region's edge of a thing put there [m]."""


class TabletopDifficulty:
    """Makes instances on the table harder."""

    harder: tuple[Harder, ...] = ("places", "destination")

    def __init__(
        self,
        task: Task,
        parameters: TabletopParameters,
        library: Library,
        planner: TabletopPlanner,
        language: TabletopLanguage,
        settle: Callable[[Scene], Scene | None],
    ) -> None:
        """Take the task, whose instances are made, its parts, and the settling of scenes."""
        self._task, self._p, self._library = task, parameters, library
        self._planner, self._language, self._settle = planner, language, settle
        self._room = HandRoom(parameters.hand)
        self._region = parameters.region.box

    def most(self, wanted: int) -> int:
        """Return the number of distractors that have room, up to a limit; 0 if the task file has none."""
        return self._task.clutter.most(wanted) if self._task.clutter is not None else 0

    def distract(self, base: TestInstance, count: int, rng: np.random.Generator) -> Answer:
        """Add things of the same kind, category or colour, none of them an occluder or in the way of the hand."""
        answer: Answer = NotApplicable("the task has no distractors")
        for _ in range(DRAWN_SETS if self._task.clutter is not None else 0):
            answer = self._task.clutter.add(base, DistractorRequest(count, "alike"), rng)
            if isinstance(answer, NotApplicable):
                return answer
            cluttered = answer.instance
            if not self._in_the_way(base, cluttered.scene):
                measures = {**dict(cluttered.proof.measures), **paths(base, cluttered)}
                return proven(cluttered, DISTRACTED, answer.note, measures)
            answer = NotApplicable(f"each of {DRAWN_SETS} sets of distractors drawn is in the way of the hand")
        return answer

    def harden(self, base: TestInstance, how: Harder, rng: np.random.Generator) -> Answer:
        """Put the named things far apart, at the edges of the region; or take a destination of another kind."""
        return self._farther(base, rng) if how == "places" else self._other_destination(base, rng)

    # -- places -----------------------------------------------------------------------------------

    def _farther(self, base: TestInstance, rng: np.random.Generator) -> Answer:
        said, scene, names = base.instruction, base.scene, named(base.instruction)
        for _ in range(self._p.perturbing.draws):
            side = 1 if rng.integers(2) else -1
            moved = scene
            for name, where in zip(names, (side, -side), strict=False):
                moved = moved.moved(name, self._at_edge(scene[name], where, name == names[0], rng))
            if not self._free(moved, names) or self._language.premise(said, moved, APART_WHEN_SAID) is not None:
                continue
            found = self._task.make_instance(base.instance_id, said, moved)
            if isinstance(found, Infeasible) or found.optimal_path_length <= base.optimal_path_length:
                continue
            distance = scene[names[0]].pose.distance_to(moved[names[0]].pose)
            note = f"moved {' and '.join(name.replace('_', ' ') for name in names)} to the edges"
            return proven(found, FARTHER, note, {**paths(base, found), "moved_m": distance})
        return NotApplicable(f"no places at the edges were found from which '{said.text}' is a longer way")

    def _at_edge(self, state: ObjectState, side: int, in_corner: bool, rng: np.random.Generator) -> Pose:
        """Draw a place at the left (1) or right (-1) edge of the region, also at the far one if ``in_corner``."""
        yaw = rng.uniform(-math.pi, math.pi)
        turned = shapes.footprint(self._library[state.model], Pose.planar(0.0, 0.0, yaw))
        x_low, y_low, x_high, y_high = turned.bounds
        region, inside = self._p.region, rng.uniform(0.0, DEPTH)
        y = region.y_max - y_high - inside if side > 0 else region.y_min - y_low + inside
        nearest, farthest = region.x_min - x_low, region.x_max - x_high
        # A thing too large for the region, turned so, is refused like all that are not inside it.
        x = farthest - rng.uniform(0.0, DEPTH) if in_corner else rng.uniform(nearest, max(nearest, farthest))
        return Pose.planar(x, y, yaw, state.pose.position[2])

    def _free(self, scene: Scene, names: tuple[str, ...]) -> bool:
        """Return whether things stand inside the region, with the gaps of drawn scenes around them."""
        areas = {o.name: shapes.footprint(self._library[o.model], o.pose) for o in self._planner.movable(scene)}
        apart = self._p.sampling.named_gap
        return all(
            self._region.covers(areas[name])
            and all(shapes.gap(areas[name], area) >= apart for other, area in areas.items() if other != name)
            for name in names
        )

    # -- destinations -----------------------------------------------------------------------------

    def _other_destination(self, base: TestInstance, rng: np.random.Generator) -> Answer:
        said, scene = base.instruction, base.scene
        if said.family not in ("put_in", "stack"):
            return NotApplicable(f"{said.family.replace('_', ' ')} has no destination of its own kind")
        family = "put_on" if said.family == "put_in" else "stack"
        target, here = argument(said, "target"), scene[argument(said, "reference")]
        options = [
            model
            for model in self._library.values()
            if self._bears_unlike(model)
            and model.model not in scene
            and self._planner.possible(family, scene[target].model, model.model) is None
        ]
        for index in rng.permutation(len(options)):
            model = options[index]
            there = ObjectState(model.model, model.model, Pose.planar(*here.pose.xy, here.pose.yaw))
            put = replace(scene, objects=tuple(there if o.name == here.name else o for o in scene))
            rested = self._settle(put) if self._free(put, (model.model,)) else None
            if rested is None or rested[model.model].pose.distance_to(there.pose) > self._p.sampling.settled:
                continue
            # The earlier things stay exactly in their places.
            rested = put.moved(model.model, rested[model.model].pose)
            asked = Instruction("", family, (("target", target), ("reference", model.model)))
            try:
                asked = self._language.realise(asked, rested, rng, self._p.sampling.clear)
            except ValueError:
                continue
            found = self._task.make_instance(base.instance_id, asked, rested)
            if isinstance(found, TestInstance):
                note = f"'{said.text}' became '{asked.text}'"
                distance = here.pose.distance_to(rested[model.model].pose)
                return proven(found, OTHER_KIND, note, {**paths(base, found), "moved_m": distance})
        return NotApplicable(f"nothing of another kind can be the destination of '{said.text}'")

    @staticmethod
    def _bears_unlike(model: ObjectModel) -> bool:
        """Return whether a thing can bear any thing and is neither a container nor stacked."""
        return not model.fixed and model.top is not None and model.cavity is None and not model.stackable

    # -- the hand -----------------------------------------------------------------------------------

    def _in_the_way(self, base: TestInstance, scene: Scene) -> bool:
        """Return whether added things are in the way of the hand, or of the target, by the earlier plan."""
        try:
            way = self._planner.handling(base.instruction, base.scene)
        except NoPlan:
            return False
        added = self._planner.obstacles(scene, base.scene.names)
        if any(self._room.in_the_way(tool, added) for tool in (way.grasp, way.place) if tool is not None):
            return True
        if way.place is None:
            return False
        end = shapes.footprint(self._library[base.scene[argument(base.instruction, "target")].model], way.target)
        return any(shapes.gap(end, obstacle.area) < self._p.placing.gap for obstacle in added)
