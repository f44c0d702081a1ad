"""`robocontrast correct`: a correction of the judgement of a trial."""

from __future__ import annotations

import math
import shlex
from pathlib import Path
from typing import Annotated

import typer

from robocontrast_ros.cli.terminal import Console
from robocontrast_ros.runs.run_folder import RunFolder


def correct(
    run: Annotated[Path, typer.Argument(help="Run folder of a session that is not running.")],
    trial: Annotated[str, typer.Argument(help="The trial, by its number as in the tables, for instance 0007.")],
    by: Annotated[str, typer.Option(help="Who corrects it.")],
    reason: Annotated[str, typer.Option(help="Why.")],
    success: Annotated[bool, typer.Option("--success/--failure", help="Whether it is a success.")],
    progress: Annotated[float, typer.Option(help="Its progress, from 0 to 1, if it is a failure.")] = 0.0,
) -> None:
    """Correct how a person, or a camera, judged a trial.

    Its scores are computed again from its bag. The first judgement stays in the journal. While the session runs, trials
    are corrected on the person's page.
    """
    from robocontrast_ros.analysis.data.run_record import RunRecord
    from robocontrast_ros.analysis.rescoring import corrections
    from robocontrast_ros.domain import Judgement
    from robocontrast_ros.runs.journal import JournalWriter, read_begun

    folder, console = RunFolder.open(run), Console()
    read_begun(folder.journal)
    right = Judgement(success, 1.0 if success else progress, by)
    with JournalWriter(folder.journal) as writer:
        before = {event.trial.trial_id: event.result for event in RunRecord.of(writer.past.events).finished}
        found = corrections.correct(folder, writer, trial, right, reason)
    for name, value in found.result.scores.items():
        was = before[trial].scores.get(name, math.nan)
        if repr(was) != repr(value):
            console.print(f"trial {trial}: {name} {was:.4g} -> {value:.4g}")
    console.say(f"Tables and figures: robocontrast results {shlex.quote(str(folder.path))}")
