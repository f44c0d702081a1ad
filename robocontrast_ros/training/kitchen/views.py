"""Images of the kitchen's scenes with all that stands there, drawn without physics: scenes before they settle.

One world holds as many things of each model as a scene has at most, and is compiled once. In a share of the images the
arm is at its start, as when a trial begins; in the others it is somewhere over the table, often with a thing below it.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from robocontrast_ros.configuration import record, resolve_uri
from robocontrast_ros.domain import PART, ObjectState, Pose, Scene, whole_of
from robocontrast_ros.policies.kitchen_bc.cameras import AGENT
from robocontrast_ros.robots.kinematics import Unreachable
from robocontrast_ros.system.processes import Stopped, stopping
from robocontrast_ros.tasks.bddl import read_types
from robocontrast_ros.tasks.kitchen import Kitchen
from robocontrast_ros.tasks.kitchen.drawing import Names, NoScene, ProblemScenes
from robocontrast_ros.tasks.tabletop.hand import ToolPlace
from robocontrast_ros.training.shards import Stored
from robocontrast_ros.training.studio import Studio

POSTURES = 100
"""Places of the tool that are tried before the arm counts as unable to reach the table."""

LOWEST = 0.05
"""Least height of the tool that is in the way [m]."""


@record
class KitchenViews:
    """Parameters of the images."""

    robots: tuple[str, ...] = Field(min_length=1, description="names of the robots' profiles, of equal shares")
    shards: int = Field(ge=3, description="number of files; the first is for validation")
    images: int = Field(gt=0, description="scenes in one file; their problems are uniform over those of the task")
    seed: int = Field(ge=0, description="of scenes and arms; evaluations must use other seeds")
    at_start: float = Field(ge=0, le=1, description="share of images with the arm at its start, behind all things")
    in_hand: float = Field(ge=0, le=1, description="share of the others with a thing below the hand, off the table")


@dataclass
class StoredKitchenViews(Stored):
    """The images of one file: n scenes of at most s things and fixtures, with at most p parts.

    Attributes:
        names: all models of the task that are no parts, in the order of the library.
        agent: windows of the camera ``agent``, uint8, shape (n, rows, columns, 3).
        models: index into ``names`` of each thing on the table, -1 for none, shape (n, s).
        poses: x, y [m] and yaw [rad] of each, shape (n, s, 3).
        joints: positions of a fixture's parts [m, or rad], in their order in its file, shape (n, s, p).
        at_start: whether the arm is at its start, shape (n,).
    """

    names: NDArray[np.str_]
    agent: NDArray[np.uint8]
    models: NDArray[np.int64]
    poses: NDArray[np.float32]
    joints: NDArray[np.float32]
    at_start: NDArray[np.bool_]


def make_views(task: str, parameters: KitchenViews, index: int) -> StoredKitchenViews:
    """Return the images of a file, which depend on the task, the parameters and its number alone.

    Args:
        task: URI of the task's file.
        parameters: the parameters of all files.
        index: number of the file.
    """
    # The files of one robot follow each other, so that a process seldom compiles another world.
    robot = parameters.robots[index * len(parameters.robots) // parameters.shards]
    return _photographer(task, robot).views(parameters, np.random.default_rng([parameters.seed, index]))


@functools.lru_cache(maxsize=1)
def _photographer(task: str, robot: str) -> KitchenPhotographer:
    return KitchenPhotographer(Kitchen.from_file(resolve_uri(task)), robot)


class KitchenPhotographer(Studio):
    """A kitchen with one robot and all things of a task's problems."""

    def __init__(self, task: Kitchen, robot: str) -> None:
        """Compile the world."""
        self._task, types = task, read_types()
        most: Counter[str] = Counter()
        for skill in task.skills.values():
            problem = skill.problem
            most |= Counter(Names(problem, types).model(name) for name in (*problem.fixtures, *problem.objects))
        for kinds in task.parameters.fixtures.kinds.values():
            most |= Counter(kinds)
        models = task.things.models
        things = {_named(model, number): models[model] for model, count in most.items() for number in range(count)}
        super().__init__(task.scenes, robot, things, (AGENT,))
        self._draw = ProblemScenes(task.parameters, task.things, types, lambda scene: scene)
        self._problems = [skill.problem for skill in task.skills.values()]
        self.names = tuple(model for model in models if task.things.is_thing(model) and PART not in model)
        most_things = max(len(problem.fixtures) + len(problem.objects) for problem in self._problems)
        self._most = most_things, max(len(models[name].joints) for name in self.names)

    def views(self, parameters: KitchenViews, rng: np.random.Generator) -> StoredKitchenViews:
        """Return the images of one file."""
        count = parameters.images
        slots, parts = self._most
        models, poses = np.full((count, slots), -1), np.zeros((count, slots, 3), np.float32)
        joints, images = np.zeros((count, slots, parts), np.float32), []
        at_start = rng.random(count) < parameters.at_start
        for index in range(count):
            if stopping():
                raise Stopped
            scene = self.scene(rng)
            shown, posture = scene, None
            if not at_start[index]:
                place, posture = self._somewhere(rng)
                if rng.random() < parameters.in_hand:
                    scene, shown = self._lifted(scene, place, rng)
            images.append(self.image(shown, posture, None if at_start[index] else rng.uniform(0.0, 0.08))[0])
            whole = [item for item in scene if item.model in self.names]
            for slot, item in enumerate(whole):
                models[index, slot] = self.names.index(item.model)
                poses[index, slot] = *item.pose.xy, item.pose.yaw
                for part, moving in enumerate(self._task.things.models[item.model].joints):
                    name = f"{item.name}{PART}{moving.name}"
                    joints[index, slot, part] = self._task.things.position(scene, name)
        return StoredKitchenViews(np.array(self.names), np.stack(images), models, poses, joints, at_start)

    def scene(self, rng: np.random.Generator) -> Scene:
        """Draw a scene of one of the problems; things have the names of this world."""
        while True:
            try:
                drawn = self._draw.draw(self._problems[int(rng.integers(len(self._problems)))], rng)
            except NoScene:
                continue
            return self.renamed(drawn)

    def renamed(self, scene: Scene) -> Scene:
        """Return a scene of the task with the names of this world."""
        counted: Counter[str] = Counter()
        names: dict[str, str] = {}
        for item in scene:
            if PART not in item.model:
                names[item.name] = _named(item.model, counted[item.model])
                counted[item.model] += 1
        states = []
        for item in scene:
            whole = whole_of(item.name)
            name = f"{names[whole]}{item.name[len(whole) :]}" if whole else names[item.name]
            states.append(ObjectState(name, item.model, item.pose))
        return Scene(tuple(states))

    def _somewhere(self, rng: np.random.Generator) -> tuple[ToolPlace, tuple[float, ...]]:
        """Return a place over the table that the tool reaches, and the arm's posture there."""
        (x0, x1), (y0, y1), (_, top) = self._task.parameters.tool_region
        for _ in range(POSTURES):
            at = rng.uniform((x0, y0, LOWEST), (x1, y1, top))
            place = ToolPlace(tuple(at.tolist()), rng.uniform(-math.pi / 2, math.pi / 2))
            try:
                return place, self._kinematics.posture(place.pose)
            except Unreachable:
                continue
        raise Unreachable(f"robot '{self._profile.name}' reaches none of {POSTURES} places over the table")

    def _lifted(self, scene: Scene, place: ToolPlace, rng: np.random.Generator) -> tuple[Scene, Scene]:
        """Return a scene without one of its things, and that with it below the tool."""
        models = self._task.things.models
        movable = [item for item in scene if item.model in self.names and not models[item.model].fixed]
        taken = movable[int(rng.integers(len(movable)))]
        high = models[taken.model].size[2]
        x, y, z = place.position
        held = Pose.planar(x, y, rng.uniform(-math.pi, math.pi), max(z - high + 0.01, 0.0))
        left = Scene(tuple(item for item in scene if item is not taken))
        return left, scene.moved(taken.name, held)


def _named(model: str, number: int) -> str:
    return f"{model}_{number}"
