"""`robocontrast understanding`: does a policy act on what it is told and shown?"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import typer
from rich.console import Console

from robocontrast_ros.analysis.estimates.results import compute_results
from robocontrast_ros.analysis.estimates.understanding import (
    MARGIN,
    WITHOUT_MISTAKES,
    Understanding,
    understanding_of,
)
from robocontrast_ros.analysis.tables.understanding import understanding_report, write_understanding
from robocontrast_ros.cli.report import print_path
from robocontrast_ros.cli.runs import results_of_distinct
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.runs.journal import read_begun
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.studies.understanding import check_scores, checked, load_check, run_check, unexpected
from robocontrast_ros.system.disk import make_folder
from robocontrast_ros.system.processes import processors


def show_understanding(
    runs: Sequence[Path],
    to: Path | None,
    margin: float | None,
    chance: Path | None,
    console: Console,
    *,
    no_mistakes: bool = False,
) -> None:
    """Print the check of the policies of some runs, and write it and the figures into a folder.

    Args:
        runs: run folders, in the order of the tables.
        to: folder for CSV, LaTeX and figures; None for none.
        margin: loss of the share of successes that does not matter; None for the usual one.
        chance: run folder of the random policy; None where ``wrong_instruction`` measures chance.
        console: to print on.
        no_mistakes: whether the last table has success without mistakes, too.

    Raises:
        ConfigurationError: the margin is not between 0 and 1, a path is no run folder, a run has no perturbation of
            what a policy is told or shown, that of the random policy has no base trial that counts, or a run has no
            score of success without mistakes where that is asked for.
        JournalError: a run's journal cannot be read, or holds no session.
        DiskError: a file cannot be written.
        typer.Exit: two runs are the same; code 2, after one line on stderr.
    """
    margin = MARGIN if margin is None else margin
    if not 0.0 < margin < 1.0:
        raise ConfigurationError("command line", "--margin", margin, "a share between 0 and 1, such as 0.15")
    results = results_of_distinct(runs)
    for run, result in zip(runs, results, strict=True):
        if understanding_of([result], margin) is None:
            raise ConfigurationError(
                "command line",
                "RUNS",
                str(run),
                "a run with trials that count of a perturbation of what is told or shown (axis L or O)",
                "Name one, such as `mask_all`, among the session's perturbations.",
            )
        if no_mistakes and WITHOUT_MISTAKES not in result.trials.columns:
            raise ConfigurationError(
                "command line",
                "--no-mistakes",
                str(run),
                f"runs with the score {WITHOUT_MISTAKES}",
                "Name it among the `scores` of their session, or leave the option out.",
            )
    control = compute_results(read_begun(RunFolder.open(chance).journal)) if chance else None
    if control is not None and control.trials.filter("counts", perturbation="base").is_empty():
        raise ConfigurationError("command line", "--chance", str(chance), "a run with base trials that count")
    found = understanding_of(results, margin, [control] if control else [], no_mistakes=no_mistakes)
    assert found is not None, "each run has such trials"
    console.print(understanding_report(found))
    if to is not None:
        _write(found, to, console)


def run_understanding(
    name: str, to: Path | None, processes: int | None, console: Console, *, no_mistakes: bool = False
) -> None:
    """Run the sessions of a check that are not done, show what is found, and compare it with what is expected.

    Args:
        name: name in config/understanding/, or path of a file.
        to: folder of runs, tables and figures; None for ``understanding/NAME``.
        processes: sessions at a time; one per processor when None.
        console: to print on.
        no_mistakes: whether the last table has success without mistakes, too.

    Raises:
        ConfigurationError: the check, a session or a policy does not fit, or a session has no score of success without
            mistakes where that is asked for.
        DiskError: a file cannot be written.
        typer.Exit: a verdict is not the expected one; code 1.
    """
    parameters, file = load_check(name)
    if no_mistakes:
        check_scores(parameters, file)
    folder = to or Path("understanding") / parameters.name
    make_folder(folder)
    for done, jobs in run_check(parameters, file, folder, processes or processors()):
        console.print(f"{time.strftime('%H:%M:%S')} {done} of {jobs} sessions done", highlight=False)
    found = checked(parameters, folder, no_mistakes=no_mistakes)
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
    from robocontrast_ros.analysis.figures.understanding import drawings_of, levels_drawing

    make_folder(to)
    for file in write_understanding(found, to):
        print_path("table", file, console)
    for file in write_drawings(to, drawings_of(found) | levels_drawing(found)):
        print_path("figure", file, console)
