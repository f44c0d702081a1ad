"""`robocontrast stop`: stop the robot of a running session, and release it."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.markup import escape

from robocontrast_ros.cli.running import ask, graph_of
from robocontrast_ros.configuration import ConfigurationError, load_plugin, load_record
from robocontrast_ros.graph.names import WATCHDOG
from robocontrast_ros.graph.ros_domain import running_runs
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.sessions.schema import SessionParameters


def stop_robot(folder: Path | None, console: Console) -> int:
    """Stop the robot of a session, or those of all sessions of this machine, and return the exit code.

    One of all that cannot be asked, such as that of another version of this package, keeps no other from being stopped.

    Raises:
        ConfigurationError: no session runs there whose robot can be stopped.
    """
    if folder is not None:
        return _ask(_watched_run(folder), console, "stop")
    codes = []
    for run in _running():
        try:
            if _watched(run):
                codes.append(_ask(run, console, "stop"))
        except ConfigurationError as error:
            words = f"[red]error:[/] {escape(run.name)}: {escape(str(error))}"
            console.print(words, markup=True, highlight=False, soft_wrap=True)
            codes.append(2)
    if not codes:
        raise _none_runs()
    return max(codes)


def release_robot(folder: Path | None, by: str, note: str, console: Console) -> int:
    """Release the stop of one session for a person, by name, and return the exit code.

    The session has to be named, also where it is the only one: nobody is to release a robot without looking at it.

    Raises:
        ConfigurationError: nobody is named, or no session.
    """
    if not by.strip():
        raise ConfigurationError("command line", "--by", by or "nothing", "the name of the person who releases it")
    if folder is None:
        running = ", ".join(str(run.path) for run in _running() if _may_be_watched(run))
        if not running:
            raise _none_runs()
        raise ConfigurationError("command line", "RUN", "nothing", f"the folder of one session; these run: {running}")
    return _ask(_watched_run(folder), console, "release", by, note)


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
    session = load_record(SessionParameters, run.session_file)
    pacing = session.world.pacing
    return not session.fast and not load_plugin("pacers", pacing, str(run.session_file), "world.pacing").steps_world


def _ask(run: RunFolder, console: Console, *words: str) -> int:
    graph = graph_of(run, "")
    place = str(graph["episode_manager"]).rpartition("/")[0]
    code, answer = ask(graph, "stop_request", f"{place}/{WATCHDOG}", *words)
    prefix = "[red]error:[/] " if code else ""
    console.print(f"{prefix}{escape(run.name)}: {escape(answer)}", markup=True, highlight=False, soft_wrap=True)
    return code
