"""Loads robot profiles (config/robots/<name>.yaml) of any kind."""

from __future__ import annotations

from pathlib import Path

from robocontrast_ros.configuration import ConfigurationError, parse_record, read_yaml
from robocontrast_ros.configuration.files import find_file
from robocontrast_ros.robots.differential_drive import DifferentialDriveProfile
from robocontrast_ros.robots.manipulator import ManipulatorProfile
from robocontrast_ros.robots.profile_base import RobotProfile

PROFILES: dict[str, type[RobotProfile]] = {
    "differential_drive": DifferentialDriveProfile,
    "manipulator": ManipulatorProfile,
}
"""Kind of robot -> its record."""


def load_profile(name_or_path: str | Path) -> RobotProfile:
    """Return the profile of a robot that this package knows by name, or that a file describes.

    Args:
        name_or_path: ``franka``, or a path or package URI that ends in ``.yaml``.

    Raises:
        ConfigurationError: no such robot, or the file does not fit.
    """
    path = find_file("robots", str(name_or_path), "robot", "robot", Path.cwd())
    data = read_yaml(path)
    kind = data.get("type") if isinstance(data, dict) else None
    if not isinstance(data, dict) or kind not in PROFILES:
        raise ConfigurationError.unknown(str(path), "type", kind, PROFILES, "kind of robot")
    return parse_record(PROFILES[kind], data, str(path))
