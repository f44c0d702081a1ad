"""`robocontrast compare`: the page and the numbers of runs side by side."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import typer
from rich.console import Console

from robocontrast_ros.analysis.estimates.comparison import ComparisonError
from robocontrast_ros.analysis.report.comparison_page import check_files, read_runs, write_comparison_page
from robocontrast_ros.analysis.tables.comparison import comparison_report, write_numbers
from robocontrast_ros.cli.report import print_path, shown_progress
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.runs.blinding import is_of_several_policies
from robocontrast_ros.runs.journal import read_begun
from robocontrast_ros.runs.policy_runs import write_policy_runs
from robocontrast_ros.runs.run_folder import RunFolder


def write_run_comparison(runs: Sequence[Path], to: Path, console: Console, pictures: bool = True) -> None:
    """Compare the first run with each of the others: print the numbers, write them as CSV and JSON, and write the page.

    Args:
        runs: run folders. That of a blind session that is opened stands for those of its policies.
        to: the page's file.
        console: to print on.
        pictures: whether the page has frames and maps.

    Raises:
        ConfigurationError: there are not two runs, a path is no run folder, or a file cannot be written.
        typer.Exit: the runs do not match, or are the same; code 2, after one line on stderr.
        JournalError: a run's journal cannot be read, or holds no session.
    """
    folders = [folder for run in runs for folder in _policies_of(RunFolder.open(run))]
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
        print(f"error: {error}", file=sys.stderr)
        raise typer.Exit(2) from None
    console.print(comparison_report(read.comparisons, read.labels, read.stopped))
    files = write_numbers(read.comparisons, to)
    write_comparison_page(read, to, shown_progress(console), pictures=pictures)
    print_path("comparison", to, console)
    for what, path in zip(("table", "numbers"), files, strict=True):
        print_path(what, path, console)


def _policies_of(run: RunFolder) -> tuple[RunFolder, ...]:
    """Return the run folders of the policies of a blind session; of any other, its own."""
    journal = read_begun(run.journal)
    return write_policy_runs(run, journal) if is_of_several_policies(journal.events) else (run,)
