"""Reads the end effector of an arm, of any type."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationInfo

from robocontrast_ros.configuration import ConfigurationError, load_plugin, parse_record, plugin_names, read_yaml
from robocontrast_ros.configuration.files import find_file
from robocontrast_ros.robots.end_effectors.base import EndEffector


def read_end_effector(given: Any, info: ValidationInfo) -> EndEffector:
    """Return the end effector that a robot's file names or describes.

    Args:
        given: name or path of a file of config/grippers/, or a mapping with a `type`, or the record itself.
        info: its context has the robot's file as `source`.

    Raises:
        ConfigurationError: it is none of these, or its keys do not fit. It has no source if the keys are in the robot's
            own file.
    """
    if isinstance(given, EndEffector):
        return given
    source = ""
    if isinstance(given, str):
        robot = (info.context or {}).get("source", "")
        path = find_file("grippers", given, robot, "end_effector", Path(robot).parent)
        given, source = read_yaml(path), str(path)
    if not isinstance(given, dict) or not isinstance(kind := given.get("type"), str):
        cure = f"Add a `type`, one of {', '.join(plugin_names('end_effectors'))}."
        raise ConfigurationError(source, "", given, "the name of a gripper, or its keys with a `type`", cure)
    return parse_record(load_plugin("end_effectors", kind, source, "type"), given, source)
