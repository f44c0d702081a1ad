"""The objects, the world and the robot of a task, as files for a simulator of others."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import mujoco

from robocontrast_ros.configuration import resolve_uri
from robocontrast_ros.configuration.plugins import import_object
from robocontrast_ros.domain import Pose, whole_of
from robocontrast_ros.robots.kinds import kind_of
from robocontrast_ros.robots.profile_base import RobotProfile
from robocontrast_ros.tasks.protocol import Task
from robocontrast_ros.worlds.exported.files import write_sdf, write_urdf
from robocontrast_ros.worlds.exported.parts import Model, model_parts
from robocontrast_ros.worlds.exported.surfaces import Surfaces
from robocontrast_ros.worlds.exported.usd import write_usd
from robocontrast_ros.worlds.mujoco.composition import object_spec, read_object

WRITERS = {"sdf": write_sdf, "urdf": write_urdf, "usd": write_usd}
"""Format -> what writes a model."""


def object_models(task: Task) -> list[Model]:
    """Return the models of a task's objects, named as in the task; moving parts are in those of their objects."""
    return [
        model_parts(name, object_spec(read_object(name, uri, "", Pose()), looks=False).compile())
        for name, uri in task.scenes.models.items()
        if not whole_of(name)
    ]


def world_model(task: Task) -> Model:
    """Return the fixed furniture of a task's world, as the model `world`."""
    return model_parts("world_model", mujoco.MjModel.from_xml_path(str(resolve_uri(task.scenes.world))))


def robot_model(robot: RobotProfile) -> Model:
    """Return a robot, with its joints at 0, as the model of its name."""
    embodiment = import_object(kind_of(robot).embodiment, f"kind of robot '{robot.type}'", "embodiment")
    return model_parts(robot.name, mujoco.MjModel.from_xml_string(embodiment(robot, None).mjcf()))


def export_task(task: Task, robot: RobotProfile, form: str, rule: str, folder: Path) -> Iterable[Path]:
    """Write files of a task's objects and, but in URDF, of its world and the robot; return the files one by one.

    Args:
        task: the task.
        robot: the robot, whose friction the objects' depends on.
        form: one of ``WRITERS``. In URDF the objects alone are written: a robot has its own URDF.
        rule: how the engine combines the friction of both sides, one of ``surfaces.RULES``.
        folder: folder of the files, which is made.

    Raises:
        NoCounterpart: the format, or the engine's friction, cannot express a part.
        OSError: a file cannot be written.
    """
    objects, others = object_models(task), [world_model(task), robot_model(robot)]
    found = Surfaces((*objects, *others), rule)
    folder.mkdir(parents=True, exist_ok=True)
    for model in objects if form == "urdf" else (*objects, *others):
        yield WRITERS[form](model, found, folder)
