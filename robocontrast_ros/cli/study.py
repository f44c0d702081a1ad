"""`robocontrast study`: run or resume a study and show its results."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.table import Table

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.studies.parameters import load_study
from robocontrast_ros.studies.report import write_results
from robocontrast_ros.studies.results import StudyResults
from robocontrast_ros.studies.run import StudyFolder, StudyProgress, run_study
from robocontrast_ros.studies.tables import (
    ERROR_WORDS,
    PERTURBATION_WORDS,
    STRATEGY_WORDS,
    claims_frame,
    errors_frame,
    perturbations_frame,
    strategies_frame,
)

EVERY = 20.0
"""Period of progress lines without a terminal [s]."""


def run(name: str, output: Path, processes: int | None, console: Console) -> None:
    """Run a study to its end, write its results, and show them.

    Args:
        name: name in config/studies/, or path of a file.
        output: folder in which the study's folder is.
        processes: jobs at a time; one per processor when None.
        console: where progress and results are shown.

    Raises:
        ConfigurationError: the study, or its folder, does not fit.
        StudyError: it cannot be done.
    """
    study = load_study(name)
    folder = StudyFolder(output / study.parameters.name)
    try:
        folder.path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(
            "command line", "--output", str(output), "a folder that can be written", f"{error.strerror}."
        ) from None
    with _View(console) as view:
        run_study(study, folder, processes or len(os.sched_getaffinity(0)), view.show)
    console.print("curves, figures and claims …")
    results = write_results(study, folder)
    _show(results, console)
    console.print(f"study folder: {folder.path}", soft_wrap=True)


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
    console.print(
        f"{results.asked} trials requested, {results.simulated} of them simulated; the others were known from another "
        "strategy",
        soft_wrap=True,
    )
    for policy, frame in strategies_frame(results).groupby("policy", sort=False):
        _print(frame.drop(columns=["policy", "trials"]), console, str(policy))
    console.print(STRATEGY_WORDS)
    _print(errors_frame(results), console, "error at equal cost")
    console.print(ERROR_WORDS)
    for policy, frame in perturbations_frame(results).groupby("policy", sort=False):
        own = frame.drop(columns="policy")
        if (own["refused"] != "0").any():
            _print(
                own.iloc[:, :6],
                console,
                f"{policy}: base trials of applied and refused instances",
            )
        _print(own.iloc[:, [0, *range(6, own.shape[1])]], console, f"{policy}: changes from base trials")
    console.print(PERTURBATION_WORDS)
    if results.decided:
        frame = claims_frame(results.decided).drop(columns=["claim", "where", "found there", "decided by"])
        _print(frame, console, "claims")


def _print(frame: pd.DataFrame, console: Console, title: str) -> None:
    table = Table(*map(str, frame.columns), title=title)
    for row in frame.itertuples(index=False):
        table.add_row(*map(str, row))
    console.print(table)
