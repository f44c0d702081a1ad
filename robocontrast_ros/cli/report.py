"""`robocontrast report` and `robocontrast compare`: pages of runs, with what is worked on shown."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.progress import track

from robocontrast_ros.analysis.estimates.comparison import ComparisonError
from robocontrast_ros.analysis.report import write_report
from robocontrast_ros.analysis.report.comparison_page import check_files, read_runs, write_comparison_page
from robocontrast_ros.analysis.tables.comparison import comparison_report, write_numbers
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.runs.run_folder import RunFolder


def write_run_report(run: Path, to: Path | None, console: Console) -> None:
    """Write the page of a run and say where it is.

    Raises:
        ConfigurationError: the path is not a run folder, or the page cannot be written.
        JournalError: the run's journal cannot be read, or holds no session.
    """
    folder = RunFolder.open(run)
    _say("report", write_report(folder, to, _shown(console)), console)
    _say("figures", folder.figures, console)


def write_run_comparison(runs: Sequence[Path], to: Path, console: Console, pictures: bool = True) -> None:
    """Compare the first run with each of the others: print the numbers, write them as CSV and JSON, and write the page.

    Args:
        runs: run folders.
        to: the page's file.
        console: to print on.
        pictures: whether the page has frames and maps.

    Raises:
        ConfigurationError: there are not two runs, a path is no run folder, or a file cannot be written.
        typer.Exit: the runs do not match, or are the same; code 2, after one line on stderr.
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
    folders = [RunFolder.open(run) for run in runs]
    check_files(to)
    try:
        with console.status("reading the runs"):
            read = read_runs(folders)
    except ComparisonError as error:
        print(f"error: {error}", file=sys.stderr)
        raise typer.Exit(2) from None
    console.print(comparison_report(read.comparisons, read.labels))
    files = write_numbers(read.comparisons, to)
    write_comparison_page(read, to, _shown(console), pictures=pictures)
    _say("comparison", to, console)
    for what, path in zip(("table", "numbers"), files, strict=True):
        _say(what, path, console)


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
