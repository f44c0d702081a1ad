"""The runs that a command line names, and the files that are written from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from robocontrast_ros.analysis.estimates.comparison import ComparisonError, check_distinct
from robocontrast_ros.analysis.estimates.results import Results, compute_results
from robocontrast_ros.cli.terminal import Console, refused
from robocontrast_ros.runs.blinding import is_of_several_policies
from robocontrast_ros.runs.journal import read_begun
from robocontrast_ros.runs.policy_runs import write_policy_runs
from robocontrast_ros.runs.run_folder import RunFolder
from robocontrast_ros.system.disk import make_folder

if TYPE_CHECKING:
    from robocontrast_ros.analysis.figures.charts import Drawing


def results_of_distinct(runs: Sequence[Path]) -> list[Results]:
    """Return the results of runs; refuse a run that is named twice.

    Args:
        runs: run folders.

    Raises:
        ConfigurationError: a path is not a run folder.
        JournalError: a run's journal cannot be read, or holds no session.
        typer.Exit: two runs are the same; code 2, after one line on stderr.
    """
    folders = [RunFolder.open(run) for run in runs]
    journals = [read_begun(folder.journal) for folder in folders]
    try:
        check_distinct([(str(run), journal.started) for run, journal in zip(runs, journals, strict=True)])
    except ComparisonError as error:
        raise refused(error) from None
    return [compute_results(journal) for journal in journals]


def runs_of_policies(run: RunFolder) -> tuple[RunFolder, ...]:
    """Write and return the run folders of the policies of a blind session; return any other session's own run folder.

    Raises:
        JournalError: the run's journal cannot be read, or holds no session; or the blind session is not opened, or its
            journal does not prove the opened assignment.
        DiskError: a run folder cannot be written.
    """
    journal = read_begun(run.journal)
    return write_policy_runs(run, journal) if is_of_several_policies(journal.events) else (run,)


def write_files(
    to: Path, write_tables: Callable[[Path], Iterable[Path]], drawings: Mapping[str, Drawing], console: Console
) -> None:
    """Write tables and figures into a folder, and print their paths.

    Raises:
        DiskError: a file cannot be written.
    """
    # matplotlib takes a second to import.
    from robocontrast_ros.analysis.figures.paper import write_drawings

    make_folder(to)
    for file in write_tables(to):
        console.path("table", file)
    for file in write_drawings(to, drawings):
        console.path("figure", file)
