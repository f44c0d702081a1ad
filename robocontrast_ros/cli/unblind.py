"""`robocontrast unblind`: the policy of each trial of a blind session."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robocontrast_ros.cli.terminal import Console
from robocontrast_ros.configuration import ConfigurationError
from robocontrast_ros.runs.run_folder import RunFolder

if TYPE_CHECKING:
    from robocontrast_ros.runs.events import BlindingBegan

BROKEN = 1
"""Exit code if the blinding was not kept, or is not proved."""


def unblind(
    run: Annotated[Path, typer.Argument(help="Run folder of a blind session.")],
    by: Annotated[str, typer.Option(help="Who opens it before its end.")] = "",
    reason: Annotated[str, typer.Option(help="Why, for the journal.")] = "",
) -> None:
    """Show which policy ran which trial of a blind session, and whether its blinding was kept.

    A session opens by itself at its end. If it is opened earlier, its blinding is broken, and the journal records that.
    The session must be interrupted before, and can be resumed after that.
    Exit codes: 0 the blinding was kept, 1 it was not, or is not proved, 2 invalid input.
    """
    from robocontrast_ros.analysis.data.run_record import RunRecord
    from robocontrast_ros.runs.blinding import blinding_of, is_of_several_policies
    from robocontrast_ros.runs.journal import read_begun
    from robocontrast_ros.runs.policy_runs import write_policy_runs

    run_folder, console = RunFolder.open(run), Console()
    events = read_begun(run_folder.journal).events
    blinding = blinding_of(events)
    if blinding is None or blinding.began is None or not is_of_several_policies(events):
        raise ConfigurationError(
            "command line", "RUN", str(run), "the run folder of a session with `blind`, which has begun"
        )
    if blinding.opened is None:
        _break(run_folder, blinding.began, by, reason)
    journal = read_begun(run_folder.journal)
    blinding = blinding_of(journal.events)
    console.say(blinding.words)
    if blinding.problem:
        raise typer.Exit(BROKEN)
    for folder in write_policy_runs(run_folder, journal):
        trials = [e.trial.trial_id for e in RunRecord.of(read_begun(folder.journal).events).finished]
        console.say(f"{folder.name}: trials {', '.join(trials) or 'none'}")
        console.path("run folder", folder.path)
    raise typer.Exit(0 if blinding.kept else BROKEN)


def _break(run: RunFolder, began: BlindingBegan, by: str, reason: str) -> None:
    """Open a session before its end, and write that into the journal."""
    for option, value in (("--by", by), ("--reason", reason)):
        if not value:
            raise ConfigurationError(
                "command line",
                option,
                "nothing",
                "who opens a blind session before its end, and why (--by NAME --reason WORDS)",
                "The journal keeps it. A session opens by itself at its end: robocontrast evaluate --resume RUN",
            )
    from robocontrast_ros.runs.blinding import recall_secret
    from robocontrast_ros.runs.history import History
    from robocontrast_ros.runs.journal import JournalWriter

    with JournalWriter(run.journal) as journal:
        trials = len(History.of(journal.past.events).finished)
        secret = recall_secret(run.secret, began)
        journal.append(secret.opened(trials, time.time(), by, reason, early=True))
