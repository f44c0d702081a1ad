"""Test instances that the person at the robot records: the scene as it stands, words, and a walked path."""

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
        recorded: as it will be written.
        understood: what the task understands of the instruction, in words.
        regions: where the robot, or what it moves, has to be: polygons in the scene's frame [m].
    """

    recorded: RecordedInstance
    understood: str
    regions: tuple[Polygon, ...]


@dataclass(frozen=True)
class Recording:
    """What is being recorded.

    Attributes:
        scene: as it stands; None where no instance is being recorded.
        draft: what was checked last; None where nothing was, or it was kept.
    """

    scene: Scene | None = None
    draft: Draft | None = None


class NewInstances:
    """Records test instances into a file. One call at a time.

    Attributes:
        source: how the scene is known, in words.
        asks_path: whether the task takes a walked path.
    """

    def __init__(self, task: Task, file: Path, look: Callable[[], Scene], source: str) -> None:
        """Take the parts.

        Args:
            task: that the instances are of.
            file: that they are kept in; it may be there already.
            look: returns the scene as it stands, or raises ``NotRecorded``.
            source: how it is known, in words.

        Raises:
            ConfigurationError: the file is there, and is none of instances.
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
            NotRecorded: it is not known.
        """
        scene = self._look()
        if not scene.objects:
            raise NotRecorded("nothing is known of the scene yet: set one up first")
        return Recording(scene)

    def check(self, recording: Recording, instruction: str, path: Path2, by: str, meant: str = "") -> Recording:
        """Check an instance in the scene that was looked at, as those are checked that a task draws.

        Args:
            recording: what is being recorded.
            instruction: what the robot is told.
            path: the walked one; empty for none.
            by: who records it.
            meant: the same in words of the task, where it does not understand the instruction.

        Raises:
            NotRecorded: no scene was looked at, or it is no instance; the message says why.
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
            NotRecorded: none was checked, or the file cannot be written.
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
