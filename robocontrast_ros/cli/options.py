"""Options that several commands share; the options of a session come from one table."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from robocontrast_ros.configuration import parse_settings
from robocontrast_ros.configuration.files import find_file, known_names
from robocontrast_ros.sessions.overrides import OPTIONS, Overrides

SETTING = "setup.position_tolerance=0.01"
"""An example of a setting of a session, for help and errors."""


def _completed(kind: str) -> Callable[[str], list[str]]:
    """Return the function that completes names of files in config/<kind>/; a shell completes paths itself."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in known_names(kind) if name.startswith(incomplete)]

    return complete


COMPLETED = {"robot": _completed("robots"), "policy": _completed("policies")}
"""Option -> function that completes its value in a shell."""


def session_option(name: str) -> Any:
    """Return an option of a session for typer."""
    option = OPTIONS[name]
    return typer.Option(*filter(None, [option.flag]), help=option.help, autocompletion=COMPLETED.get(name))


SessionArgument = Annotated[
    str | None,
    typer.Argument(
        help="Name of a session in config/sessions/, or path of a .yaml file.", autocompletion=_completed("sessions")
    ),
]
RobotOption = Annotated[str | None, session_option("robot")]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Any other key of the session's file (dotted) and its value in YAML, such as "
        f"{SETTING}. May be given several times.",
    ),
]
NamespaceOption = Annotated[
    str, typer.Option(help="ROS namespace of all nodes, so that several robots can share a domain.")
]
BoardOption = Annotated[
    Path | None,
    typer.Option(
        help="YAML file of the board: columns, rows, square [m], tag [m], first_tag; else 5x7 squares of 32 mm."
    ),
]


def takes_overrides(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that replaces a command's parameter ``overrides`` by these options of a session and --set."""

    def with_options(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def wrapped(**given: Any) -> None:
            options = {name: given.pop(name) for name in names}
            settings = parse_settings(given.pop("settings") or (), SETTING)
            command(**given, overrides=Overrides(**options, settings=settings))

        signature, types = inspect.signature(command, eval_str=True), get_type_hints(Overrides)
        annotations = {name: Annotated[types[name], session_option(name)] for name in names} | {"settings": SetOption}
        parameters: list[inspect.Parameter] = []
        for own in signature.parameters.values():
            shown = annotations.items() if own.name == "overrides" else ()
            options = [inspect.Parameter(name, own.kind, default=None, annotation=kind) for name, kind in shown]
            parameters += options or [own]
        wrapped.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return wrapped

    return with_options


def refuse_unknown(session: str, overrides: Overrides) -> None:
    """Raise ConfigurationError if there is no such session, robot or policy, without importing a large library."""
    named = (("sessions", "session", session), ("robots", "robot", overrides.robot))
    for kind, key, name in (*named, ("policies", "policy", overrides.policy)):
        if name:
            find_file(kind, name, "command line", key, Path.cwd())
