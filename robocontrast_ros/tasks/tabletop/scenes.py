"""The world of the task, and the drawing of its scenes: things at random places, settled, such that a plan exists."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import shapely
from shapely import Polygon

from robocontrast_ros.configuration import ConfigurationError, resolve_uri
from robocontrast_ros.domain import Instruction, ObjectState, Pose, Scene
from robocontrast_ros.images.rendering import Camera
from robocontrast_ros.objects import SHIPPED, ObjectModel, find_model, load_library
from robocontrast_ros.objects.settling import DEEPEST, settle
from robocontrast_ros.objects.views import SceneViews
from robocontrast_ros.tasks.base import ModelScenes
from robocontrast_ros.tasks.tabletop import shapes
from robocontrast_ros.tasks.tabletop.goals import Library, named
from robocontrast_ros.tasks.tabletop.parameters import TabletopParameters
from robocontrast_ros.tasks.tabletop.planner import TabletopPlanner

Settle = Callable[[Scene], Scene | None]
"""Returns a scene after it has come to rest; None if it does not."""

SETTLED_GAP = 0.8
"""Least share of the drawn gaps that is left when the scene has settled."""


class NoRoom(Exception):
    """No free place was found for an object; the text names it."""


def at_rest(scene: Scene, library: Library, world: str) -> Scene | None:
    """Return a scene that physics has moved to rest; None if something keeps moving, or is inside something else."""
    settled = settle(scene, library, world)
    return settled.scene if settled.still and settled.overlap <= DEEPEST else None


def views_of(parameters: TabletopParameters, library: Library, source: str = "") -> SceneViews:
    """Return the views of scenes, by the two cameras that judge distractors.

    Args:
        parameters: the task file.
        library: the objects in use.
        source: the task file's path, for the error.

    Raises:
        ConfigurationError: the world has no such camera.
    """
    p = parameters.distracting
    if p is None:
        return SceneViews(library, parameters.world, ())
    named = {"robot_view": p.robot_view, "top_view": p.top_view}
    views = SceneViews(
        library, parameters.world, tuple(Camera(name, *p.size) for name in dict.fromkeys(named.values()))
    )
    for key, name in named.items():
        if name not in views.positions:
            raise ConfigurationError.unknown(source, f"distracting.{key}", name, views.positions, "camera of the world")
    return views


def table_scenes(parameters: TabletopParameters, library: Library) -> ModelScenes:
    """Return the objects of the world, and the robot's start."""
    models = {name: model.uri for name, model in library.items()}
    return ModelScenes(
        parameters.world,
        parameters.physics_step,
        models,
        lambda name: library[name].footprint,
        parameters.start,
        parameters.tool_region,
        thing="object",
    )


def objects_in_use(parameters: TabletopParameters, source: str) -> dict[str, ObjectModel]:
    """Return the objects and fixtures that a task file names, by model, in the order of the library.

    Raises:
        ConfigurationError: one is unknown or of the wrong kind, or they are too few for a scene.
    """
    library = load_library((SHIPPED, *(str(resolve_uri(folder)) for folder in parameters.folders)))
    movable = {name: model for name, model in library.items() if not model.fixed}
    known = [*movable, *dict.fromkeys(model.type for model in movable.values())]
    for index, name in enumerate(parameters.objects):
        if name not in known:
            raise ConfigurationError.unknown(source, f"objects.{index}", name, known, "object")
    used = {
        name: model
        for name, model in movable.items()
        if not parameters.objects or name in parameters.objects or model.type in parameters.objects
    }
    if len(used) < parameters.sampling.objects[1]:
        raise ConfigurationError(
            source,
            "sampling.objects",
            list(parameters.sampling.objects),
            f"at most the {len(used)} objects in use",
            "Name more `objects`, or lower the number.",
        )
    further = [("distracting.looks", parameters.distracting.looks)] if parameters.distracting is not None else []
    for key, fixtures in (("fixtures", parameters.fixtures), *further):
        for category, names in fixtures.kinds.items():
            for index, name in enumerate(names):
                where = f"{key}.{category}s.{index}"
                fixture = find_model(library, name, source, where)
                if not fixture.fixed or fixture.category != category:
                    fitting = [m.model for m in library.values() if m.fixed and m.category == category]
                    raise ConfigurationError.unknown(source, where, name, fitting, category)
                used[name] = fixture
    return used


def suits(family: str, target: ObjectModel, reference: ObjectModel) -> bool:
    """Return whether two kinds of objects make sense in a family; each pair of them has one skill besides move_near."""
    stacked = target.stackable and reference.stackable
    match family:
        case "stack":
            return stacked and reference.top is not None
        case "put_on":
            return reference.top is not None and reference.cavity is None and not stacked
        case "put_in":
            return reference.cavity is not None and target.cavity is None
    return True


