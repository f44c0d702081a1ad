"""The level of generalisation of the test instances of a run (``tasks.levels``)."""

from __future__ import annotations

from collections.abc import Mapping

from robocontrast_ros.configuration import ConfigurationError, load_configured
from robocontrast_ros.domain import TestInstance
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.tasks.levels import Levels, level_of
from robocontrast_ros.tasks.protocol import Task


def levels_of(run: RunFolder, instances: Mapping[str, TestInstance], trained: Levels) -> dict[str, str]:
    """Return the level of each test instance of a run for what was trained so; those that have none are left out.

    It is the level of the instance itself, not of its perturbations: what is perturbed is a condition.

    Args:
        run: the run folder, which has the task's file; where it has none that can be read, nothing has a level.
        instances: name -> instance.
        trained: what training showed.
    """
    try:
        task: Task = load_configured("tasks", run.parameters / "task.yaml")
    except ConfigurationError:
        # The run is from somewhere else, or older: its results are shown all the same.
        return {}
    looks = task.looks
    if looks is None:
        return {}
    return {
        name: level_of(instance, trained, looks).value
        for name, instance in instances.items()
        if all(thing.model in looks for thing in instance.scene)
    }
