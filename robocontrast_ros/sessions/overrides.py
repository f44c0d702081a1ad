"""The options of a session: the command line, or a launch file, sets them in place of values of the session's file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from robocontrast_ros.configuration import ConfigurationError


@dataclass(frozen=True)
class SessionOption:
    """One option: its texts, and the key that it sets.

    Attributes:
        key: dotted key of the session's file that it sets; empty if it sets several.
        help: description for the command; empty if only the launch file has it.
        launched: the same for the launch file; empty if it is the command's.
        flag: the command's flag, if it does not follow from the name.
    """

    key: str
    help: str = ""
    launched: str = ""
    flag: str = ""


def _option(help: str = "", **shown: str) -> Any:
    return field(default=None, metadata={"help": help, **shown})


@dataclass(frozen=True)
class Overrides:
    """Values that replace those of the session's file; None leaves the file's value.

    Paths are relative to the working directory. ``settings`` has any other keys: dotted key of the session's file ->
    value; without the keys of options.
    """

    robot: str | None = _option("Name in config/robots/, or path of a .yaml file.")
    policy: str | None = _option("Name in config/policies/, or path of a .yaml file.")
    budget: float | None = _option(
        "Budget K in the session's unit of cost; inf for no budget.",
        launched="Budget K in the session's unit of cost; inf for none.",
    )
    seed: int | None = _option("Seed of every random draw.")
    max_trials: int | None = _option("Maximum number of trials.", launched="Trials after which the session ends.")
    output: str | None = _option("Parent folder of the run folder.", launched="Folder in which the run folder is made.")
    policy_server: str | None = _option(
        "`external`: wait for a policy server that runs elsewhere (robocontrast serve); `composed`: run it in the "
        "process of rollout, which is faster.",
        launched="`external` waits for a policy server that runs elsewhere; `composed` has it in the container.",
        key="",
    )
    fast: bool | None = _option(
        "Run in one process without ROS, much faster: the same trials, scores and bags.", flag="--fast/--graph"
    )
    repeats: int | None = _option("Repeats of each instance.", launched="How often each instance is run.")
    size: int | None = _option("Number of test instances.", key="test_set.size")
    strategy: str | None = _option(
        "Strategy that chooses the trials; one without perturbations ignores those of the session.",
        launched="Which trials are run.",
        key="strategy.name",
    )
    practice: bool | None = _option(
        "Practise: a simulated table and robot, set up by the person at the console.", key="", flag="--practice"
    )
    plan: str | None = _option(
        "Locked plan that the session follows, by `robocontrast plan --lock`; results list every deviation.",
        key="locked_plan",
    )
    composed: bool | str | None = _option(
        launched="Whether rollout, scorer and sim_bridge are in one process; `all`: simulator and policy server, too."
    )
    settings: Mapping[str, Any] = field(default_factory=dict)

    def given(self) -> dict[str, Any]:
        """Return dotted key of the session's file -> value, of all that are set, without those that follow from them.

        Raises:
            ConfigurationError: two of them set the same key, or exclude one another.
        """
        given: dict[str, Any] = {}
        if self.policy_server is not None:
            if self.policy_server not in _SERVERS:
                raise ConfigurationError(
                    "command line", "policy_server", self.policy_server, "'external', 'composed', or nothing"
                )
            given |= _SERVERS[self.policy_server]
        options = ((option.key, getattr(self, name)) for name, option in OPTIONS.items() if option.key)
        given |= {key: value for key, value in options if value is not None}
        for key, value in self.settings.items():
            if key in given:
                raise ConfigurationError("command line", f"--set {key}", value, "each key once")
            given[key] = value
        return given


OPTIONS = {
    each.name: SessionOption(**{"key": each.name, **each.metadata}) for each in fields(Overrides) if each.metadata
}
"""Name -> option, in the order in which the command shows them."""

_SERVERS: dict[str, dict[str, Any]] = {
    "external": {"policy": "", "policy_server.external": True},
    "composed": {"policy_server.composed": True},
}
"""Value of `policy_server` -> keys of the session's file that it sets."""
