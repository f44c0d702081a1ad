"""The camera that reads a real table: where objects stand, what is unsure, and whether a trial's goal is reached."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robocontrast_ros.configuration import parse_record, read_yaml, record, resolve_uri
from robocontrast_ros.domain import Fault, Instruction, ObjectState, Pose, Scene
from robocontrast_ros.episodes.bench import BenchFault
from robocontrast_ros.objects import library_of
from robocontrast_ros.perception import (
    CalibratedCamera,
    ObjectTag,
    SceneEstimate,
    SceneEstimator,
    Verdict,
    read_block,
    verdict,
)
from robocontrast_ros.perception.estimator import nearest_turn
from robocontrast_ros.perception.plates import supports, tags_for
from robocontrast_ros.strategies.effort import Tolerance
from robocontrast_ros.tasks.protocol import Goal, PartlySeenGoal, StagedGoal, Task
from robocontrast_ros.worlds.backends import TableReading

Tags = Mapping[str, Sequence[ObjectTag]]
"""Name of an object -> tags on it."""


@record
class TagsFile:
    """A file of the tags on objects."""

    tags: dict[str, tuple[ObjectTag, ...]]


def load_tags(file: Path) -> Tags:
    """Return the tags that a file describes.

    Raises:
        ConfigurationError: it does not fit.
    """
    return parse_record(TagsFile, read_yaml(file), str(file)).tags


def standard_tags(uris: Iterable[str]) -> Tags:
    """Return the tags that `robocontrast print-tags --objects` prints for a task's objects."""
    return tags_for(library_of(uris).values())


class TableCamera:
    """Reads the scenes of a task from pictures. Not for several threads at once."""

    def __init__(self, task: Task, camera: CalibratedCamera, tags: Tags | None = None) -> None:
        """Take the parts.

        Args:
            task: whose objects are on the table.
            camera: that looks at it.
            tags: on the objects; the standard ones when None. What has none is told by its colour and outline.
        """
        self._task, self._camera = task, camera
        models = task.scenes.models
        library = library_of(models.values())
        self._tags = standard_tags(models.values()) if tags is None else tags
        self._supports = supports(library.values())
        self._fixed = {name for name, model in library.items() if model.fixed}
        self._blocks = {name: read_block(resolve_uri(uri)) for name, uri in models.items() if name not in library}
        corners = np.array(task.backdrop.floor) if task.backdrop else None
        self._region = None if corners is None else (tuple(corners.min(axis=0)), tuple(corners.max(axis=0)))
        self._estimate: SceneEstimate | None = None

    def read(self, image: NDArray[np.uint8], expected: Scene) -> TableReading:
        """Return what a picture tells.

        Args:
            image: RGB, shape (rows, columns, 3).
            expected: what is on the table, and where it was last.

        Raises:
            BenchFault: the picture shows nothing that can be used, or an object can be told by nothing.
        """
        given = [o.name for o in expected if o.model in self._fixed]
        try:
            estimator = SceneEstimator(
                self._camera,
                expected,
                tags=self._tags,
                blocks=self._blocks,
                supports=self._supports,
                given=given,
                region=self._region,
            )
        except ValueError as error:
            raise BenchFault(Fault.SENSOR_LOST, str(error)) from None
        self._estimate = estimate = estimator.estimate(image)
        unsure = {o.name: " ".join(o.reasons) or "not seen" for o in estimate.objects if not o.certain}
        if estimate.problems:
            unsure |= {o.name: " ".join(estimate.problems) for o in expected if o.name not in given}
        deviations = {o.name: Tolerance(o.position_std, o.yaw_std) for o in estimate.objects if o.certain}
        objects = []
        for item in expected:
            seen = estimate[item.name]
            pose = item.pose if seen.pose is None else _turned_as(seen.pose, seen.turns, item.pose)
            objects.append(ObjectState(item.name, item.model, pose))
        return TableReading(Scene(tuple(objects), expected.frame_id, expected.robot), unsure, deviations)

    @property
    def problems(self) -> tuple[str, ...]:
        """What was wrong with the last picture, in words."""
        return self._estimate.problems if self._estimate is not None else ()

    def verdict(self, goal: Goal, instruction: Instruction) -> Verdict:
        """Return whether the last picture shows that a goal is reached, and whether that is certain."""
        if self._estimate is None:
            return Verdict(None, ("no picture was looked at",))
        names = [o.name for o in self._estimate.objects]
        named = [str(value) for _, value in instruction.arguments if value in names]
        return seen_verdict(goal, self._estimate, named or names)


def seen_verdict(goal: Goal, estimate: SceneEstimate, names: Iterable[str]) -> Verdict:
    """Return whether the scene in which a trial was left fulfils a goal, and whether a camera can tell.

    Args:
        goal: of the task.
        estimate: of the scene.
        names: objects that the goal is about.
    """
    said = verdict(goal, estimate, names)
    if said.success is None:
        return said
    if isinstance(goal, PartlySeenGoal):
        unseen = goal.unseen(said.success)
    else:
        unseen = "The goal has several steps, and a picture of the end does not show them." * isinstance(
            goal, StagedGoal
        )
    return replace(said, doubts=(*said.doubts, unseen)) if unseen else said


def _turned_as(pose: Pose, turns: int, wanted: Pose) -> Pose:
    """Return a pose with that of the turns that look the same which is nearest to where it is wanted."""
    if turns == 1 or pose.orientation[0] or pose.orientation[1]:
        return pose
    x, y, z = pose.position
    return Pose.planar(x, y, nearest_turn(pose.yaw, turns, wanted.yaw), z)
