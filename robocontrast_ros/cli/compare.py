"""`robocontrast compare`: the page and the numbers of runs side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from robocontrast_ros.cli.terminal import Console, refused
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.runs.run_folder import RunFolder


def compare(
    runs: Annotated[list[Path], typer.Argument(help="Run folders; the first is compared with each of the others.")],
    to: Annotated[Path, typer.Option(help="HTML file to write.")] = Path("comparison.html"),
    pictures: Annotated[
        bool, typer.Option(help="Camera frames and maps on the page; without them it takes a few seconds.")
    ] = True,
) -> None:
    """Compare policies trial by trial on the same test set: numbers, one HTML page, and CSV and JSON beside it.

    The runs need the same task and seed; if they do not match, the exit code is 2.
    With an oracle's run as the second, the difference in differences is the loss by a perturbation beyond the geometry.
    """
    named = [RunFolder.open(run) for run in runs]
    from robocontrast_ros.analysis.estimates.comparison import ComparisonError
    from robocontrast_ros.analysis.report.comparison_page import check_files, read_runs, write_comparison_page
    from robocontrast_ros.analysis.tables.comparison import comparison_report, write_numbers
    from robocontrast_ros.cli.runs import runs_of_policies

    folders, console = [folder for run in named for folder in runs_of_policies(run)], Console()
    if len(folders) < 2:
        raise ConfigurationError(
            "command line",
            "RUNS",
            ", ".join(map(str, runs)),
            "two run folders at least, or that of a blind session",
            "`robocontrast report RUN` shows one run.",
        )
    check_files(to)
    try:
        with console.status("reading the runs"):
            read = read_runs(folders)
    except ComparisonError as error:
        raise refused(error) from None
    console.print(comparison_report(read.comparisons, read.labels, read.stopped))
    files = write_numbers(read.comparisons, to)
    write_comparison_page(read, to, console.track, pictures=pictures)
    console.path("comparison", to)
    for what, path in zip(("table", "numbers"), files, strict=True):
        console.path(what, path)
