"""Test instances that the person at the robot records: the present scene, an instruction, and a walked path."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from robocontrast_ros.configuration import dump_record, load_record, write_yaml
from robocontrast_ros.domain import Scene, TestInstance
from robocontrast_ros.system.disk import DiskError
from robocontrast_ros.tasks.protocol import Polygon, RegionGoal, StagedGoal, Task
from robocontrast_ros.tasks.recorded import InstancesFile, RecordedInstance, instance_of, recorded_of

Path2 = tuple[tuple[float, float], ...]
"""Corners of a path, x and y in the scene's frame [m]."""


class NotRecorded(Exception):
    """An instance, or the scene for it, is not taken; the message says why."""


@dataclass(frozen=True)
class Draft:
    """An instance that was checked and can be kept.

    Attributes:
        recorded: the instance as it will be written.
        understood: the meaning of the instruction for the task, in words.
        regions: goal regions of the robot, or of the object that it moves: polygons in the scene's frame [m].
    """

    recorded: RecordedInstance
    understood: str
    regions: tuple[Polygon, ...]


@dataclass(frozen=True)
class Recording:
    """The state of a recording.

    Attributes:
        scene: the scene of the instance; None if no instance is being recorded.
        draft: the instance that was checked last; None if none was checked, or it was kept.
    """

    scene: Scene | None = None
    draft: Draft | None = None


class NewInstances:
    """Records test instances into a file. One call at a time.

    Attributes:
        source: the source of the scene, in words.
        asks_path: whether the task takes a walked path.
    """

    def __init__(self, task: Task, file: Path, look: Callable[[], Scene], source: str) -> None:
        """Take the parts.

        Args:
            task: the task of the instances.
            file: the file of the instances; it may exist already.
            look: returns the present scene, or raises ``NotRecorded``.
            source: the source of the scene, in words.

        Raises:
            ConfigurationError: the file exists, and is not a file of instances.
        """
        self._task, self._file, self._look = task, file, look
        self.source, self.asks_path = source, task.walkable is not None
        self._instances = load_record(InstancesFile, file).instances if file.exists() else ()

    @property
    def kept(self) -> tuple[tuple[str, str], ...]:
        """Id and instruction of each instance that was kept."""
        return tuple((instance.id, instance.instruction) for instance in self._instances)

    def survey(self) -> Recording:
        """Look at the scene.

        Raises:
            NotRecorded: the scene is not known.
        """
        scene = self._look()
        if not scene.objects:
            raise NotRecorded("nothing is known of the scene yet: set one up first")
        return Recording(scene)

    def check(self, recording: Recording, instruction: str, path: Path2, by: str, meant: str = "") -> Recording:
        """Check an instance in the surveyed scene, by the checks for instances that a task draws.

        Args:
            recording: the state of the recording.
            instruction: the instruction for the robot.
            path: the walked path; empty for none.
            by: name of the person who records.
            meant: the same instruction in words of the task, if the task does not understand the first one.

        Raises:
            NotRecorded: no scene was surveyed, or the instance is not valid; the message says why.
        """
        if recording.scene is None:
            raise NotRecorded("no scene was looked at")
        recorded = recorded_of(self._next_id, instruction, recording.scene, path, by, meant)
        try:
            instance = instance_of(recorded, self._task)
        except ValueError as error:
            raise NotRecorded(str(error)) from None
        regions = _regions(self._task, instance)
        return replace(recording, draft=Draft(recorded, _in_words(instance), regions))

    def keep(self, recording: Recording) -> Recording:
        """Write the instance that was checked.

        Raises:
            NotRecorded: no instance was checked, or the file cannot be written.
        """
        if recording.draft is None:
            raise NotRecorded("no instance was checked")
        instances = (*self._instances, recording.draft.recorded)
        content = InstancesFile(task=self._task.name, instances=instances)
        try:
            write_yaml(self._file, dump_record(content))
        except DiskError as error:
            raise NotRecorded(str(error)) from None
        self._instances = instances
        return replace(recording, draft=None)

    @property
    def _next_id(self) -> str:
        numbers = [int(found[1]) for instance in self._instances if (found := re.fullmatch(r"r(\d+)", instance.id))]
        return f"r{max(numbers, default=0) + 1:04d}"


def _in_words(instance: TestInstance) -> str:
    said = instance.instruction
    parts = [f"{name} {value}" for name, value in said.arguments]
    words = f"{said.family}: {', '.join(parts)}".replace("_", " ")
    return f"{words} (shortest path of the robot {instance.optimal_path_length:.2f} m)"


def _regions(task: Task, instance: TestInstance) -> tuple[Polygon, ...]:
    goal = task.goals.goal(instance.instruction, instance.scene)
    goals = goal.subgoals if isinstance(goal, StagedGoal) else (goal,)
    found = (one.regions(instance.scene) for one in goals if isinstance(one, RegionGoal))
    return tuple(region for regions in found for region in regions)
