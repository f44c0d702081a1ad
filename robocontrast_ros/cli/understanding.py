"""`robocontrast understanding`: does a policy act on the instruction and the images?"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robocontrast_ros.cli.terminal import Console
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.runs.run_folder import RunFolder

if TYPE_CHECKING:
    from robocontrast_ros.analysis.estimates.understanding import Understanding


def understanding(
    runs: Annotated[
        list[Path],
        typer.Argument(
            help="Run folders with perturbations of the instruction or the images (axis L or O); or one name in "
            "config/understanding/, whose sessions are run first."
        ),
    ],
    to: Annotated[Path | None, typer.Option(help="Folder for the tables, as CSV and LaTeX, and the figures.")] = None,
    processes: Annotated[
        int | None, typer.Option(help="Sessions of a check at a time; by default one per processor.", min=1)
    ] = None,
    margin: Annotated[
        float | None, typer.Option(help="Loss of the share of successes that does not matter; 0.15 if left out.")
    ] = None,
    chance: Annotated[
        Path | None,
        typer.Option(
            help="Run folder of the random policy, which measures chance; if left out, `wrong_instruction` measures it."
        ),
    ] = None,
    no_mistakes: Annotated[
        bool,
        typer.Option("--no-mistakes", help="Add success without mistakes to the table of levels, for every condition."),
    ] = False,
) -> None:
    """Does it understand? Whether policies keep their success under plausible perturbations, and lose it under others.

    A policy that succeeds although nobody could know what to do is flagged in red.
    """
    if len(runs) == 1 and not runs[0].is_dir():
        for option, value in (("--margin", margin), ("--chance", chance)):
            if value is not None:
                raise ConfigurationError("command line", option, str(value), "none: a check has its own in its file")
        run_understanding(str(runs[0]), to, processes, Console(), no_mistakes=no_mistakes)
        return
    from robocontrast_ros.analysis.estimates.results import compute_results
    from robocontrast_ros.analysis.estimates.understanding import MARGIN, WITHOUT_MISTAKES, understanding_of
    from robocontrast_ros.cli.runs import results_of_distinct
    from robocontrast_ros.runs.journal import read_begun

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
                "a run with trials that count of a perturbation of the instruction or the images (axis L or O)",
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
    _show(found, to, Console())


def run_understanding(
    name: str, to: Path | None, processes: int | None, console: Console, *, no_mistakes: bool = False
) -> None:
    """Run the sessions of a check that are not done, show the verdicts, and compare them with the expected ones.

    Args:
        name: name in config/understanding/, or path of a file.
        to: folder of runs, tables and figures; None for ``understanding/NAME``.
        processes: number of sessions at a time; None for one per processor.
        console: to print on.
        no_mistakes: whether the last table also has success without mistakes.

    Raises:
        ConfigurationError: the check, a session or a policy does not fit, or ``no_mistakes`` is set and a session does
            not have the score of success without mistakes.
        DiskError: a file cannot be written.
        typer.Exit: a verdict is not the expected one; code 1.
    """
    from robocontrast_ros.studies.understanding import check_scores, checked, load_check, run_check, unexpected
    from robocontrast_ros.system.disk import make_folder
    from robocontrast_ros.system.processes import processors

    parameters, file = load_check(name)
    if no_mistakes:
        check_scores(parameters, file)
    folder = to or Path("understanding") / parameters.name
    make_folder(folder)
    for done, jobs in run_check(parameters, file, folder, processes or processors()):
        console.print(f"{time.strftime('%H:%M:%S')} {done} of {jobs} sessions done")
    found = checked(parameters, folder, no_mistakes=no_mistakes)
    for seed, understanding in found.items():
        console.print(f"seed {seed}", style="bold")
        _show(understanding, folder / f"seed{seed}", console)
    wrong = unexpected(parameters, found)
    for one in wrong:
        console.print(f"not as expected: {one}", style="red")
    if wrong:
        raise typer.Exit(1)
    if parameters.expected:
        console.print("every verdict is the expected one")


def _show(found: Understanding, to: Path | None, console: Console) -> None:
    """Print the tables; if a folder is given, write them and the figures into it."""
    from robocontrast_ros.analysis.tables.understanding import understanding_report, write_understanding

    console.print(understanding_report(found))
    if to is not None:
        # matplotlib takes a second to import.
        from robocontrast_ros.analysis.figures.understanding import drawings_of, levels_drawing
        from robocontrast_ros.cli.runs import write_files

        drawings = drawings_of(found) | levels_drawing(found)
        write_files(to, partial(write_understanding, found), drawings, console)
