"""`robocontrast report` and `robocontrast compare`: pages of runs, with what is worked on shown."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.progress import track

from robocontrast_ros.analysis.comparison import ComparisonError
from robocontrast_ros.analysis.report import write_comparison, write_report
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.sessions.run_folder import RunFolder


def write_run_report(run: Path, to: Path | None, console: Console) -> None:
    """Write the page of a run and say where it is.

    Raises:
        ConfigurationError: the path is not a run folder, or the page cannot be written.
        JournalError: the run's journal cannot be read, or holds no session.
    """
    folder = RunFolder.open(run)
    _say("report", write_report(folder, to, _shown(console)), console)
    _say("figures", folder.figures, console)


def write_run_comparison(runs: Sequence[Path], to: Path, console: Console) -> None:
    """Write the page that compares the first run with each of the others and say where it is.

    Raises:
        ConfigurationError: there are not two runs, a path is no run folder, or the page cannot be written.
        typer.Exit: the runs do not match; code 2, after one line on stderr.
        JournalError: a run's journal cannot be read, or holds no session.
    """
    if len(runs) < 2:
        raise ConfigurationError(
            "command line",
            "RUNS",
            ", ".join(map(str, runs)),
            "two run folders at least",
            "`robocontrast report RUN` shows one run.",
        )
    try:
        write_comparison([RunFolder.open(run) for run in runs], to, _shown(console))
    except ComparisonError as error:
        print(f"error: {error}", file=sys.stderr)
        raise typer.Exit(2) from None
    _say("comparison", to, console)


def _shown(console: Console) -> Callable[[Sequence[Any], str], Iterable[Any]]:
    """Return what shows how far it has come, where somebody looks at it."""

    def shown(things: Sequence[Any], what: str) -> Iterable[Any]:
        return track(
            things, description=what, console=console, transient=True, disable=not console.is_terminal
        )

    return shown


def _say(what: str, path: Path, console: Console) -> None:
    # Paths are for copying: they must not be broken at the terminal's edge.
    console.print(f"{what}: {path}", soft_wrap=True, highlight=False)
