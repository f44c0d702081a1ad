"""`robocontrast study`: run or resume a study and show its results."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robocontrast_ros.cli.signals import exit_code
from robocontrast_ros.cli.terminal import Console, refused
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.configuration.files import find_file

if TYPE_CHECKING:
    from rich.status import Status

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
    # What analyses and draws takes seconds to import.
    find_file("studies", name, "command line", "STUDY", Path.cwd())
    from robocontrast_ros.studies.job import StudyError
    from robocontrast_ros.studies.parameters import load_study
    from robocontrast_ros.studies.report import write_results
    from robocontrast_ros.studies.run import StudyFolder, run_study
    from robocontrast_ros.system.processes import processors

    chosen, console = load_study(name), Console()
    folder = StudyFolder(output / chosen.parameters.name)
    try:
        folder.path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(
            "command line", "--output", str(output), "a folder that can be written", f"{error.strerror}."
        ) from None
    try:
        with console.status("the processes start") as status:
            run_study(chosen, folder, processes or processors(), _shown(console, status))
        console.print("curves, figures and claims …")
        _show(write_results(chosen, folder), console)
        console.path("study folder", folder.path)
    except KeyboardInterrupt as stop:
        console.print("stopped; the same command resumes it")
        raise typer.Exit(exit_code(stop)) from None
    except StudyError as error:
        raise refused(error, 1) from None


def _shown(console: Console, status: Status) -> Callable[[StudyProgress], None]:
    """Return the function that shows the progress: in one line that changes; without a terminal, a line per period."""
    due = 0.0

    def show(progress: StudyProgress) -> None:
        nonlocal due
        text = _in_words(progress)
        status.update(text)
        if not console.is_terminal and time.monotonic() >= due:
            console.say(f"{time.strftime('%H:%M:%S')} {text}")
            due = time.monotonic() + EVERY

    return show


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

    console.say(
        f"{results.asked} trials requested, {results.simulated} of them simulated; the others were known from another "
        "strategy"
    )
    for block in (strategies_block(results), errors_block(results), perturbations_block(results)):
        console.print(Table(block), "")
    if results.decided:
        console.print(Table(claims_block(results.decided)))
