"""`robocontrast study`: run or resume a study and show its results."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robocontrast_ros.cli.signals import exit_code
from robocontrast_ros.cli.terminal import Console
from robocontrast_ros.configuration import ConfigurationError

if TYPE_CHECKING:
    from robocontrast_ros.studies.results import StudyResults
    from robocontrast_ros.studies.run import StudyProgress

EVERY = 20.0
"""Period of progress lines without a terminal [s]."""


def study(
    name: Annotated[str, typer.Argument(help="Name of a study in config/studies/, or path of a .yaml file.")],
    output: Annotated[
        Path, typer.Option(help="Parent folder of the study's folder; an existing study is resumed.")
    ] = Path("studies"),
    processes: Annotated[
        int | None, typer.Option(help="Processes that run sessions; by default one per processor.", min=1)
    ] = None,
) -> None:
    """Compare strategies on many test sets in fast simulation: error and trials against cost, and decided claims.

    The same command resumes an interrupted study. Exit codes: 0 done, 1 the study failed, 2 invalid input, 130 Ctrl-C.
    """
    from robocontrast_ros.studies.job import StudyError
    from robocontrast_ros.studies.parameters import load_study
    from robocontrast_ros.studies.report import write_results
    from robocontrast_ros.studies.run import StudyFolder, run_study

    chosen, console = load_study(name), Console()
    folder = StudyFolder(output / chosen.parameters.name)
    try:
        folder.path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(
            "command line", "--output", str(output), "a folder that can be written", f"{error.strerror}."
        ) from None
    try:
        with _View(console) as view:
            run_study(chosen, folder, processes or len(os.sched_getaffinity(0)), view.show)
        console.print("curves, figures and claims …")
        _show(write_results(chosen, folder), console)
        console.path("study folder", folder.path)
    except KeyboardInterrupt as stop:
        console.print("stopped; the same command resumes it")
        raise typer.Exit(exit_code(stop)) from None
    except StudyError as error:
        print(f"error: {error}", file=sys.stderr)
        raise typer.Exit(1) from None


class _View:
    """Progress: one line that changes, or one line per period."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status = console.status("the processes start") if console.is_terminal else None
        self._next = 0.0

    def __enter__(self) -> _View:
        if self._status:
            self._status.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._status:
            self._status.stop()

    def show(self, progress: StudyProgress) -> None:
        """Show the progress of the study."""
        text = _in_words(progress)
        if self._status:
            self._status.update(text)
        elif time.monotonic() >= self._next:
            self._console.print(f"{time.strftime('%H:%M:%S')} {text}", soft_wrap=True)
            self._next = time.monotonic() + EVERY


def _in_words(progress: StudyProgress) -> str:
    left = "" if progress.time_left is None else f", at most about {progress.time_left / 60.0:.1f} min left"
    rate = progress.simulated / progress.elapsed if progress.elapsed > 0.0 else 0.0
    return (
        f"{progress.jobs_done} of {progress.jobs} jobs done; {progress.asked} trials, {progress.simulated} of them "
        f"simulated, {rate:.1f} a second{left}"
    )


def _show(results: StudyResults, console: Console) -> None:
    from robocontrast_ros.analysis.tables.terminal import Table
    from robocontrast_ros.studies.tables import claims_block, errors_block, perturbations_block, strategies_block

    console.print(
        f"{results.asked} trials requested, {results.simulated} of them simulated; the others were known from another "
        "strategy",
        soft_wrap=True,
    )
    for block in (strategies_block(results), errors_block(results), perturbations_block(results)):
        console.print(Table(block), "")
    if results.decided:
        console.print(Table(claims_block(results.decided)))
