"""`robocontrast understanding`: does a policy act on what it is told and shown?"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import typer
from rich.console import Console

from robocontrast_ros.analysis.estimates.comparison import ComparisonError, check_distinct
from robocontrast_ros.analysis.estimates.results import compute_results
from robocontrast_ros.analysis.estimates.understanding import MARGIN, Understanding, understanding_of
from robocontrast_ros.analysis.tables.understanding import understanding_report, write_understanding
from robocontrast_ros.cli.report import print_path
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.runs.journal import read_begun
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.studies.understanding import checked, load_check, run_check, unexpected
from robocontrast_ros.system.disk import make_folder
from robocontrast_ros.system.processes import processors


def show_understanding(
    runs: Sequence[Path], to: Path | None, margin: float | None, chance: Path | None, console: Console
) -> None:
    """Print the check of the policies of some runs, and write it and the figures into a folder.

    Args:
        runs: run folders, in the order of the tables.
        to: folder for CSV, LaTeX and figures; None for none.
        margin: loss of the share of successes that does not matter; None for the usual one.
        chance: run folder of the random policy; None where ``wrong_instruction`` measures chance.
        console: to print on.

    Raises:
        ConfigurationError: the margin is not between 0 and 1, a path is no run folder, a run has no perturbation of
            what a policy is told or shown, or that of the random policy has no base trial that counts.
        JournalError: a run's journal cannot be read, or holds no session.
        DiskError: a file cannot be written.
        typer.Exit: two runs are the same; code 2, after one line on stderr.
    """
    margin = MARGIN if margin is None else margin
    if not 0.0 < margin < 1.0:
        raise ConfigurationError("command line", "--margin", margin, "a share between 0 and 1, such as 0.15")
    folders = [RunFolder.open(run) for run in runs]
    journals = [read_begun(folder.journal) for folder in folders]
    try:
        check_distinct([(str(run), journal.started) for run, journal in zip(runs, journals, strict=True)])
    except ComparisonError as error:
        print(f"error: {error}", file=sys.stderr)
        raise typer.Exit(2) from None
    results = [compute_results(journal) for journal in journals]
    for run, result in zip(runs, results, strict=True):
        if understanding_of([result], margin) is None:
            raise ConfigurationError(
                "command line",
                "RUNS",
                str(run),
                "a run with trials that count of a perturbation of what is told or shown (axis L or O)",
                "Name one, such as `mask_all`, among the session's perturbations.",
            )
    control = compute_results(read_begun(RunFolder.open(chance).journal)) if chance else None
    if control is not None and control.trials.filter("counts", perturbation="base").is_empty():
        raise ConfigurationError("command line", "--chance", str(chance), "a run with base trials that count")
    found = understanding_of(results, margin, control)
    assert found is not None, "each run has such trials"
    console.print(understanding_report(found))
    if to is not None:
        _write(found, to, console)


def run_understanding(name: str, to: Path | None, processes: int | None, console: Console) -> None:
    """Run the sessions of a check that are not done, show what is found, and compare it with what is expected.

    Args:
        name: name in config/understanding/, or path of a file.
        to: folder of runs, tables and figures; None for ``understanding/NAME``.
        processes: sessions at a time; one per processor when None.
        console: to print on.

    Raises:
        ConfigurationError: the check, its session or a policy does not fit.
        DiskError: a file cannot be written.
        typer.Exit: a verdict is not the expected one; code 1.
    """
    parameters, file = load_check(name)
    folder = to or Path("understanding") / parameters.name
    make_folder(folder)
    for done, jobs in run_check(parameters, file, folder, processes or processors()):
        console.print(f"{time.strftime('%H:%M:%S')} {done} of {jobs} sessions done", highlight=False)
    found = checked(parameters, folder)
    for seed, understanding in found.items():
        console.print(f"seed {seed}", style="bold")
        console.print(understanding_report(understanding))
        _write(understanding, folder / f"seed{seed}", console)
    wrong = unexpected(parameters, found)
    for one in wrong:
        console.print(f"not as expected: {one}", style="red", highlight=False)
    if wrong:
        raise typer.Exit(1)
    if parameters.expected:
        console.print("every verdict is the expected one", highlight=False)


def _write(found: Understanding, to: Path, console: Console) -> None:
    # matplotlib takes a second to import.
    from robocontrast_ros.analysis.figures.paper import write_drawings
    from robocontrast_ros.analysis.figures.understanding import drawings_of

    make_folder(to)
    for file in write_understanding(found, to):
        print_path("table", file, console)
    drawings = {name: (drawing.draw, drawing.height) for name, drawing in drawings_of(found).items()}
    for file in write_drawings(to, drawings):
        print_path("figure", file, console)
