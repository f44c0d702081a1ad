"""The files of the camera that the console shows. A session is checked against them before it starts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.perception import CalibratedCamera, ObjectTag, load_camera
from robocontrast_ros.tasks.protocol import Task
from robocontrast_ros.worlds.backends import BackendFeatures
from robocontrast_ros.worlds.table_camera import Tags, load_fixed_tags, load_tags, standard_tags


def load_camera_files(
    files: Mapping[str, Path], task: Task, features: BackendFeatures, source: str
) -> tuple[CalibratedCamera | None, Tags | None, tuple[ObjectTag, ...]]:
    """Return the camera's calibration, the tags on objects, None for the standard ones, and the tags on the table.

    Args:
        files: key below `operator` -> file, of the files that the session's console uses.
        task: the task, with the objects of the tags.
        features: features of the session's backend.
        source: the session's file, for errors.

    Raises:
        ConfigurationError: a file does not fit, or a camera that reads a real table was not calibrated.
    """
    tags = load_tags(files["tags"], task) if "tags" in files else None
    calibrated = load_camera(files["calibration"]) if "calibration" in files else None
    if calibrated is None and features.camera and not features.embedded:
        expected = "the file that `robocontrast calibrate` wrote for the camera that reads the table"
        raise ConfigurationError(source, "operator.calibration", "nothing", expected)
    if "fixed_tags" not in files:
        return calibrated, tags, ()
    on_objects = tags or standard_tags(task.scenes.models.values())
    return calibrated, tags, load_fixed_tags(files["fixed_tags"], on_objects)
