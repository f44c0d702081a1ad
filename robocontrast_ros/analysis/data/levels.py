"""The level of generalisation of the test instances of a run (``tasks.levels``)."""

from __future__ import annotations

from collections.abc import Mapping

from robocontrast_ros.configuration import ConfigurationError, load_configured
from robocontrast_ros.domain import TestInstance
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.tasks.levels import Levels, level_of
from robocontrast_ros.tasks.protocol import Task


def levels_of(run: RunFolder, instances: Mapping[str, TestInstance], trained: Levels) -> dict[str, str]:
    """Return the level of each test instance of a run for a policy's training; instances without one are left out.

    It is the level of the instance itself, not of its perturbations: a perturbation is a condition.

    Args:
        run: the run folder, which has the task's file; if that cannot be read, no instance has a level.
        instances: name -> instance.
        trained: the content of the training.
    """
    try:
        task: Task = load_configured("tasks", run.parameters / "task.yaml")
    except ConfigurationError:
        # The run is from somewhere else, or older: its results are shown without levels.
        return {}
    looks = task.looks
    if looks is None:
        return {}
    return {
        name: level_of(instance, trained, looks).value
        for name, instance in instances.items()
        if all(thing.model in looks for thing in instance.scene)
    }
