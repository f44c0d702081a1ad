"""The camera that reads a real table: the objects' poses, its doubts, and whether a trial's goal is reached."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from robocontrast_ros.configuration import ConfigurationError, parse_record, read_yaml, record, resolve_uri
from robocontrast_ros.domain import Instruction, ObjectState, Pose, Scene, whole_of
from robocontrast_ros.images.tag_families import USUAL
from robocontrast_ros.objects import library_of, moving_parts
from robocontrast_ros.perception import (
    CalibratedCamera,
    ObjectEstimate,
    ObjectTag,
    SceneEstimate,
    SceneEstimator,
    Verdict,
    read_block,
    verdict,
)
from robocontrast_ros.perception.estimator import nearest_turn
from robocontrast_ros.perception.pictures import problems_of
from robocontrast_ros.perception.plates import supports, tags_for
from robocontrast_ros.strategies.effort import Tolerance, with_whole_in_place
from robocontrast_ros.tasks.protocol import Goal, PartlySeenGoal, StagedGoal, Task
from robocontrast_ros.worlds.backends import TableReading

Tags = Mapping[str, Sequence[ObjectTag]]
"""Model of an object, or of a moving part -> tags on it, in its frame."""


@record
class TagsFile:
    """A file of the tags on objects."""

    tags: dict[str, tuple[ObjectTag, ...]]

    def __post_init__(self) -> None:
        """Refuse a number that is on two tags: a camera could not distinguish them."""
        numbers = [tag.number for own in self.tags.values() for tag in own]
        if twice := sorted({number for number in numbers if numbers.count(number) > 1}):
            raise ValueError(f"each number on one tag; {twice[0]} is there twice")


@record
class FixedTagsFile:
    """A file of tags that are fixed to the table, with their poses in the world frame."""

    tags: tuple[ObjectTag, ...] = Field(min_length=1)


def load_tags(file: Path, task: Task | None = None) -> Tags:
    """Return the tags that a file describes.

    Args:
        file: YAML of a ``TagsFile``.
        task: the task of the objects; None if their names were checked before.

    Raises:
        ConfigurationError: the file does not fit, or names an object that is not the task's.
    """
    tags = parse_record(TagsFile, read_yaml(file), str(file)).tags
    if task is not None and (unknown := next((name for name in tags if name not in task.scenes.models), None)):
        kind = f"object of the task '{task.name}'"
        raise ConfigurationError.unknown(str(file), f"tags.{unknown}", unknown, task.scenes.models, kind)
    return tags


def load_fixed_tags(file: Path, on_objects: Tags) -> tuple[ObjectTag, ...]:
    """Return the tags that a file describes as fixed to the table, with their poses in the world frame.

    Args:
        file: YAML of a ``FixedTagsFile``.
        on_objects: the tags on objects, which have other numbers.

    Raises:
        ConfigurationError: the file does not fit, or a number is used twice.
    """
    fixed = parse_record(FixedTagsFile, read_yaml(file), str(file)).tags
    taken = {tag.number: f"that of a tag on '{name}'" for name, own in on_objects.items() for tag in own}
    for k, tag in enumerate(fixed):
        if tag.number in taken:
            cure = "Fix a tag of another number to the table, so that the camera can tell them apart."
            expected = f"a number that no other tag has; it is {taken[tag.number]}"
            raise ConfigurationError(str(file), f"tags.{k}.number", tag.number, expected, cure)
        taken[tag.number] = f"that of tags.{k}, too"
    return fixed


def standard_tags(uris: Iterable[str], family: str = USUAL) -> Tags:
    """Return the tags that `robocontrast print-tags --objects` prints for a task's objects.

    Raises:
        ValueError: there are more tags than the family has numbers.
    """
    return tags_for(library_of(uris).values(), family=family)


class TableCamera:
    """Reads the scenes of a task from pictures. Not for several threads at once."""

    def __init__(
        self,
        task: Task,
        camera: CalibratedCamera,
        tags: Tags | None = None,
        fixed_tags: Sequence[ObjectTag] = (),
    ) -> None:
        """Take the parts.

        Args:
            task: the task of the objects on the table.
            camera: the camera over the table.
            tags: tags on the objects and their moving parts; None for the standard ones, of which knobs have none. An
                object without a tag is recognised by its colour and outline.
            fixed_tags: tags on the table, with their poses in the world frame: they show whether the camera was moved.
        """
        self._task, self._camera = task, camera
        models = task.scenes.models
        library = library_of(models.values())
        self._tags = standard_tags(models.values()) if tags is None else tags
        self._fixed_tags = tuple(fixed_tags)
        self._supports = supports(library.values())
        self._fixed = {name for name, model in library.items() if model.fixed}
        self._joints = {name: part.joint for name, part in moving_parts(models.values()).items()}
        no_blocks = {*library, *self._joints}
        self._blocks = {name: read_block(resolve_uri(uri)) for name, uri in models.items() if name not in no_blocks}
        corners = np.array(task.backdrop.floor) if task.backdrop else None
        self._region = None if corners is None else (tuple(corners.min(axis=0)), tuple(corners.max(axis=0)))
        self._estimate: SceneEstimate | None = None
        self._misfits: tuple[str, ...] = ()

    def read(self, image: NDArray[np.uint8], expected: Scene) -> TableReading:
        """Return the reading of a picture.

        The scene includes other objects of the task that are seen in the region of objects, by their tag, or with
        certainty by their colour and outline. An object is unsure if it is not seen, or has no tag and is no known
        block. One that its file calls fixed is taken to be as expected if it has no tag. A moving part is found by its
        tags on its joint.

        Args:
            image: RGB, shape (rows, columns, 3).
            expected: the objects that should be on the table, at their last known poses.
        """
        several = self._several(expected)
        given = [o.name for o in expected if self._stands_fast(o)]
        untold = [o.name for o in expected if o.name not in given and (o.model in several or not self._told(o))]
        given_all = [*given, *untold]
        others = self._others(expected)
        tagged = tuple(o for o in others if self._tags.get(o.model))
        estimate = self._estimated(image, expected, tagged, given_all)
        seen = tuple(o for o in tagged if self._on_table(estimate[o.name].pose))
        if len(tagged) < len(others):
            # Shadows and hands look a little like blocks: only a block that is certain counts.
            wider = self._estimated(image, expected, others, given_all)
            certain = tuple(o for o in others if o not in tagged and wider[o.name].certain)
            if certain and not wider.problems:
                estimate, seen = wider, (*seen, *certain)
        seen = () if estimate.problems else seen
        names = {*expected.names, *(o.name for o in seen)}
        known = (_untold(o, o.model in several) if o.name in untold else o for o in estimate.objects if o.name in names)
        self._estimate = estimate = replace(estimate, objects=tuple(known))
        self._misfits = () if problems_of(image, self._camera.intrinsics) else estimate.problems
        doubted = (o for o in estimate.objects if o.name in expected and not o.certain)
        unsure = {o.name: " ".join(o.reasons) or "not seen" for o in doubted}
        if estimate.problems:
            unsure |= {o.name: " ".join(estimate.problems) for o in expected if o.name not in given}
        deviations = {o.name: Tolerance(o.position_std, o.yaw_std) for o in estimate.objects if o.certain}
        objects = []
        for item in (*expected, *seen):
            found = estimate[item.name]
            pose = item.pose if found.pose is None else _turned_as(found.pose, found.turns, item.pose)
            objects.append(ObjectState(item.name, item.model, pose))
        scene = Scene(tuple(objects), expected.frame_id, expected.robot)
        for item in expected:
            if estimate[item.name].pose is None and whole_of(item.name) in scene:
                # A part that is not seen stays in its object.
                scene = scene.moved(item.name, with_whole_in_place(expected, scene, item.name))
        return TableReading(scene, unsure, deviations)

    def unseen(self, expected: Scene, reason: str) -> TableReading:
        """Return the reading without a picture: all objects are unsure for this reason, except fixed, untagged ones."""
        self._estimate = None
        return TableReading(expected, {o.name: reason for o in expected if not self._stands_fast(o)})

    def problems(self, image: NDArray[np.uint8]) -> tuple[str, ...]:
        """Return the problems of a picture, or else the last problems of the calibration, in words.

        This may be called while another thread reads.

        Args:
            image: RGB, shape (rows, columns, 3).
        """
        return problems_of(image, self._camera.intrinsics) or self._misfits

    def verdict(self, goal: Goal, instruction: Instruction) -> Verdict:
        """Return whether the last picture shows that a goal is reached, and whether that is certain."""
        if self._estimate is None:
            return Verdict(None, ("no picture was looked at",))
        names = [o.name for o in self._estimate.objects]
        named = [str(value) for _, value in instruction.arguments if value in names]
        return seen_verdict(goal, self._estimate, named or names)

    def _estimated(
        self, image: NDArray[np.uint8], expected: Scene, others: Sequence[ObjectState], given: Sequence[str]
    ) -> SceneEstimate:
        """Return the estimate of the objects of a scene, and of ``others`` if they are seen.

        Raises:
            ValueError: an object has neither a tag nor a known colour and outline.
        """
        estimator = SceneEstimator(
            self._camera,
            replace(expected, objects=(*expected, *others)),
            tags={o.name: self._tags[o.model] for o in (*expected, *others) if self._tags.get(o.model)},
            blocks=self._blocks,
            supports=self._supports,
            joints=self._joints,
            fixed_tags=self._fixed_tags,
            given=given,
            region=self._region,
        )
        return estimator.estimate(image)

    def _others(self, expected: Scene) -> tuple[ObjectState, ...]:
        """Return the recognisable objects of the task that should not be there."""
        known = [name for name in self._task.scenes.models if name in self._blocks or self._tags.get(name)]
        no_others = {*expected.names, *(o.model for o in expected), *self._fixed, *self._joints}
        return tuple(ObjectState(name, name, Pose()) for name in known if name not in no_others)

    def _on_table(self, pose: Pose | None) -> bool:
        """Return whether an object is seen, and is in the region of objects."""
        if pose is None or self._region is None:
            return pose is not None
        (x0, y0), (x1, y1) = self._region
        return x0 <= pose.xy[0] <= x1 and y0 <= pose.xy[1] <= y1

    def _stands_fast(self, item: ObjectState) -> bool:
        """Return whether an object is taken to be as expected: its file calls it fixed, and no tag shows its place."""
        return item.model in self._fixed and not self._tags.get(item.model)

    def _told(self, item: ObjectState) -> bool:
        """Return whether an object can be recognised by a tag, or by its colour and outline."""
        return bool(self._tags.get(item.model)) or item.model in self._blocks

    def _several(self, expected: Scene) -> set[str]:
        """Return the tagged models of which a scene has several: their tags have the same numbers."""
        models = [o.model for o in expected if self._tags.get(o.model)]
        return {model for model in models if models.count(model) > 1}


def seen_verdict(goal: Goal, estimate: SceneEstimate, names: Iterable[str]) -> Verdict:
    """Return whether the last scene of a trial fulfils a goal, and whether a camera can decide it.

    Args:
        goal: the goal.
        estimate: the estimate of the scene.
        names: objects of the goal.
    """
    said = verdict(goal, estimate, names)
    if said.success is None:
        return said
    unseen = ""
    if isinstance(goal, PartlySeenGoal):
        unseen = goal.unseen(said.success)
    elif isinstance(goal, StagedGoal) and (len(goal.subgoals) > 1 or goal.stop_required):
        unseen = "The goal has several steps, and a picture of the end does not show them."
    return replace(said, doubts=(*said.doubts, unseen)) if unseen else said


def _untold(item: ObjectEstimate, several: bool) -> ObjectEstimate:
    """Return an object that the camera cannot recognise; ``several``: because there are others of its model."""
    reason = "it has no tag in the file of the tags"
    if several:
        reason = "there are several of its kind, whose tags have the same number"
    reason = f"the camera cannot recognise it: {reason}"
    return replace(item, pose=None, position_std=math.nan, yaw_std=math.nan, unsure=(reason,))


def _turned_as(pose: Pose, turns: int, wanted: Pose) -> Pose:
    """Return the pose turned to the orientation that looks the same and is nearest to the wanted one."""
    if turns == 1 or pose.orientation[0] or pose.orientation[1]:
        return pose
    x, y, z = pose.position
    return Pose.planar(x, y, nearest_turn(pose.yaw, turns, wanted.yaw), z)