class SceneDraw:
    """Draws scenes of a family of instructions."""

    def __init__(
        self, parameters: TabletopParameters, library: Library, planner: TabletopPlanner, settle: Settle
    ) -> None:
        self._p, self._library, self._planner, self._settle = parameters, library, planner, settle
        self._pairs: dict[str, list[dict[str, str]]] = {}
        self._known: dict[tuple[str, str, str], bool] = {}
        self._movable = [model for model in library.values() if not model.fixed]
        self._region = parameters.region.box

    def pairs(self, family: str) -> list[dict[str, str]]:
        """Return the arguments that an instruction of a family can have, as far as the objects alone show."""
        if family not in self._pairs:
            self._pairs[family] = list(self._suited(family))
        return self._pairs[family]

    def _suited(self, family: str) -> Iterator[dict[str, str]]:
        if family == "pick":
            yield from ({"target": model.model} for model in self._movable if self._possible(family, model))
            return
        for target, reference in itertools.permutations(self._movable, 2):
            if suits(family, target, reference) and self._possible(family, target, reference):
                yield {"target": target.model, "reference": reference.model}

    def _possible(self, family: str, target: ObjectModel, reference: ObjectModel | None = None) -> bool:
        """Return whether there is a plan as far as the two alone show; colours make no difference."""
        key = family, target.type, reference.type if reference is not None else ""
        if key not in self._known:
            other = reference.model if reference is not None else ""
            self._known[key] = self._planner.possible(family, target.model, other) is None
        return self._known[key]

    def scene(self, instruction: Instruction, rng: np.random.Generator) -> Scene:
        """Draw a scene for an instruction, not settled: the named things, others, and fixtures.

        The number of objects is uniform, and so is the choice of those not named; positions are uniform over the
        region, yaws over the circle, such that footprints are inside it and far enough apart.

        Raises:
            NoRoom: no place was found for one of them.
        """
        p, first = self._p.sampling, named(instruction)
        fewest, most = p.objects
        count = int(rng.integers(fewest, most + 1))
        others = [model.model for model in self._movable if model.model not in first]
        picked = rng.permutation(len(others))[: max(count - len(first), 0)]
        models = [*first, *(others[index] for index in picked)]
        poses = self.places(models, first, rng, p.near_beyond if instruction.family == "move_near" else p.named_gap)
        standing = [names[int(rng.integers(len(names)))] for names in self._p.fixtures.kinds.values()]
        # In an order that does not reveal the named ones.
        order = [models[index] for index in rng.permutation(len(models))]
        return Scene(
            (
                *(ObjectState(name, name, Pose()) for name in standing),
                *(ObjectState(name, name, poses[name]) for name in order),
            )
        )

    def places(
        self, models: Sequence[str], first: Sequence[str], rng: np.random.Generator, apart: float
    ) -> dict[str, Pose]:
        """Draw places one after the other, with wider gaps about those named.

        The larger ones come first, for which there is least room.

        Args:
            models: to be placed.
            first: those named.
            rng: the source of randomness.
            apart: least gap between two that are named [m].

        Raises:
            NoRoom: no place was found for one of them.
        """
        p = self._p.sampling
        poses: dict[str, Pose] = {}
        areas: list[Polygon] = []
        gaps: list[float] = []
        both: list[bool] = []
        region = self._p.region
        for name in sorted(models, key=lambda name: -math.hypot(*self._library[name].size[:2])):
            model = self._library[name]
            own = p.named_gap if name in first else p.gap
            for _ in range(p.place_draws):
                x, y = rng.uniform(region.x_min, region.x_max), rng.uniform(region.y_min, region.y_max)
                pose = Pose.planar(x, y, rng.uniform(-math.pi, math.pi))
                area = shapes.footprint(model, pose)
                if not self._region.covers(area):
                    continue
                least = np.where(both, apart, np.maximum(gaps, own)) if name in first else np.maximum(gaps, own)
                if areas and (shapely.distance(area, np.array(areas, dtype=object)) < least).any():
                    continue
                break
            else:
                raise NoRoom(name)
            poses[name] = pose
            areas.append(area)
            gaps.append(own)
            both.append(name in first)
        return poses

    def settled(self, instruction: Instruction, scene: Scene) -> Scene | None:
        """Return a scene at rest; None if something rolls on, went far, fell over or came too close to another."""
        rested = self._settle(scene)
        if rested is None:
            return None
        models = {o.name: self._library[o.model] for o in rested}
        for before, after in zip(scene, rested, strict=True):
            if models[after.name].fixed:
                continue
            if before.pose.distance_to(after.pose) > self._p.sampling.settled or not shapes.is_upright(after.pose):
                return None
            if not self._region.covers(shapes.footprint(models[after.name], after.pose)):
                return None
        return rested if not list(self.too_close(instruction, rested)) else None

    def too_close(self, instruction: Instruction, scene: Scene) -> Iterator[tuple[str, str]]:
        """Yield pairs of objects with too small a gap between them."""
        p, first = self._p.sampling, named(instruction)
        standing = [o for o in scene if not self._library[o.model].fixed]
        areas = [shapes.footprint(self._library[o.model], o.pose) for o in standing]
        for i, a in enumerate(standing):
            for j, b in enumerate(standing[:i]):
                least = p.named_gap if a.name in first or b.name in first else p.gap
                if shapes.gap(areas[i], areas[j]) < least * SETTLED_GAP:
                    yield a.name, b.name
