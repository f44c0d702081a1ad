"""The keys of a session's file that its options set, and the session's record with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from robocontrast_ros.configuration import ConfigurationError, make_plugin, parse_record, read_yaml, with_settings
from robocontrast_ros.configuration.files import find_file, is_path
from robocontrast_ros.episodes.judging import Judge
from robocontrast_ros.robots.drivers import SIMULATED_PORT
from robocontrast_ros.robots.profile import load_profile
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.schema import SessionParameters
from robocontrast_ros.strategies.protocol import PerturbationUse
from robocontrast_ros.worlds.backends import features_of


def _simulated(robot: str, folder: Path) -> str:
    """Return the robot itself if it is simulated; else the first simulated one that its file extends.

    Each file is loaded, because a file without a port has that of the robot that it extends.

    Raises:
        ConfigurationError: it extends no simulated robot.
    """
    own = path = find_file("robots", robot, "command line", "robot", folder)
    while (port := load_profile(path).port) != SIMULATED_PORT:
        extends = read_yaml(path).get("extends")
        if extends is None:
            raise ConfigurationError(
                str(own),
                "port",
                port,
                f"with --practice `port: {SIMULATED_PORT}`, or a robot's file that `extends` one that has it",
                "Write a file of the simulated robot, and give the real robot's file `extends`, `port` and `driver`.",
            )
        path = find_file("robots", extends, str(path), "extends", path.parent)
    return str(path) if path != own or is_path(robot) else robot


def given_keys(parameters: SessionParameters, overrides: Overrides, source: Path) -> dict[str, Any]:
    """Return the values of the command line by dotted key, with those that follow from them.

    Args:
        parameters: those of the session's file.
        overrides: those of the command line.
        source: the session's file.
    """
    given = overrides.given()
    if overrides.policy and (overrides.policy_server == "external" or parameters.policy_server.external):
        raise ConfigurationError(
            "command line",
            "policy",
            overrides.policy,
            "nothing, because a policy server elsewhere has its own policy",
            "Name it in `robocontrast serve`, or in `robocontrast swap` while the session runs.",
        )
    if overrides.practice:
        world = {key: str(given.get(f"world.{key}", getattr(parameters.world, key))) for key in ("judge", "backend")}
        named = {key: "command line" if f"world.{key}" in given else str(source) for key in world}
        judge: Judge = make_plugin("judges", world["judge"], named["judge"], "world.judge")
        features = features_of(world["backend"], named["backend"], "world.backend")
        given["world.backend"] = replace(features, camera=features.camera or judge.needs == "camera").practised_by
        given["world.pacing"] = "wall_clock"
        robot = str(given.get("robot", parameters.robot))
        given["robot"] = _simulated(robot, Path.cwd() if "robot" in given else source.parent)
    if overrides.strategy is not None and "strategy.perturbations" not in given:
        strategy = make_plugin("strategies", overrides.strategy, "command line", "strategy.name")
        if strategy.uses_perturbations is PerturbationUse.NONE:
            given["strategy.perturbations"] = []
    return given


def overridden(content: dict[str, Any], given: Mapping[str, Any]) -> SessionParameters:
    """Return the record of a valid file with other values; errors name the command line."""
    try:
        return parse_record(SessionParameters, with_settings(content, given), "command line")
    except ConfigurationError as error:
        if error.key:
            raise
        said = ", ".join(f"{key}: {value!r}" for key, value in given.items())
        raise ConfigurationError("command line", ", ".join(given), said, error.expected) from None
