"""Harder instances in the kitchen (seed 004, appendix E.1): things alike, far corners, destinations of another kind."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

import numpy as np

from robocontrast_ros.domain import Instruction, NotApplicable, ObjectState, Pose, Scene, TestInstance
from robocontrast_ros.objects import ObjectModel
from robocontrast_ros.tasks.kitchen.language import KitchenLanguage
from robocontrast_ros.tasks.kitchen.library import Things
from robocontrast_ros.tasks.kitchen.parameters import KitchenParameters
from robocontrast_ros.tasks.kitchen.planner import KitchenPlanner
from robocontrast_ros.tasks.kitchen.requests import carried, moves_joint, named
from robocontrast_ros.tasks.protocol import Answer, Infeasible, Task
from robocontrast_ros.tasks.proven import paths, proven
from robocontrast_ros.tasks.tabletop import shapes
from robocontrast_ros.tasks.tabletop.difficulty import TabletopDifficulty
from robocontrast_ros.tasks.tabletop.planner import words
from robocontrast_ros.tasks.tabletop.referring import APART_WHEN_SAID

FARTHER = (
    "the words mean the same; the target stands at an edge, and where it belongs at the other one unless that is fixed"
)
OTHER_KIND = "the destination is a thing that bears others, in place of a plate or of a thing of its own kind"

OF_JOINTS = "a part moves on its joint alone, and its fixture stays where it is"


class KitchenDifficulty(TabletopDifficulty):
    """Makes instances with a thing to carry harder; for parts on joints it says why not."""

    def __init__(
        self,
        task: Task,
        parameters: KitchenParameters,
        things: Things,
        planner: KitchenPlanner,
        language: KitchenLanguage,
        settle: Callable[[Scene], Scene | None],
        usual: Collection[str],
    ) -> None:
        """Take the task, its parts, the settling of scenes, and the categories of what problems put things on or in."""
        super().__init__(task, parameters, things.models, planner, language, settle)
        self._things, self._usual = things, usual

    def distract(self, base: TestInstance, count: int, rng: np.random.Generator) -> Answer:
        """Add things of the same kind, category or colour, none of them in the way of the hand."""
        if moves_joint(base.instruction):
            return NotApplicable("nothing that can be added looks like a part on a joint")
        return super().distract(base, count, rng)

    def _in_the_way(self, base: TestInstance, scene: Scene) -> bool:
        said = self._planner.placing(base.instruction, base.scene)
        return super()._in_the_way(replace(base, instruction=said), scene)

    # -- places -----------------------------------------------------------------------------------

    def _farther(self, base: TestInstance, rng: np.random.Generator) -> Answer:
        """Put the target at an edge of the region, and its reference, unless it is a fixture, at the other one.

        A fixture may stand in the far corners: so first these are tried, then all of the edges.
        """
        said, scene = base.instruction, base.scene
        if moves_joint(said):
            return NotApplicable(f"{OF_JOINTS}: it has no harder place")
        target, reference = named(said)
        names = (target, reference) if reference in carried(scene, self._things) else (target,)
        for name in names:
            if not self._is_alone(name, scene):
                return NotApplicable(f"{words(name)} would be moved with what it bears")
        draws = self._p.perturbing.draws
        for draw in range(draws):
            side = 1 if rng.integers(2) else -1
            moved = scene
            for name, where in zip(names, (side, -side), strict=False):
                moved = moved.moved(name, self._at_edge(scene[name], where, name == target and 2 * draw < draws, rng))
            if not self._free(moved, names) or self._language.premise(said, moved, APART_WHEN_SAID) is not None:
                continue
            found = self._task.make_instance(base.instance_id, said, moved)
            if isinstance(found, Infeasible) or found.optimal_path_length <= base.optimal_path_length:
                continue
            distance = scene[target].pose.distance_to(moved[target].pose)
            note = f"moved {' and '.join(map(words, names))} to the edges"
            return proven(found, FARTHER, note, {**paths(base, found), "moved_m": distance})
        return NotApplicable(f"no places at the edges were found from which '{said.text}' is a longer way")

    def _free(self, scene: Scene, names: tuple[str, ...]) -> bool:
        """Return whether things stand inside the region, with the gap of the planner's places around them."""
        areas = {o.name: shapes.footprint(self._library[o.model], o.pose) for o in self._planner.movable(scene)}
        return all(
            self._region.covers(areas[name])
            and all(shapes.gap(areas[name], areas[other]) >= self._p.placing.gap for other in areas if other != name)
            for name in names
        )

    def _is_alone(self, name: str, scene: Scene) -> bool:
        """Return whether nothing that can be carried is on or in a thing."""
        area = shapes.footprint(self._library[scene[name].model], scene[name].pose)
        others = (scene[other] for other in carried(scene, self._things) if other != name)
        return all(shapes.gap(area, shapes.footprint(self._library[o.model], o.pose)) > 0.0 for o in others)

    # -- destinations -----------------------------------------------------------------------------

    def _other_destination(self, base: TestInstance, rng: np.random.Generator) -> Answer:
        """Put a box or a tin in the place of the plate, or of the thing of the target's kind, to be the destination."""
        said, scene = base.instruction, base.scene
        if moves_joint(said):
            return NotApplicable(f"{OF_JOINTS}: it has no destination")
        if said.family not in ("put_on", "put_in", "stack"):
            return NotApplicable(f"{said.family.replace('_', ' ')} has no destination of its own kind")
        target, reference = named(said)
        if reference not in carried(scene, self._things):
            return NotApplicable(f"{words(reference)} is a fixture, and stays the destination")
        if not self._is_alone(reference, scene):
            return NotApplicable(f"{words(reference)} would be taken away with what it bears")
        options = [
            model
            for model in self._things.models.values()
            if self._bears_unlike(model) and model.category not in self._usual and model.model not in scene
        ]
        for index in rng.permutation(len(options)):
            put = self._put_there(scene, reference, options[index])
            if put is None:
                continue
            name = options[index].model
            asked = Instruction("", "put_on", (("target", target), ("reference", name)))
            try:
                asked = self._language.plainly(asked, put)
            except ValueError:
                # No words name these alone.
                continue
            found = self._task.make_instance(base.instance_id, asked, put)
            if isinstance(found, TestInstance) and self._task.premise(asked, put) is None:
                note = f"'{said.text}' became '{asked.text}'"
                distance = scene[reference].pose.distance_to(put[name].pose)
                return proven(found, OTHER_KIND, note, {**paths(base, found), "moved_m": distance})
        return NotApplicable(f"nothing of another kind can be the destination of '{said.text}'")

    def _put_there(self, scene: Scene, reference: str, model: ObjectModel) -> Scene | None:
        """Return the scene with another thing at rest in the place of the reference; None if it does not stay."""
        here = scene[reference].pose
        there = ObjectState(model.model, model.model, Pose.planar(*here.xy, here.yaw))
        put = replace(scene, objects=tuple(there if o.name == reference else o for o in scene))
        rested = self._settle(put) if self._free(put, (there.name,)) else None
        if rested is None or rested[there.name].pose.distance_to(there.pose) > self._p.drawing.settled:
            return None
        # The earlier things stay exactly in their places.
        return put.moved(there.name, rested[there.name].pose)
