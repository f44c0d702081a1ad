"""Distractors on the table (seed 001, section III): the additional things, and the share that they hide."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely import Polygon

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.domain import Instruction, NotApplicable, ObjectState, Perturbed, Pose, Proof, Scene, TestInstance
from robocontrast_ros.images.congestion import feature_congestion
from robocontrast_ros.images.rendering import RenderingUnavailable
from robocontrast_ros.objects import ObjectModel
from robocontrast_ros.tasks.protocol import DistractorRequest, Infeasible, Task
from robocontrast_ros.tasks.tabletop import shapes
from robocontrast_ros.tasks.tabletop.goals import Library, argument, named
from robocontrast_ros.tasks.tabletop.parameters import TabletopDistractors

CLUTTERED = "the words mean the same, and there is a grasp, a place and a way among what was added"

PACKINGS = 2
"""Number of times that the table is filled to count the distractors that find room."""

BESIDE_LINE, ALONG_LINE = 0.05, 0.15
"""Greatest distances of an occluder beside and along the line from target to camera [m]."""

KEPT = 1e-3
"""Things of the instance's own scene that settle again move less than this [m], and are put back."""

COMBINED: dict[str, Callable[[Sequence[float]], float]] = {"mean": lambda c: math.fsum(c) / len(c), "max": max}


class ClutterViews(Protocol):
    """Views of scenes without a robot: ``objects.views.SceneViews``."""

    def image(self, scene: Scene, camera: str) -> NDArray[np.uint8]:
        """Return a camera's image, shape (height, width, 3), RGB."""

    def occlusion(self, scene: Scene, name: str, camera: str) -> float:
        """Return the share of a thing that others hide from a camera."""

    @property
    def positions(self) -> Mapping[str, tuple[float, float, float]]:
        """Position of each camera of the world, world frame [m]."""


class NoScene(Exception):
    """A drawn scene is not as wanted; the text has the reason."""


class _Areas:
    """The covered areas, seen from above, with the gap around each."""

    def __init__(self, library: Library, p: TabletopDistractors, scene: Scene, first: Sequence[str]) -> None:
        """Begin with the things of a scene; named things have the wider gap."""
        standing = [o for o in scene if not library[o.model].fixed]
        self._areas = [shapes.footprint(library[o.model], o.pose) for o in standing]
        self._gaps = [p.named_gap if o.name in first else p.gap for o in standing]
        self._gap = p.gap

    def free(self, area: Polygon) -> bool:
        """Return whether an area keeps all gaps."""
        if not self._areas:
            return True
        return not (shapely.distance(area, np.array(self._areas, dtype=object)) < np.array(self._gaps)).any()

    def add(self, area: Polygon) -> None:
        """Take the area of one more distractor."""
        self._areas.append(area)
        self._gaps.append(self._gap)


class TargetAlone:
    """The hand moves the target of an instruction, and nothing else."""

    touching = False

    def __init__(self, library: Library) -> None:
        self._library = library

    def handled(self, instruction: Instruction, scene: Scene) -> tuple[str, ...]:
        """Return the target's name."""
        return (argument(instruction, "target"),)

    def lowest(self, scene: Scene, name: str) -> float:
        """Return the height of the lowest corner of a thing's box, in the scene's frame [m]."""
        return shapes.lowest(self._library[scene[name].model], scene[name].pose)


