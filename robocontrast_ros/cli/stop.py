"""`robocontrast stop`: stop the robot of a running session, and release the stop."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from robocontrast_ros.cli.terminal import Console
from robocontrast_ros.configuration import ConfigurationError, load_plugin, load_record
from robocontrast_ros.graph.names import WATCHDOG
from robocontrast_ros.runs.run_folder import RunFolder


def stop(
    run: Annotated[
        Path | None,
        typer.Argument(
            help="Run folder of a session that is running; if left out, all sessions that run on this machine."
        ),
    ] = None,
    release: Annotated[bool, typer.Option("--release", help="Release the stop, once its cause is gone.")] = False,
    by: Annotated[str, typer.Option(help="Name of the person who releases it.")] = "",
    note: Annotated[str, typer.Option(help="What was wrong, for the log.")] = "",
) -> None:
    """Stop the robot of a session on the wall clock, until a person releases it.

    It takes seconds to find the session; the robot's own emergency stop acts at once.
    Exit codes: 0 stopped, or released, 1 the release is refused, 2 invalid input, 3 the watchdog does not answer.
    """
    if release:
        raise typer.Exit(_release_robot(run, by, note))
    for option, value in (("--by", by), ("--note", note)):
        if value:
            raise ConfigurationError("command line", option, value, "--release as well")
    raise typer.Exit(_ask(_watched_run(run), "stop") if run is not None else _stop_all())


def _stop_all() -> int:
    """Stop the robots of all sessions of this machine, and return the exit code.

    If one session cannot be asked, for example because it is of another version of this package, its error is printed,
    and the others are still stopped.

    Raises:
        ConfigurationError: no session whose robot can be stopped runs on this machine.
    """
    codes = []
    for run in _running():
        try:
            if _watched(run):
                codes.append(_ask(run, "stop"))
        except ConfigurationError as error:
            Console().say(f"{run.name}: {error}", "error:")
            codes.append(2)
    if not codes:
        raise _none_runs()
    return max(codes)


def _release_robot(folder: Path | None, by: str, note: str) -> int:
    """Release the stop of one session for a person, by name, and return the exit code.

    The session must be named even if it is the only one, because nobody may release a robot without looking at it.

    Raises:
        ConfigurationError: no person is named, or no session.
    """
    if not by.strip():
        raise ConfigurationError("command line", "--by", by or "nothing", "the name of the person who releases it")
    if folder is None:
        running = ", ".join(str(run.path) for run in _running() if _may_be_watched(run))
        if not running:
            raise _none_runs()
        raise ConfigurationError("command line", "RUN", "nothing", f"the folder of one session; these run: {running}")
    return _ask(_watched_run(folder), "release", by, note)


def _watched_run(folder: Path) -> RunFolder:
    run = RunFolder.open(folder)
    if not _watched(run):
        raise ConfigurationError(
            "command line",
            "RUN",
            str(run.path),
            "the folder of a session on the wall clock, whose robot a watchdog stops",
            "In lockstep the robot is simulated: Ctrl-C ends the session.",
        )
    return run


def _running() -> list[RunFolder]:
    from robocontrast_ros.graph.ros_domain import running_runs

    return [run for run in map(RunFolder, running_runs()) if run.graph.is_file()]


def _none_runs() -> ConfigurationError:
    return ConfigurationError(
        "command line",
        "RUN",
        "nothing",
        "a session on the wall clock that runs on this machine, or a run folder",
        "On another machine, or in another container: ros2 topic pub --once /stop std_msgs/msg/String",
    )


def _may_be_watched(run: RunFolder) -> bool:
    try:
        return _watched(run)
    except ConfigurationError:
        return True


def _watched(run: RunFolder) -> bool:
    from robocontrast_ros.sessions.schema import SessionParameters

    session = load_record(SessionParameters, run.session_file)
    pacing = session.world.pacing
    return not session.fast and not load_plugin("pacers", pacing, str(run.session_file), "world.pacing").steps_world


def _ask(run: RunFolder, *words: str) -> int:
    from robocontrast_ros.cli.running import ask, graph_of

    graph = graph_of(run, "")
    place = str(graph["episode_manager"]).rpartition("/")[0]
    code, answer = ask(graph, "stop_request", f"{place}/{WATCHDOG}", *words)
    Console().say(f"{run.name}: {answer}", "error:" if code else "")
    return code
