"""`robocontrast stop`: stop the robot of a running session, and release it."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.markup import escape

from robocontrast_ros.cli.running import ask, graph_of
from robocontrast_ros.configuration import ConfigurationError, load_plugin, load_record
from robocontrast_ros.graph.description import WATCHDOG
from robocontrast_ros.graph.ros_domain import running_runs
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.sessions.schema import SessionParameters


def stop_robot(folder: Path | None, console: Console) -> int:
    """Stop the robot of a session, or those of all sessions of this machine, and return the exit code.

    Raises:
        ConfigurationError: no session runs there whose robot can be stopped.
    """
    return max(_ask(run, console, "stop") for run in _runs(folder))


def release_robot(folder: Path | None, by: str, note: str, console: Console) -> int:
    """Release the stop of one session for a person, by name, and return the exit code.

    The session has to be named, also where it is the only one: nobody is to release a robot without looking at it.

    Raises:
        ConfigurationError: nobody is named, or no session.
    """
    if not by.strip():
        raise ConfigurationError("command line", "--by", by or "nothing", "the name of the person who releases it")
    if folder is None:
        running = ", ".join(str(run.path) for run in _runs(None))
        raise ConfigurationError("command line", "RUN", "nothing", f"the folder of one session; these run: {running}")
    (run,) = _runs(folder)
    return _ask(run, console, "release", by, note)


def _runs(folder: Path | None) -> list[RunFolder]:
    if folder is not None:
        run = RunFolder.open(folder)
        if not _watched(run):
            raise ConfigurationError(
                "command line",
                "RUN",
                str(run.path),
                "the folder of a session on the wall clock, whose robot a watchdog stops",
                "In lockstep the robot is simulated: Ctrl-C ends the session.",
            )
        return [run]
    runs = [run for run in map(RunFolder, running_runs()) if run.graph.is_file() and _watched(run)]
    if not runs:
        raise ConfigurationError(
            "command line",
            "RUN",
            "nothing",
            "a session on the wall clock that runs on this machine, or a run folder",
            "On another machine, or in another container: ros2 topic pub --once /stop std_msgs/msg/String",
        )
    return runs


def _watched(run: RunFolder) -> bool:
    session = load_record(SessionParameters, run.session_file)
    pacing = session.world.pacing
    return not session.fast and not load_plugin("pacers", pacing, str(run.session_file), "world.pacing").steps_world


def _ask(run: RunFolder, console: Console, *words: str) -> int:
    graph = graph_of(run, "")
    place = str(graph["episode_manager"]).rpartition("/")[0]
    code, answer = ask(graph, "stop_request", f"{place}/{WATCHDOG}", *words)
    prefix = "[red]error:[/] " if code else ""
    console.print(f"{prefix}{escape(run.name)}: {escape(answer)}", highlight=False, soft_wrap=True)
    return code
