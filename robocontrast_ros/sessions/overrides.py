"""Values of the command line, or of launch arguments, in place of those in a session's file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from robocontrast_ros.configuration import ConfigurationError, make_plugin, parse_record, with_settings
from robocontrast_ros.sessions.schema import SessionParameters
from robocontrast_ros.strategies.protocol import PerturbationUse


@dataclass(frozen=True)
class Overrides:
    """What the command line may set instead of the file; None leaves the file's value.

    Attributes:
        robot: name, or path relative to the working directory.
        policy: the same.
        budget: K; infinity takes the file's limit away.
        seed: the session's seed.
        max_trials: trials after which it ends.
        output: folder of the run folders.
        policy_server: ``external`` for one that runs elsewhere, in place of the file's policy; ``composed`` for one in
            the container.
        fast: whether it runs in one process without ROS.
        repeats: how often each instance is run.
        size: number of test instances.
        strategy: its name. One that uses no perturbations takes those of the file away.
        settings: dotted key of the session's file -> value; none that an option above sets.
    """

    robot: str | None = None
    policy: str | None = None
    budget: float | None = None
    seed: int | None = None
    max_trials: int | None = None
    output: str | None = None
    policy_server: str | None = None
    fast: bool | None = None
    repeats: int | None = None
    size: int | None = None
    strategy: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def given(self) -> dict[str, Any]:
        """Return all of it as dotted keys of the session's file with their values.

        Raises:
            ConfigurationError: two of them set the same key, or exclude one another.
        """
        options = {key: value for key, value in vars(self).items() if value is not None and key != "settings"}
        given = {_KEYS.get(option, option): value for option, value in options.items()}
        if self.policy_server is not None:
            wanted = _SERVERS.get(self.policy_server)
            if wanted is None:
                raise ConfigurationError(
                    "command line", "policy_server", self.policy_server, "'external', 'composed', or nothing"
                )
            del given[_KEYS["policy_server"]]
            given = {**wanted, **given}
        for key, value in self.settings.items():
            if key in given:
                raise ConfigurationError("command line", f"--set {key}", value, "each key once")
            given[key] = value
        return given


_KEYS = {"policy_server": "policy_server.external", "size": "test_set.size", "strategy": "strategy.name"}
"""Option -> key of the session's file, where they differ."""

_SERVERS: dict[str, dict[str, Any]] = {
    "external": {"policy": "", "policy_server.external": True},
    "composed": {"policy_server.composed": True},
}
"""What the option `policy_server` stands for."""


def given_keys(parameters: SessionParameters, overrides: Overrides) -> dict[str, Any]:
    """Return the values of the command line by dotted key, with those that follow from them."""
    given = overrides.given()
    if overrides.policy and (overrides.policy_server == "external" or parameters.policy_server.external):
        raise ConfigurationError(
            "command line",
            "policy",
            overrides.policy,
            "nothing beside a policy server elsewhere, which has its own",
            "Name it to `robocontrast serve`, or to `robocontrast swap` while the session runs.",
        )
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
