"""The runs that a command line names."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from robocontrast_ros.analysis.estimates.comparison import ComparisonError, check_distinct
from robocontrast_ros.analysis.estimates.results import Results, compute_results
from robocontrast_ros.runs.journal import read_begun
from robocontrast_ros.runs.run_folder import RunFolder


def results_of_distinct(runs: Sequence[Path]) -> list[Results]:
    """Return the results of runs, none of which is named twice.

    Args:
        runs: run folders.

    Raises:
        ConfigurationError: a path is no run folder.
        JournalError: a run's journal cannot be read, or holds no session.
        typer.Exit: two runs are the same; code 2, after one line on stderr.
    """
    folders = [RunFolder.open(run) for run in runs]
    journals = [read_begun(folder.journal) for folder in folders]
    try:
        check_distinct([(str(run), journal.started) for run, journal in zip(runs, journals, strict=True)])
    except ComparisonError as error:
        print(f"error: {error}", file=sys.stderr)
        raise typer.Exit(2) from None
    return [compute_results(journal) for journal in journals]
