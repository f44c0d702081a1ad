"""`robocontrast report` and `picture`: the page of a run, and the picture of a trial."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from robocontrast_ros.cli.terminal import Console
from robocontrast_ros.runs.run_folder import RunFolder


def report(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    to: Annotated[
        Path | None, typer.Option(help="HTML file to write; by default report.html in the run folder.")
    ] = None,
) -> None:
    """Write the report of a run: one HTML page with its pictures inside, and figures for papers.

    The page is self-contained. The figures, PDF and PNG, are written to figures/ in the run folder.
    """
    folder, console = RunFolder.open(run), Console()
    from robocontrast_ros.analysis.report import write_report
    from robocontrast_ros.cli.runs import runs_of_policies

    for each in runs_of_policies(folder) if to is None else (folder,):
        console.path("report", write_report(each, to, console.track))
        console.path("figures", each.figures)


def picture(
    bag: Annotated[Path, typer.Argument(help="Bag of a trial: a folder in bags/ of a run folder.")],
    to: Annotated[Path, typer.Option(help="PNG file to write.")] = Path("trial.png"),
) -> None:
    """Draw a recorded trial: camera images and the map."""
    from robocontrast_ros.bags.reader import bag_files

    # What draws takes seconds to import.
    bag_files(bag)
    from robocontrast_ros.analysis.figures.trial_picture import draw_trial

    draw_trial(bag, to)
    print(to)
