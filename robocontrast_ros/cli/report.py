"""`robocontrast report`: the page of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

from robocontrast_ros.analysis.report import write_report
from robocontrast_ros.runs.blinding import is_of_several_policies
from robocontrast_ros.runs.journal import read_begun
from robocontrast_ros.runs.policy_runs import write_policy_runs
from robocontrast_ros.runs.run_folder import RunFolder


def write_run_report(run: Path, to: Path | None, console: Console) -> None:
    """Write the page of a run and print its path; of a blind session that is opened, the page of each policy.

    Raises:
        ConfigurationError: the path is not a run folder, or the page cannot be written.
        JournalError: the run's journal cannot be read, or holds no session.
    """
    folder = RunFolder.open(run)
    journal = read_begun(folder.journal)
    if to is None and is_of_several_policies(journal.events):
        for of_policy in write_policy_runs(folder, journal):
            write_run_report(of_policy.path, None, console)
        return
    print_path("report", write_report(folder, to, shown_progress(console)), console)
    print_path("figures", folder.figures, console)


def shown_progress(console: Console) -> Callable[[Sequence[Any], str], Iterable[Any]]:
    """Return a function that iterates and shows progress, in a terminal."""
    return lambda things, what: track(
        things, description=what, console=console, transient=True, disable=not console.is_terminal
    )


def print_path(what: str, path: Path, console: Console) -> None:
    """Print a path to be copied: it must not be broken at the terminal's edge."""
    console.print(f"{what}: {path}", soft_wrap=True, highlight=False)
