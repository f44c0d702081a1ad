"""A session from the arguments of `ros2 launch`, which are texts: all of them are checked together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args, get_type_hints

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.graph.description import checked_namespace, namespace_of
from robocontrast_ros.graph.launch import Launch, prepare, reopened
from robocontrast_ros.graph.ros_domain import Domain, given_domain
from robocontrast_ros.sessions.overrides import OPTIONS, Overrides, SessionOption
from robocontrast_ros.sessions.resolving import ResolvedSession, resolve
from robocontrast_ros.sessions.schema import ALL
from robocontrast_ros.system.forking import ForkServer

SOURCE = "launch arguments"
"""Source of a mistake, for error messages."""


@dataclass(frozen=True)
class LaunchArgument:
    """One argument of the launch file.

    Attributes:
        description: description of the argument, for `ros2 launch --show-args`.
        kind: converts the text into the value; raises ValueError or KeyError.
        expected: description of valid texts, for error messages.
        default: text of an argument that is left out; if it is empty, the session's own value is used.
    """

    description: str
    kind: Callable[[str], Any] = str
    expected: str = "text"
    default: str = ""


_KINDS: dict[Any, tuple[Callable[[str], Any], str]] = {
    str: (str, "text"),
    float: (float, "a number"),
    int: (int, "a whole number"),
    bool: ({"true": True, "false": False, ALL: ALL}.__getitem__, "true, false or all"),
}
"""Type of an option -> what converts its text, and which texts are valid."""

_LEVELS = {level: level for level in ("debug", "info", "warn", "error", "fatal")}


def _argument(name: str, option: SessionOption) -> LaunchArgument:
    """Return the argument that sets an option of the session."""
    kind, *_ = get_args(get_type_hints(Overrides)[name])
    return LaunchArgument(option.launched or option.help, *_KINDS[kind])


SESSION_ARGUMENTS = {
    "session": LaunchArgument("Name in config/sessions/, or path of a .yaml file.", default="language_table_demo"),
    # What is launched is a graph, so never fast.
    **{name: _argument(name, option) for name, option in OPTIONS.items() if name not in ("fast", "practice")},
}
"""Not with `resume`, whose session has them already. The session's file has the values of those that are left out."""

GRAPH_ARGUMENTS = {
    "resume": LaunchArgument("Run folder of a session to resume.", Path, "a run folder"),
    "namespace": LaunchArgument(
        "ROS namespace of all nodes, so that several robots share a domain.",
        checked_namespace,
        "letters, digits and single underscores, no digit first, such as robot1",
    ),
    "log_level": LaunchArgument(
        "Least level that the nodes log.", _LEVELS.__getitem__, f"one of {', '.join(_LEVELS)}", "info"
    ),
}

ARGUMENTS = {**SESSION_ARGUMENTS, **GRAPH_ARGUMENTS}
"""Name -> argument of launch/evaluate.launch.py, in the order in which they are shown."""


class WrongArguments(ValueError):
    """Arguments that do not fit; the message has a line for each."""

    def __init__(self, errors: Iterable[ConfigurationError]) -> None:
        """Take the errors of the arguments."""
        super().__init__("\n".join(map(str, errors)))


def launched_session(
    given: Mapping[str, str], environment: Mapping[str, str], server: ForkServer | None = None
) -> Launch:
    """Check the arguments, take the domain, and make the run folder of a new session or open that of an old one.

    Args:
        given: name -> text; empty for an argument that is left out.
        environment: environment of the nodes; it decides which other nodes they discover.
        server: forks the nodes, and loads the policy meanwhile; None if there is none.

    Raises:
        WrongArguments: names or texts are not valid; nothing was made.
        ConfigurationError: the files that they name do not fit together, or another session is in the domain and
            namespace; nothing was started.
        JournalError: the journal of the session to resume is damaged, or the session is running.
    """
    values, wrong = _checked({name: word for name, word in given.items() if word != ""})
    resume, namespace = values.pop("resume", None), values.pop("namespace", "")
    log_level = values.pop("log_level", ARGUMENTS["log_level"].default)
    run = None
    if resume is None:
        name = values.pop("session", ARGUMENTS["session"].default)
        session = _resolved(name, values, wrong)
    elif wrong:
        raise WrongArguments(wrong)
    else:
        run, session = reopened(resume)
    if session.parameters.fast:
        raise ConfigurationError(
            str(session.source),
            "fast",
            True,
            "false, for a session that is launched as a graph of nodes",
            "Run a fast one with: robocontrast evaluate.",
        )
    # ROS's tools look for a launched graph in the user's domain, or in 0.
    domain = Domain.probed(namespace_of(session, namespace), environment, server, given_domain() or 0)
    return replace(prepare(session, domain, server, run), log_level=log_level)


def _resolved(name: str, values: dict[str, Any], wrong: list[ConfigurationError]) -> ResolvedSession:
    """Return the session.

    Raises:
        WrongArguments: ``wrong`` has errors already, or values do not fit the session; wrong values are left out one by
            one, to find all.
        ConfigurationError: the session itself is not consistent.
    """
    while True:
        try:
            session = resolve(name, Overrides(**values))
        except ConfigurationError as error:
            argument = next((one for one in ("session", *values) if error.key in _keys(one, values)), "")
            if argument and error.source == "command line":
                wrong.append(ConfigurationError(SOURCE, argument, error.got, error.expected, error.cure))
                if values.pop(argument, None) is not None:
                    continue
            elif not wrong:
                raise
        if wrong:
            raise WrongArguments(wrong)
        return session


def _keys(argument: str, values: Mapping[str, Any]) -> set[str]:
    """Return the argument, and the keys of the session's file that it sets."""
    if argument not in values:
        return {argument}
    try:
        return {argument, *Overrides(**{argument: values[argument]}).given()}
    except ConfigurationError:
        return {argument}


def _checked(given: Mapping[str, str]) -> tuple[dict[str, Any], list[ConfigurationError]]:
    """Return the values of the valid arguments by name, and the errors of the others."""
    values: dict[str, Any] = {}
    wrong: list[ConfigurationError] = []
    for name, word in given.items():
        argument = ARGUMENTS.get(name)
        if argument is None:
            wrong.append(ConfigurationError.unknown(SOURCE, name, name, ARGUMENTS, "argument"))
            continue
        if "resume" in given and name in SESSION_ARGUMENTS and word != argument.default:
            wrong.append(
                ConfigurationError(
                    SOURCE,
                    name,
                    word,
                    "nothing but `resume`",
                    "A session is resumed with its own parameters.",
                )
            )
            continue
        try:
            values[name] = argument.kind(word)
        except (ValueError, KeyError):
            wrong.append(ConfigurationError(SOURCE, name, word, argument.expected))
    return values, wrong
