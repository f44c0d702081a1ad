"""`robocontrast correct`: how a trial should have been judged."""

from __future__ import annotations

import math
import shlex
from pathlib import Path

from rich.console import Console

from robocontrast_ros.analysis.rescoring.corrections import correct
from robocontrast_ros.domain import Judgement
from robocontrast_ros.runs.events import TrialFinished
from robocontrast_ros.runs.journal import JournalWriter, read_begun
from robocontrast_ros.runs.run_folder import RunFolder


def correct_trial(path: Path, trial_id: str, right: Judgement, reason: str, console: Console) -> None:
    """Correct the judgement of a trial of a session that is not running, and show what changes.

    Raises:
        ConfigurationError: it cannot be corrected; it says why.
        JournalError: the session is running, or its journal cannot be read.
        DiskError: the journal cannot be written.
    """
    run = RunFolder.open(path)
    read_begun(run.journal)
    with JournalWriter(run.journal) as writer:
        trials = (event for event in writer.past.corrected.events if isinstance(event, TrialFinished))
        before = {event.trial.trial_id: event.result for event in trials}
        found = correct(run, writer, trial_id, right, reason)
    for name, value in found.result.scores.items():
        was = before[trial_id].scores.get(name, math.nan)
        if repr(was) != repr(value):
            console.print(f"trial {trial_id}: {name} {was:.4g} -> {value:.4g}", highlight=False)
    console.print(
        f"Tables and figures: robocontrast results {shlex.quote(str(run.path))}", soft_wrap=True, highlight=False
    )
