"""Images of things on the table, with their poses, drawn without physics: the task's scenes before they settle.

One world holds all things of the task and is compiled once, because that takes longest; a scene shows some of them. In
a share of the images the arm is at its start, as when a trial begins; in the others it is somewhere over the table,
often with a thing in its hand.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from robocontrast_ros.configuration import record, resolve_uri
from robocontrast_ros.domain import Instruction, Pose, Scene
from robocontrast_ros.domain.geometry import Vector3
from robocontrast_ros.policies.tabletop_bc.cameras import FRONT, TOP
from robocontrast_ros.robots.kinematics import Unreachable
from robocontrast_ros.system.processes import Stopped, stopping
from robocontrast_ros.tasks.tabletop.hand import ToolPlace, grasp_place
from robocontrast_ros.tasks.tabletop.parameters import check_objects
from robocontrast_ros.tasks.tabletop.scenes import NoRoom, SceneDraw
from robocontrast_ros.tasks.tabletop.task import Tabletop
from robocontrast_ros.training.shards import Stored
from robocontrast_ros.training.studio import Studio

LIFTED = 0.03
"""Least height of a thing in the hand that is off the table [m]."""

POSTURES = 100
"""Places of the tool that are tried before the arm counts as unable to reach the table."""


@record
class ViewParameters:
    """Parameters of the images."""

    robots: tuple[str, ...] = Field(min_length=1, description="names of the robots' profiles, of equal shares")
    shards: int = Field(gt=0, description="number of files")
    images: int = Field(gt=0, description="scenes in one shard, each seen by both cameras")
    seed: int = Field(ge=0, description="of scenes and arms; evaluations must use other seeds")
    at_start: float = Field(ge=0, le=1, description="share of images with the arm at its start, behind all things")
    in_hand: float = Field(
        ge=0, le=1, description="share of the others with a thing in the hand, off the table or on it"
    )
    objects: tuple[int, int] | None = Field(
        default=None, description="fewest and most things of a scene; none: the task's `sampling.objects`"
    )

    def __post_init__(self) -> None:
        if self.objects is not None:
            check_objects(self.objects)


@dataclass
class StoredViews(Stored):
    """The images of one file: n scenes of at most s things.

    Attributes:
        names: all models of the task, in the order of the library.
        top: windows of the camera ``top``, uint8, shape (n, rows, columns, 3).
        front: the same of ``front``.
        models: index into ``names`` of each thing on the table, -1 for none, shape (n, s).
        poses: x, y [m] and yaw [rad] of each, shape (n, s, 3).
        at_start: whether the arm is at its start, shape (n,).
    """

    names: NDArray[np.str_]
    top: NDArray[np.uint8]
    front: NDArray[np.uint8]
    models: NDArray[np.int64]
    poses: NDArray[np.float32]
    at_start: NDArray[np.bool_]


def make_views(task: str, parameters: ViewParameters, index: int) -> StoredViews:
    """Return the images of a file, which depend on the task, the parameters and its number alone.

    Args:
        task: URI of the task's file.
        parameters: the parameters of all files.
        index: number of the file.
    """
    # The files of one robot follow each other, so that a process seldom compiles another world.
    robot = parameters.robots[index * len(parameters.robots) // parameters.shards]
    rng = np.random.default_rng([parameters.seed, index])
    return _photographer(task, robot, parameters.objects).views(parameters, rng)


@functools.lru_cache(maxsize=1)
def _photographer(task: str, robot: str, objects: tuple[int, int] | None) -> Photographer:
    return Photographer(Tabletop.from_file(resolve_uri(task), objects), robot)


class Photographer(Studio):
    """A table with one robot and all things of a task."""

    def __init__(self, task: Tabletop, robot: str) -> None:
        """Compile the world, which takes half a minute: most of it draws the things' textures."""
        super().__init__(task.scenes, robot, task.library, (TOP, FRONT))
        self._task = task
        self._draw = SceneDraw(task.parameters, task.library, task.planner, lambda scene: scene)
        self.names = tuple(name for name, thing in task.library.items() if not thing.fixed)

    def views(self, parameters: ViewParameters, rng: np.random.Generator) -> StoredViews:
        """Return the images of one file."""
        slots = self._task.parameters.sampling.most
        count = parameters.images
        models, poses = np.full((count, slots), -1), np.zeros((count, slots, 3), np.float32)
        tops, fronts, at_start = [], [], rng.random(count) < parameters.at_start
        for index in range(count):
            if stopping():
                raise Stopped
            scene = self._scene(rng)
            things = [item for item in scene if item.name in self.names]
            posture, width, held = self._start, self._profile.end_effector.greatest_width, None
            if not at_start[index]:
                grasped = things[0].name if rng.random() < parameters.in_hand else ""
                posture, width, held = self._reaching(scene, grasped, rng)
            top, front = self.image(scene if held is None else scene.moved(things[0].name, held), posture, width)
            tops.append(top)
            fronts.append(front)
            # A lifted thing counts as in the hand, not as on the table.
            seen = [item for item in things if held is None or item is not things[0] or held.position[2] < LIFTED]
            for slot, item in enumerate(seen):
                models[index, slot] = self.names.index(item.name)
                poses[index, slot] = *item.pose.xy, item.pose.yaw
        return StoredViews(np.array(self.names), np.stack(tops), np.stack(fronts), models, poses, at_start)

    def _scene(self, rng: np.random.Generator) -> Scene:
        """Draw a scene; another one if there is no room for all things."""
        while True:
            wanted = Instruction("", "pick", (("target", self.names[rng.integers(len(self.names))]),))
            try:
                return self._draw.scene(wanted, rng)
            except NoRoom:
                continue

    def _reaching(
        self, scene: Scene, grasped: str, rng: np.random.Generator
    ) -> tuple[tuple[float, ...], float, Pose | None]:
        """Return a posture over the table, the fingers' distance [m], and the pose of the thing that they hold."""
        for _ in range(POSTURES):
            place, width, held = self._somewhere(rng), rng.uniform(0.0, self._profile.end_effector.greatest_width), None
            if grasped:
                model = self._task.library[grasped]
                grasp = model.grasps[rng.integers(len(model.grasps))]
                at = scene[grasped].pose
                if rng.random() < 0.5:
                    # Lifted and carried.
                    height = LIFTED + rng.uniform(0.0, 0.25)
                    at = Pose.planar(*place.position[:2], rng.uniform(-math.pi, math.pi), height)
                found = grasp_place(at, grasp, int(rng.integers(grasp.turns)))
                if found is None or not found.is_turned_little:
                    continue
                place, width, held = found, min(grasp.width, self._profile.end_effector.greatest_width), at
            try:
                return self._kinematics.posture(place.pose), width, held
            except Unreachable:
                continue
        raise Unreachable(f"robot '{self._profile.name}' reaches none of {POSTURES} places over the table")

    def _somewhere(self, rng: np.random.Generator) -> ToolPlace:
        place: Vector3 = tuple(rng.uniform(low, high) for low, high in self._task.scenes.region)
        return ToolPlace(place, rng.uniform(-math.pi / 2, math.pi / 2))
