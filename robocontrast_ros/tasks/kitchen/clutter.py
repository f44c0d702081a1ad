"""Distractors in the kitchen (seed 001, section III): those of the tabletop, which also stand on fixtures."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import shapely

from robocontrast_ros.domain import Instruction, ObjectState, Pose, Scene, whole_of
from robocontrast_ros.objects import ObjectModel
from robocontrast_ros.objects.frames import rotate
from robocontrast_ros.objects.shapes import bounds
from robocontrast_ros.tasks.kitchen.handling import KitchenHandling
from robocontrast_ros.tasks.kitchen.library import BACKGROUND, Things
from robocontrast_ros.tasks.kitchen.parameters import KitchenDistractors
from robocontrast_ros.tasks.kitchen.requests import carried, moves_joint, named
from robocontrast_ros.tasks.protocol import Task
from robocontrast_ros.tasks.tabletop import shapes
from robocontrast_ros.tasks.tabletop.clutter import ClutterViews, TabletopClutter


class KitchenClutter(TabletopClutter):
    """Adds things to a kitchen's own scene: on free places of the table, and on the tops of fixtures."""

    def __init__(
        self,
        task: Task,
        distracting: KitchenDistractors,
        things: Things,
        handling: KitchenHandling,
        settle: Callable[[Scene], Scene | None],
        views: ClutterViews,
        bare: ClutterViews,
    ) -> None:
        """Take the task, its parts, the settling of scenes, and their views; ``bare`` is for scenes without clutter."""
        # Fixtures and their parts take room, as what can be moved does.
        library = {n: m if m.category in BACKGROUND else replace(m, fixed=False) for n, m in things.still.items()}
        super().__init__(task, distracting, library, settle, views)
        self._movable = [model for model in things.models.values() if not model.fixed]
        self._kitchen, self._things, self._handling, self._bare = distracting, things, handling, bare

    def target(self, instruction: Instruction) -> str:
        """Return the name of the thing, or of the part, to handle."""
        return named(instruction)[0]

    def distractors(self, instruction: Instruction, scene: Scene) -> tuple[str, ...]:
        """Return the names of the things that could be moved, and that are neither named nor in what is moved."""
        meant = {*named(instruction), *self._handling.handled(instruction, scene)}
        return tuple(name for name in carried(scene, self._things) if name not in meant)

    def distance(self, scene: Scene, name: str, point: tuple[float, float, float]) -> float:
        """Return the distance of a point from a thing's box, all in the scene's frame [m]; 0 inside."""
        part = self._things.parts.get(scene[name].model)
        if part is None:
            return super().distance(scene, name, point)
        # The frame of a part is at its handle.
        lows, highs = zip(*(bounds(p.type, p.pose, p.size) for p in part.parts), strict=True)
        inside = shapes.in_frame(scene[name].pose, point)
        beyond = np.maximum(0.0, np.maximum(np.min(lows, axis=0) - inside, inside - np.max(highs, axis=0)))
        return float(np.sqrt((beyond * beyond).sum()))

    def _alike(self, model: ObjectModel, said: Instruction, scene: Scene) -> bool:
        """Return whether a thing has the kind, the category or the colour of a named thing; most have no colour."""
        others = [self._things.models[scene[name].model] for name in named(said)]
        return any(
            model.type == other.type
            or model.category == other.category
            or (model.colour == other.colour and bool(model.colour))
            for other in others
        )

    def _occlusion(self, said: Instruction, scene: Scene) -> float:
        """Return the share of the target, as it is seen without distractors, that they hide.

        What its own fixture hides, such as all of a drawer but its front, is not theirs. It is 0 if nothing of the
        target is seen anyway.
        """
        target, view, added = self.target(said), self._p.robot_view, self.distractors(said, scene)
        alone = replace(scene, objects=tuple(o for o in scene if o.name not in added))
        seen = 1.0 - self._bare.occlusion(alone, target, view)
        return 1.0 - (1.0 - self._views.occlusion(scene, target, view)) / seen if seen else 0.0

    # -- where they stand ---------------------------------------------------------------------------

    def _filled(
        self, said: Instruction, scene: Scene, candidates: Sequence[ObjectModel], count: int, rng: np.random.Generator
    ) -> Scene:
        filled = super()._filled(_on_the_table(said), scene, candidates, count, rng)
        for state in filled:
            if state.name not in scene and rng.random() < self._kitchen.on_tops:
                pose = self._on_top(state, filled, said, rng)
                filled = filled if pose is None else filled.moved(state.name, pose)
        # Parts follow their fixtures; the order of all others does not reveal the named ones.
        fixed = [o for o in scene if self._things.models[o.model].fixed]
        return replace(filled, objects=(*fixed, *(filled[name] for name in carried(filled, self._things))))

    def _with_occluder(
        self,
        said: Instruction,
        scene: Scene,
        candidates: Sequence[ObjectModel],
        wanted: float,
        rng: np.random.Generator,
    ) -> Scene:
        return super()._with_occluder(_on_the_table(said), scene, candidates, wanted, rng)

    def _on_top(self, state: ObjectState, scene: Scene, said: Instruction, rng: np.random.Generator) -> Pose | None:
        """Return a place on the top of a drawn fixture that the instruction does not name; None if there is none."""
        meant = {whole_of(name) or name for name in named(said)}
        models = self._things.models
        holders = [o for o in scene if models[o.model].type in self._kitchen.tops and o.name not in meant]
        if not holders:
            return None
        holder = holders[int(rng.integers(len(holders)))]
        top, model = models[holder.model].top, models[state.model]
        height = holder.pose.position[2] + top.z
        if height + model.size[2] > self._kitchen.highest:
            return None
        face = shapes.placed(top.polygon, holder.pose)
        taken = [
            shapes.footprint(models[o.model], o.pose)
            for o in scene
            if o.name != state.name and o.pose.position[2] >= height and models[o.model].category not in BACKGROUND
        ]
        left, low, right, high = shapely.Polygon(top.polygon).bounds
        for _ in range(self._p.place_draws):
            x, y, _ = rotate(holder.pose.orientation, (rng.uniform(left, right), rng.uniform(low, high), 0.0))
            x, y = holder.pose.position[0] + x, holder.pose.position[1] + y
            pose = Pose.planar(x, y, rng.uniform(-math.pi, math.pi), height)
            area = shapes.footprint(model, pose)
            if face.covers(area) and all(shapes.gap(area, other) >= self._p.gap for other in taken):
                return pose
        return None


def _on_the_table(said: Instruction) -> Instruction:
    """Return an instruction of the tabletop that names the same: gaps are kept around what is named."""
    return replace(said, family="pick" if moves_joint(said) else "move_near")
