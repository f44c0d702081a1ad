"""The world of another engine for one task, made from the task: its models are exported, and read again."""

from __future__ import annotations

import tempfile
from pathlib import Path

from robocontrast_ros.configuration import ConfigurationError, load_plugin
from robocontrast_ros.robots.kinematics import Kinematics
from robocontrast_ros.robots.profile_base import RobotProfile
from robocontrast_ros.tasks.protocol import Task
from robocontrast_ros.worlds.engines.engine import Engine
from robocontrast_ros.worlds.engines.world import EngineWorld
from robocontrast_ros.worlds.exported.surfaces import NoCounterpart
from robocontrast_ros.worlds.exported.task import export_task


class StartedWorld(EngineWorld):
    """The world of a task, whose models are in a folder of its own."""

    def __init__(self, engine: type[Engine], profile: RobotProfile, task: Task, source: str) -> None:
        """Export the models and compose the world; see ``write_models``."""
        self._folder = tempfile.TemporaryDirectory()
        models = Path(self._folder.name)
        try:
            write_models(engine, profile, task, models, source)
            start = start_joints(profile, task)
            super().__init__(engine, profile, models, task.scenes.physics_step, start)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Remove the models."""
        self._folder.cleanup()


def write_models(engine: type[Engine], profile: RobotProfile, task: Task, folder: Path, source: str) -> None:
    """Write the models of a task for an engine into a folder, which is made.

    Raises:
        ConfigurationError: the engine's friction cannot express a part.
        OSError: a file cannot be written.
    """
    try:
        for _ in export_task(task, profile, "sdf", engine.friction_rule, folder):
            pass
    except NoCounterpart as error:
        expected = f"embedded, since this task has what the engine cannot express ({error})"
        raise ConfigurationError(source, "world.backend", engine.__name__, expected) from None


def start_joints(profile: RobotProfile, task: Task) -> tuple[float, ...]:
    """Return the joint positions at which an arm starts [rad]; none for its home posture."""
    start = task.scenes.start_position
    return () if start is None else tuple(Kinematics(profile).posture(start))


def engine_named(name: str, source: str) -> type[Engine]:
    """Return the engine of a name, or of ``module:Class``.

    Raises:
        ConfigurationError: there is none, or its package is not installed.
    """
    return load_plugin("engines", name, source, "world.backend")
