"""Uniform draws of conditions on the table (seed 002, sensitivity): the looks of a scene, the poses of its objects."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import shapely

from robocontrast_ros.domain import NotApplicable, ObjectState, Pose, Scene, TestInstance, choice
from robocontrast_ros.tasks.protocol import Answer, Infeasible, Task
from robocontrast_ros.tasks.proven import proven
from robocontrast_ros.tasks.tabletop import shapes
from robocontrast_ros.tasks.tabletop.goals import Library, argument, named
from robocontrast_ros.tasks.tabletop.language import TabletopLanguage
from robocontrast_ros.tasks.tabletop.parameters import TabletopParameters
from robocontrast_ros.tasks.tabletop.referring import APART_WHEN_SAID
from robocontrast_ros.tasks.tabletop.scenes import NoRoom, SceneDraw

LOOKS = "the words mean the same, and every object stands where it stood"
MOVED = "something moved while the scene came to rest"
PLACES = "the words mean the same, and there is a grasp, a place and a way"


class TabletopVariation:
    """Draws the looks of scenes on the table, and the poses of all their objects."""

    def __init__(
        self, task: Task, parameters: TabletopParameters, library: Library, draw: SceneDraw, language: TabletopLanguage
    ) -> None:
        """Take the task, whose instances are made, and its parts."""
        self._task, self._p, self._library, self._draw, self._language = task, parameters, library, draw, language
        self._region = parameters.region.box

    @property
    def looks(self) -> Mapping[str, tuple[str, ...]]:
        """Kind of fixture -> its models among which is drawn."""
        p = self._p
        return (p.distracting.looks if p.distracting is not None else p.fixtures).kinds

    def draw_looks(self, base: TestInstance, rng: np.random.Generator) -> Answer:
        """Return the instance with another table, background and light; objects stay exactly where they stand."""
        drawn = {kind: names[int(rng.integers(len(names)))] for kind, names in self.looks.items()}
        standing = (o for o in base.scene if not self._library[o.model].fixed)
        fixtures = (ObjectState(name, name, Pose()) for name in drawn.values())
        scene = replace(base.scene, objects=(*fixtures, *standing))
        found = self._task.make_instance(base.instance_id, base.instruction, scene)
        if isinstance(found, Infeasible):
            return NotApplicable(found.reason)
        note = ", ".join(name.replace("_", " ") for name in drawn.values())
        return proven(found, LOOKS, note, dict(choice(*pair) for pair in drawn.items()))

    def draw_poses(self, base: TestInstance, distance: float, angle: float, rng: np.random.Generator) -> Answer:
        """Return the instance with all objects at drawn places near their own, at rest, such that a plan exists."""
        said, reason = base.instruction, ""
        for _ in range(self._p.sampling.scene_draws):
            try:
                scene = self._moved(base, distance, angle, rng)
            except NoRoom as error:
                reason = f"there is no room for the {str(error).replace('_', ' ')}"
                continue
            # Settling takes longest.
            found = self._instance(base, scene)
            if not isinstance(found, str):
                rested = self._draw.settled(said, scene)
                found = self._instance(base, rested) if rested is not None else MOVED
            if isinstance(found, str):
                reason = found
                continue
            before, after = base.scene, found.scene
            moved = [o.pose.distance_to(after[o.name].pose) for o in self._standing(before)]
            target = argument(said, "target")
            old, new = before[target].pose, after[target].pose
            measures = {
                "objects_moved_m": math.fsum(moved) / len(moved),
                "target_moved_m": old.distance_to(new),
                "target_turned_rad": abs(math.remainder(new.yaw - old.yaw, math.tau)),
                "target_x_m": new.position[0],
                "target_y_m": new.position[1],
            }
            note = f"moved {len(moved)} objects, the target by {old.distance_to(new):.3f} m"
            return proven(found, PLACES, note, measures)
        return NotApplicable(f"none of {self._p.sampling.scene_draws} scenes drawn is one; of the last: {reason}")

    def _standing(self, scene: Scene) -> list[ObjectState]:
        return [o for o in scene if not self._library[o.model].fixed]

    def _instance(self, base: TestInstance, scene: Scene) -> TestInstance | str:
        """Return the instance in another scene, or why there is none."""
        unclear = self._language.premise(base.instruction, scene, APART_WHEN_SAID)
        if unclear is not None:
            return unclear
        found = self._task.make_instance(base.instance_id, base.instruction, scene)
        return found.reason if isinstance(found, Infeasible) else found

    def _moved(self, base: TestInstance, distance: float, angle: float, rng: np.random.Generator) -> Scene:
        """Return the scene with its objects moved one after the other, the larger ones first; it is not settled.

        Each place is uniform in a disc, among those inside the region that keep the gaps of drawn scenes.

        Raises:
            NoRoom: an object has none.
        """
        p, first = self._p.sampling, named(base.instruction)
        scene, areas, gaps = base.scene, [], []
        for o in sorted(self._standing(scene), key=lambda o: -math.hypot(*self._library[o.model].size[:2])):
            own = p.named_gap if o.name in first else p.gap
            for _ in range(p.place_draws):
                far, way = distance * math.sqrt(rng.random()), rng.uniform(-math.pi, math.pi)
                x, y = o.pose.position[0] + far * math.cos(way), o.pose.position[1] + far * math.sin(way)
                pose = Pose.planar(x, y, o.pose.yaw + rng.uniform(-angle, angle), o.pose.position[2])
                area = shapes.footprint(self._library[o.model], pose)
                if not self._region.covers(area):
                    continue
                if not areas or (shapely.distance(area, np.array(areas, object)) >= np.maximum(gaps, own)).all():
                    break
            else:
                raise NoRoom(o.name)
            scene = scene.moved(o.name, pose)
            areas.append(area)
            gaps.append(own)
        return scene
