"""`robocontrast clutter-tables`: how policies do among distractors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from robocontrast_ros.analysis.estimates.clutter import clutter_of
from robocontrast_ros.analysis.tables.clutter import clutter_report, write_clutter
from robocontrast_ros.cli.report import print_path
from robocontrast_ros.cli.runs import results_of_distinct
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.system.disk import make_folder


def show_clutter_tables(runs: Sequence[Path], to: Path | None, bins: int, console: Console) -> None:
    """Print the measures of the cluttered trials of some runs, and write them and the figures into a folder.

    Args:
        runs: run folders, in the order of the tables; the first is compared with each other.
        to: folder for CSV, LaTeX and figures; None for none.
        bins: number of bins by DvFC.
        console: to print on.

    Raises:
        ConfigurationError: a path is no run folder, or a run has no cluttered trial that counts.
        JournalError: a run's journal cannot be read, or holds no session.
        DiskError: a file cannot be written.
        typer.Exit: two runs are the same; code 2, after one line on stderr.
    """
    results = results_of_distinct(runs)
    for run, result in zip(runs, results, strict=True):
        if clutter_of([result], 1) is None:
            raise ConfigurationError(
                "command line",
                "RUNS",
                str(run),
                "a run with trials that count and have distractors",
                "Name `distractors` among the session's perturbations.",
            )
    clutter = clutter_of(results, bins)
    assert clutter is not None, "each run has such trials"
    console.print(clutter_report(clutter))
    for result in results:
        if stopped := result.summary.stopped:
            # The policies of these tables may be of several runs.
            console.print(f"{result.summary.policy}{stopped} In these tables that is all intervals of its trials.")
    if to is None:
        return
    # matplotlib takes a second to import.
    from robocontrast_ros.analysis.figures.clutter import drawings_of
    from robocontrast_ros.analysis.figures.paper import write_drawings

    make_folder(to)
    for file in write_clutter(clutter, to):
        print_path("table", file, console)
    for file in write_drawings(to, drawings_of(clutter)):
        print_path("figure", file, console)
