"""`robocontrast unblind`: which policy ran which trial of a blind session."""

from __future__ import annotations

import time
from pathlib import Path

from rich.console import Console

from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.runs.blinding import blinding_of, is_of_several_policies, recall_secret
from robocontrast_ros.runs.events import BlindingBegan, TrialFinished
from robocontrast_ros.runs.history import History
from robocontrast_ros.runs.journal import JournalWriter, read_begun
from robocontrast_ros.runs.policy_runs import write_policy_runs
from robocontrast_ros.runs.run_folder import RunFolder

BROKEN = 1
"""Exit code where the blinding was not kept, or is not proved."""


def unblind_run(path: Path, by: str, reason: str, console: Console) -> int:
    """Open a blind session, write a run folder for each policy, and return the exit code.

    One that has finished is open already. Before its end this breaks the blinding, which the journal keeps.

    Args:
        path: run folder.
        by: who opens it before its end.
        reason: why.
        console: to print on.

    Raises:
        ConfigurationError: the session is not blind, or nobody and no reason is named before its end.
        JournalError: it is running, its journal cannot be read, or the assignment is lost or was changed.
    """
    run = RunFolder.open(path)
    events = read_begun(run.journal).events
    began = next((event for event in events if isinstance(event, BlindingBegan)), None)
    if began is None or not is_of_several_policies(events):
        raise ConfigurationError(
            "command line", "RUN", str(path), "the run folder of a session with `blind`, which has begun"
        )
    if blinding_of(events).opened is None:
        _break(run, began, by, reason)
    journal = read_begun(run.journal)
    blinding = blinding_of(journal.events)
    console.print(blinding.words, soft_wrap=True, highlight=False)
    if blinding.problem:
        return BROKEN
    for folder in write_policy_runs(run, journal):
        trials = [e.trial.trial_id for e in read_begun(folder.journal).events if isinstance(e, TrialFinished)]
        console.print(f"{folder.name}: trials {', '.join(trials) or 'none'}", soft_wrap=True, highlight=False)
        console.print(f"run folder: {folder.path}", soft_wrap=True, highlight=False)
    return 0 if blinding.kept else BROKEN


def _break(run: RunFolder, began: BlindingBegan, by: str, reason: str) -> None:
    """Write down that a session is opened before its end."""
    for option, value in (("--by", by), ("--reason", reason)):
        if not value:
            raise ConfigurationError(
                "command line",
                option,
                "nothing",
                "who opens a blind session before its end, and why (--by NAME --reason WORDS)",
                "The journal keeps it. A session opens by itself at its end: robocontrast evaluate --resume RUN",
            )
    with JournalWriter(run.journal) as journal:
        trials = len(History.of(journal.past.events).finished)
        secret = recall_secret(run.secret, began)
        journal.append(secret.opened(trials, time.time(), by, reason, early=True))
