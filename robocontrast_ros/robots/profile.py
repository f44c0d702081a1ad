"""Loads robot profiles (config/robots/<name>.yaml) of any kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from robocontrast_ros.configuration import ConfigurationError, load_plugin, parse_record, plugin_names, read_yaml
from robocontrast_ros.configuration.files import find_file
from robocontrast_ros.robots.kinds import RobotKind
from robocontrast_ros.robots.profile_base import RobotProfile

__all__ = ["RobotProfile", "load_profile"]


def load_profile(name_or_path: str | Path) -> RobotProfile:
    """Return the profile of a robot that this package knows by name, or that a file describes.

    A file with `extends:` has all top-level keys of the robot named there, except for its own keys.

    Args:
        name_or_path: ``franka``, or a path or package URI that ends in ``.yaml``.

    Raises:
        ConfigurationError: no such robot, or the file does not fit.
    """
    path = find_file("robots", str(name_or_path), "robot", "robot", Path.cwd())
    data = _content(path, ())
    kind = data.get("type")
    if not isinstance(kind, str):
        raise ConfigurationError.unknown(str(path), "type", kind, plugin_names("robot_kinds"), "kind of robot")
    found: RobotKind = load_plugin("robot_kinds", kind, str(path), "type")
    return parse_record(found.profile, data, str(path))


def _content(path: Path, extending: tuple[Path, ...]) -> dict[str, Any]:
    """Return the keys of a file and of those that it extends.

    A file without limits, in a folder `robots`, has those of the folder `safety` beside it.
    """
    data = read_yaml(path)
    if not isinstance(data, dict):
        raise ConfigurationError(str(path), "", data, "a mapping of a robot's keys")
    beside = path.parent.parent / "safety" / path.name
    if "safety" not in data and path.parent.name == "robots" and beside.is_file():
        data["safety"] = str(beside)
    if "extends" not in data:
        return data
    name = data.pop("extends")
    if not isinstance(name, str):
        raise ConfigurationError(str(path), "extends", name, "name or path of a robot's file")
    base = find_file("robots", name, str(path), "extends", path.parent)
    if base in (path, *extending):
        raise ConfigurationError(str(path), "extends", name, "a robot that does not extend this one")
    below = _content(base, (path, *extending))
    if "end_effector" in data:
        below.pop("pusher", None)
    return below | data
