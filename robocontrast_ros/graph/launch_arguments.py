"""A session from the arguments of `ros2 launch`, which are texts: all of them are checked together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.graph.description import checked_namespace, namespace_of
from robocontrast_ros.graph.fork_server import policy_ahead
from robocontrast_ros.graph.ros_domain import Domain, given_domain
from robocontrast_ros.runs.journal import check_not_running, read_begun
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.sessions.early_stopping import begin_stopping
from robocontrast_ros.sessions.machine_check import check_machine
from robocontrast_ros.sessions.overrides import Overrides
from robocontrast_ros.sessions.policy_check import check_policies
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


_TRUTH = {"true": True, "false": False}
_LEVELS = {level: level for level in ("debug", "info", "warn", "error", "fatal")}
_WHOLE = "a whole number"

SESSION_ARGUMENTS = {
    "session": LaunchArgument("Name in config/sessions/, or path of a .yaml file.", default="language_table_demo"),
    "robot": LaunchArgument("Name in config/robots/, or path of a .yaml file."),
    "policy": LaunchArgument("Name in config/policies/, or path of a .yaml file."),
    "budget": LaunchArgument("Budget K in the session's unit of cost; inf for none.", float, "a number"),
    "seed": LaunchArgument("Seed of every random draw.", int, _WHOLE),
    "max_trials": LaunchArgument("Trials after which the session ends.", int, _WHOLE),
    "repeats": LaunchArgument("How often each instance is run.", int, _WHOLE),
    "size": LaunchArgument("Number of test instances.", int, _WHOLE),
    "strategy": LaunchArgument("Which trials are run."),
    "policy_server": LaunchArgument(
        "`external` waits for a policy server that runs elsewhere; `composed` has it in the container."
    ),
    "composed": LaunchArgument(
        "Whether rollout, scorer and sim_bridge are in one process; `all`: simulator and policy server, too.",
        {**_TRUTH, ALL: ALL}.__getitem__,
        "true, false or all",
    ),
    "output": LaunchArgument("Folder in which the run folder is made."),
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


@dataclass(frozen=True)
class LaunchedSession:
    """A session that is about to be launched.

    Attributes:
        session: the session, with everything that it names.
        run: its run folder.
        resume: whether the session was begun before.
        domain: domain and namespace of its nodes; locked until it is closed.
        log_level: least level that its nodes log.
    """

    session: ResolvedSession
    run: RunFolder
    resume: bool
    domain: Domain
    log_level: str

    def close(self) -> None:
        """Release the domain; remove the run folder of a session that never began, which has only its parameters."""
        self.domain.close()
        if not self.resume:
            self.run.remove_unbegun()


def launched_session(
    given: Mapping[str, str], environment: Mapping[str, str], server: ForkServer | None = None
) -> LaunchedSession:
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
    if resume is None:
        name = values.pop("session", ARGUMENTS["session"].default)
        session = _resolved(name, values, wrong)
    elif wrong:
        raise WrongArguments(wrong)
    else:
        run = RunFolder.open(resume)
        read_begun(run.journal)
        check_not_running(run.journal)
        session = resolve(run.session_file)
    if session.parameters.fast:
        raise ConfigurationError(
            str(session.source),
            "fast",
            True,
            "false, for a session that is launched as a graph of nodes",
            "Run a fast one with: robocontrast evaluate.",
        )
    # ROS's tools look for a launched graph in the user's domain, or in 0.
    domain = Domain(namespace_of(session, namespace), given_domain() or 0)
    try:
        domain.start_probe(environment, server)
        load = policy_ahead(server, session)
        check_machine(session)
        check_policies(session, load)
        begin_stopping(session.evaluation())
        domain.confirm()
        if resume is None:
            run = session.new_run(time.time())
    except BaseException:
        domain.close()
        raise
    domain.record_run(run.path)
    return LaunchedSession(session, run, resume is not None, domain, log_level)


def _resolved(name: str, values: dict[str, Any], wrong: list[ConfigurationError]) -> ResolvedSession:
    """Return the session.

    Raises:
        WrongArguments: ``wrong`` has errors already, or values do not fit the session; wrong values are left out one by
            one, to find all.
        ConfigurationError: the session itself is not consistent.
    """
    while True:
        try:
            session = resolve(name, _overrides(values))
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


def _overrides(values: Mapping[str, Any]) -> Overrides:
    options = {name: value for name, value in values.items() if name != "composed"}
    return Overrides(**options, settings={"composed": values["composed"]} if "composed" in values else {})


def _keys(argument: str, values: Mapping[str, Any]) -> set[str]:
    """Return the argument, and the keys of the session's file that it sets."""
    if argument not in values:
        return {argument}
    try:
        return {argument, *_overrides({argument: values[argument]}).given()}
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
