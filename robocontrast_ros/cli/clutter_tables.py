"""`robocontrast clutter-tables`: results of policies among distractors."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from robocontrast_ros.cli.terminal import Console
from robocontrast_ros.configuration import ConfigurationError


def clutter_tables(
    runs: Annotated[
        list[Path],
        typer.Argument(help="Run folders with cluttered trials; the first is compared with each of the others."),
    ],
    to: Annotated[Path | None, typer.Option(help="Folder for the tables, as CSV and LaTeX, and the figures.")] = None,
    bins: Annotated[int, typer.Option(help="Bins by DvFC.", min=1)] = 8,
) -> None:
    """Show how policies do among distractors: success, contacts, grasps and failures, by DvFC, set size and occlusion.

    With several runs, also which policies solve the same scenes, and what changes from the first to each other.
    """
    from robocontrast_ros.analysis.estimates.clutter import clutter_of
    from robocontrast_ros.analysis.tables.clutter import clutter_report, write_clutter
    from robocontrast_ros.cli.runs import results_of_distinct, write_files

    console = Console()
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
            # The line names the policy, because the policies of these tables may be of several runs.
            console.print(f"{result.summary.policy}{stopped} In these tables that is all intervals of its trials.")
    if to is not None:
        # matplotlib takes a second to import.
        from robocontrast_ros.analysis.figures.clutter import drawings_of

        write_files(to, partial(write_clutter, clutter), drawings_of(clutter), console)