class TabletopClutter(TargetAlone):
    """Adds things that an instruction does not name to an instance's own scene."""

    def __init__(
        self,
        task: Task,
        distracting: TabletopDistractors,
        library: Library,
        settle: Callable[[Scene], Scene | None],
        views: ClutterViews,
    ) -> None:
        """Take the task, whose instances are made, its parts, the settling of scenes and their views."""
        super().__init__(library)
        self._task, self._p = task, distracting
        self._settle, self._views = settle, views
        region = distracting.region
        self._region = shapely.box(region.x_min, region.y_min, region.x_max, region.y_max)
        self._movable = [model for model in library.values() if not model.fixed]

    def target(self, instruction: Instruction) -> str:
        """Return the name of the object to handle."""
        return argument(instruction, "target")

    def distractors(self, instruction: Instruction, scene: Scene) -> tuple[str, ...]:
        """Return the names of the things that could be moved and that the instruction does not name."""
        first = named(instruction)
        return tuple(o.name for o in scene if not self._library[o.model].fixed and o.name not in first)

    def distance(self, scene: Scene, name: str, point: tuple[float, float, float]) -> float:
        """Return the distance of a point from a thing's box, all in the scene's frame [m]; 0 inside."""
        state = scene[name]
        x, y, z = self._library[state.model].size
        inside = shapes.in_frame(state.pose, point) - np.array([0.0, 0.0, z / 2.0])
        beyond = np.maximum(np.abs(inside) - np.array([x, y, z]) / 2.0, 0.0)
        return float(np.sqrt((beyond * beyond).sum()))

    def most(self, wanted: int) -> int:
        """Return the number of distractors that have room, up to a limit, as far as was tried."""
        rng = np.random.default_rng(0)
        tried = 0
        for _ in range(PACKINGS):
            tried = max(tried, self._packed(wanted, rng))
            if tried == wanted:
                break
        return tried

    def measures(self, instruction: Instruction, scene: Scene) -> dict[str, float]:
        """Return the measures of a scene's clutter; see ``Clutter.add``.

        Raises:
            ConfigurationError: images cannot be drawn on this machine.
        """
        others = self.distractors(instruction, scene)
        alike = sum(self._alike(self._library[scene[name].model], instruction, scene) for name in others)
        cameras = self._p.robot_view, self._p.top_view
        try:
            congestion = [feature_congestion(self._views.image(scene, camera)).total for camera in cameras]
        except RenderingUnavailable as error:
            expected = f"a machine that can draw images, for distractors ({error})"
            raise ConfigurationError(f"task '{self._task.name}'", "distracting", list(cameras), expected) from None
        return {
            "distractors": float(len(others)),
            "alike": float(alike),
            "occlusion": self._occlusion(instruction, scene),
            "congestion_robot": congestion[0],
            "congestion_top": congestion[1],
            "dvfc": COMBINED[self._p.dvfc](congestion),
        }

    def add(
        self, base: TestInstance, request: DistractorRequest, rng: np.random.Generator
    ) -> Perturbed | NotApplicable:
        """Add distractors to an instance's own scene; see ``Clutter.add``."""
        wanted = float(rng.uniform(0.0, self._p.occluded)) if request.occluder and request.count else None
        reason = ""
        for _ in range(self._p.scene_draws):
            try:
                return self._drawn(base, request, wanted, rng)
            except NoScene as error:
                reason = str(error)
        return NotApplicable(f"none of {self._p.scene_draws} scenes drawn is one; of the last: {reason}")

    def _drawn(
        self, base: TestInstance, request: DistractorRequest, wanted: float | None, rng: np.random.Generator
    ) -> Perturbed:
        """Draw a scene.

        Args:
            base: the instance.
            request: the wanted distractors.
            wanted: share of the target that an occluder hides; None for no occluder.
            rng: the only source of randomness.

        Raises:
            NoScene: it is not as wanted.
        """
        said = base.instruction
        scene = self._with_looks(base.scene, rng) if request.looks else base.scene
        candidates = self._candidates(said, scene, request)
        if wanted is not None:
            scene = self._with_occluder(said, scene, candidates, wanted, rng)
        scene = self._filled(said, scene, candidates, request.count - len(scene.objects) + len(base.scene.objects), rng)
        self._require_fit(said, scene)
        # Settling takes longest.
        if isinstance(plan := self._task.planner.plan(said, scene), Infeasible):
            raise NoScene(plan.reason)
        scene = self._rested(base, scene)
        found = self._task.make_instance(base.instance_id, said, scene)
        if isinstance(found, Infeasible):
            raise NoScene(found.reason)
        self._require_fit(said, scene)
        measures = self.measures(said, scene)
        names = ", ".join(name.replace("_", " ") for name in self.distractors(said, scene))
        note = f"{request.count} distractors: {names}" if names else "no distractors"
        return Perturbed(replace(found, proof=Proof(CLUTTERED, tuple(measures.items()))), note)

    # -- which things, and where --------------------------------------------------------------------

    def _candidates(self, said: Instruction, scene: Scene, request: DistractorRequest) -> list[ObjectModel]:
        """Return the models that may be added: of the wanted similarity, and such that the words may stay clear."""
        found = []
        for model in self._movable:
            if model.model in scene or not self._may_be_clear(said, scene, model):
                continue
            if request.similar == "any" or self._alike(model, said, scene) == (request.similar == "alike"):
                found.append(model)
        return found

    def _may_be_clear(self, said: Instruction, scene: Scene, model: ObjectModel) -> bool:
        """Return whether the words are clear with a thing beside in some corner: it may be nearer, or farther left."""
        region = self._p.region
        corners = [(x, y) for x in (region.x_min, region.x_max) for y in (region.y_min, region.y_max)]
        beside = (_with(scene, [ObjectState(model.model, model.model, Pose.planar(x, y, 0.0))]) for x, y in corners)
        return any(self._task.premise(said, there) is None for there in beside)

    def _alike(self, model: ObjectModel, said: Instruction, scene: Scene) -> bool:
        """Return whether a thing has the kind, the category or the colour of a named thing."""
        others = [self._library[scene[name].model] for name in named(said)]
        return any(
            model.type == other.type or model.category == other.category or model.colour == other.colour
            for other in others
        )

    def _filled(
        self, said: Instruction, scene: Scene, candidates: Sequence[ObjectModel], count: int, rng: np.random.Generator
    ) -> Scene:
        """Return the scene with so many more things, in an order that does not reveal the named ones.

        A thing without room is replaced by the next.

        Raises:
            NoScene: so many have no room, or too few may be added.
        """
        free = [model for model in candidates if model.model not in scene]
        if len(free) < count:
            raise NoScene(f"only {len(free)} things may stand there and leave the words clear, not {count}")
        areas = _Areas(self._library, self._p, scene, named(said))
        added: list[ObjectState] = []
        for index in rng.permutation(len(free)):
            if len(added) == count:
                break
            pose = self._place(free[index], areas, rng)
            if pose is not None:
                added.append(ObjectState(free[index].model, free[index].model, pose))
        if len(added) < count:
            raise NoScene(f"there is room for {len(added)} of {count} distractors")
        everything = _with(scene, added)
        standing = [o for o in everything if not self._library[o.model].fixed]
        fixtures = [o for o in everything if self._library[o.model].fixed]
        order = [standing[index] for index in rng.permutation(len(standing))]
        return replace(everything, objects=(*fixtures, *order))

    def _place(self, model: ObjectModel, areas: _Areas, rng: np.random.Generator) -> Pose | None:
        region = self._p.region
        for _ in range(self._p.place_draws):
            x, y = rng.uniform(region.x_min, region.x_max), rng.uniform(region.y_min, region.y_max)
            pose = Pose.planar(x, y, rng.uniform(-math.pi, math.pi))
            if self._stands_free(model, pose, areas):
                areas.add(shapes.footprint(model, pose))
                return pose
        return None

    def _stands_free(self, model: ObjectModel, pose: Pose, areas: _Areas) -> bool:
        area = shapes.footprint(model, pose)
        return self._region.covers(area) and areas.free(area)

    def _packed(self, wanted: int, rng: np.random.Generator) -> int:
        """Return the number of all things, tried in random order, that find room, up to a limit."""
        areas, found = _Areas(self._library, self._p, Scene(()), ()), 0
        for index in rng.permutation(len(self._movable)):
            if found == wanted:
                break
            found += self._place(self._movable[index], areas, rng) is not None
        return found

    def _with_looks(self, scene: Scene, rng: np.random.Generator) -> Scene:
        """Return the scene with another table, background and light, each drawn anew."""
        drawn = [names[int(rng.integers(len(names)))] for names in self._p.looks.kinds.values()]
        standing = tuple(o for o in scene if not self._library[o.model].fixed)
        return replace(scene, objects=(*(ObjectState(name, name, Pose()) for name in drawn), *standing))

    # -- what is hidden -----------------------------------------------------------------------------

    def _occlusion(self, said: Instruction, scene: Scene) -> float:
        return self._views.occlusion(scene, self.target(said), self._p.robot_view)

    def _with_occluder(
        self,
        said: Instruction,
        scene: Scene,
        candidates: Sequence[ObjectModel],
        wanted: float,
        rng: np.random.Generator,
    ) -> Scene:
        """Return the scene with a thing that hides about the wanted share of the target.

        Raises:
            NoScene: none of the tried places does.
        """
        if not candidates:
            raise NoScene("nothing may stand there and leave the words clear")
        model = candidates[int(rng.integers(len(candidates)))]
        x, y = scene[self.target(said)].pose.xy
        camera = self._views.positions[self._p.robot_view]
        to_x, to_y = camera[0] - x, camera[1] - y
        far = math.hypot(to_x, to_y)
        ahead, aside = (to_x / far, to_y / far), (-to_y / far, to_x / far)
        areas = _Areas(self._library, self._p, scene, named(said))
        best: tuple[float, Scene] | None = None
        looked = 0
        for _ in range(self._p.place_draws):
            along, beside = rng.uniform(0.0, ALONG_LINE), rng.uniform(-BESIDE_LINE, BESIDE_LINE)
            along += _span(self._library[scene[self.target(said)].model]) / 2.0
            at = x + along * ahead[0] + beside * aside[0], y + along * ahead[1] + beside * aside[1]
            pose = Pose.planar(*at, rng.uniform(-math.pi, math.pi))
            if not self._stands_free(model, pose, areas):
                continue
            there = _with(scene, [ObjectState(model.model, model.model, pose)])
            off = abs(self._occlusion(said, there) - wanted)
            if best is None or off < best[0]:
                best = off, there
            looked += 1
            if best[0] <= self._p.occlusion_step:
                return best[1]
            if looked == self._p.occluder_draws:
                break
        raise NoScene(f"the {model.model.replace('_', ' ')} hides {wanted:.2f} of the target nowhere")

    # -- what is refused ------------------------------------------------------------------------------

    def _require_fit(self, said: Instruction, scene: Scene) -> None:
        """Refuse words that are not clear, and a target that is hidden too much.

        Raises:
            NoScene: the first that does not fit.
        """
        unclear = self._task.premise(said, scene)
        if unclear is not None:
            raise NoScene(unclear)
        hidden = self._occlusion(said, scene)
        if hidden > self._p.occluded:
            raise NoScene(f"{hidden:.2f} of the target is hidden, expected at most {self._p.occluded:.2f}")

    def _rested(self, base: TestInstance, scene: Scene) -> Scene:
        """Return the scene at rest, with the earlier things exactly in their places.

        Raises:
            NoScene: something keeps moving, or moved too far.
        """
        rested = self._settle(scene)
        if rested is None:
            raise NoScene("something goes on moving")
        for before, after in zip(scene, rested, strict=True):
            if self._library[after.model].fixed:
                continue
            far = KEPT if after.name in base.scene else self._p.shifted
            if before.pose.distance_to(after.pose) > far or not shapes.is_upright(after.pose):
                raise NoScene(f"the {after.name.replace('_', ' ')} moved while the scene came to rest")
        kept = {o.name: o for o in base.scene}
        return replace(rested, objects=tuple(kept.get(o.name, o) for o in rested))


def _with(scene: Scene, added: Sequence[ObjectState]) -> Scene:
    return replace(scene, objects=(*scene.objects, *added))


def _span(model: ObjectModel) -> float:
    return math.hypot(*model.size[:2])
